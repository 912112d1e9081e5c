import { join, relative } from 'node:path'
import ts from 'typescript'
import type { DocsProgram } from './check-programs.ts'
import { type Block, ROOT } from './pages.ts'

/** One name that an entry point exports. */
export interface PublicName {
  readonly name: string
  readonly entry: Entry
  /** true: exists at run time. */
  readonly isValue: boolean
  readonly declaration: ts.Declaration
  readonly comment: string
  readonly examples: readonly string[]
  /** The programs of pages that use it. */
  readonly uses: readonly Block[]
  /** What a class has in public, or an interface with several methods. */
  readonly members: readonly Member[]
}

/** A public member of a class, or of an interface with methods. */
export interface Member {
  readonly name: string
  readonly declaration: ts.Declaration
  readonly comment: string
  readonly examples: readonly string[]
  readonly uses: readonly Block[]
}

/** One key of `exports` in package.json. */
export interface Entry {
  /** As imported: `toolcrib/mcp`. */
  readonly name: string
  /** The package that has it: `@toolcrib/mcp`. */
  readonly package: string
  /** The comment at the top of its file. */
  readonly comment: string
  readonly names: readonly PublicName[]
}

/** Reads every public name of every entry point but deprecated ones, with its comments and the programs that use it. */
export function readEntries({ program, files }: DocsProgram): readonly Entry[] {
  const checker = program.getTypeChecker()
  const uses = findUses({ program, files })
  const { paths = {} } = program.getCompilerOptions()
  const own = Object.entries(paths).filter(([name]) => name === 'toolcrib' || name.startsWith('toolcrib/'))
  return own.map(([name, [path = '']]) => {
    const source = program.getSourceFile(join(ROOT, path))
    const module = source && checker.getSymbolAtLocation(source)
    if (!module) throw new Error(`${path} exports nothing`)
    const names: PublicName[] = []
    const { fileName } = described(source)
    const [, folder = ''] = /packages\/([^/]+)\//.exec(fileName) ?? []
    const entry: Entry = {
      name,
      package: folder === 'toolcrib' ? folder : `@toolcrib/${folder}`,
      comment: openingComment(described(source)),
      names,
    }
    for (const exported of checker.getExportsOfModule(module)) {
      const symbol = exported.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(exported) : exported
      if (isDeprecated(exported) || isDeprecated(symbol)) continue
      const isValue = (symbol.flags & ts.SymbolFlags.Value) !== 0 && !isTypeOnly(exported)
      names.push(readName(exported.name, symbol, entry, isValue))
    }
    names.sort((a, b) => order(a) - order(b) || (a.name < b.name ? -1 : 1))
    return entry
  })

  /** The module that an entry point of `toolcrib` passes on. */
  function described(source: ts.SourceFile): ts.SourceFile {
    const [, name = ''] = /^export \* from '([^']+)'$/m.exec(source.text) ?? []
    const [path = ''] = paths[name] ?? []
    return program.getSourceFile(join(ROOT, path)) ?? source
  }

  function isDeprecated(symbol: ts.Symbol): boolean {
    return symbol.getJsDocTags(checker).some((tag) => tag.name === 'deprecated')
  }

  function readName(name: string, symbol: ts.Symbol, entry: Entry, isValue: boolean): PublicName {
    const [declaration] = symbol.declarations ?? []
    if (!declaration) throw new Error(`${entry.name} exports ${name}, which is declared nowhere`)
    return {
      name,
      entry,
      isValue,
      declaration,
      ...commentsOf(symbol),
      uses: uses.get(declaration) ?? [],
      members: isRead(declaration) ? declaration.members.flatMap((each) => readMember(each)) : [],
    }
  }

  function readMember(declaration: ts.ClassElement | ts.TypeElement): readonly Member[] {
    const { name } = declaration
    if (!name || !ts.isIdentifier(name) || isHidden(declaration)) return []
    const symbol = checker.getSymbolAtLocation(name)
    if (!symbol || symbol.declarations?.[0] !== declaration) return []
    return [{ name: name.text, declaration, ...commentsOf(symbol), uses: uses.get(declaration) ?? [] }]
  }

  function commentsOf(symbol: ts.Symbol): Pick<PublicName, 'comment' | 'examples'> {
    const tags = symbol.getJsDocTags(checker).filter(({ name }) => name === 'example')
    return {
      comment: ts.displayPartsToString(symbol.getDocumentationComment(checker)).trim(),
      examples: tags.map(({ text }) => ts.displayPartsToString(text).trim()),
    }
  }
}

/** Values first: a reader looks for what to call. */
function order({ isValue }: PublicName): number {
  return isValue ? 0 : 1
}

/** Classes, and interfaces that have methods: those get a section for each member. */
function isRead(declaration: ts.Declaration): declaration is ts.ClassDeclaration | ts.InterfaceDeclaration {
  if (ts.isClassDeclaration(declaration)) return true
  if (!ts.isInterfaceDeclaration(declaration)) return false
  return declaration.members.filter(ts.isMethodSignature).length > 3
}

function isHidden(declaration: ts.Declaration): boolean {
  const modifiers = ts.getCombinedModifierFlags(declaration)
  return (modifiers & (ts.ModifierFlags.Private | ts.ModifierFlags.Protected)) !== 0
}

/** true: `export type`, so that the name does not exist at run time whatever it is. */
function isTypeOnly(exported: ts.Symbol): boolean {
  const [specifier] = exported.declarations ?? []
  return (
    specifier !== undefined && ts.isExportSpecifier(specifier) && ts.isTypeOnlyExportDeclaration(specifier)
  )
}

/** Which programs use which name or member: the declarations that their identifiers mean. */
function findUses({ program, files }: DocsProgram): ReadonlyMap<ts.Declaration, readonly Block[]> {
  const checker = program.getTypeChecker()
  const uses = new Map<ts.Declaration, Block[]>()
  for (const [block, path] of files) {
    // Examples of other names: the pages are written from them.
    if (block.page.startsWith('docs/reference/')) continue
    const visit = (node: ts.Node): void => {
      if (ts.isIdentifier(node)) note(node)
      ts.forEachChild(node, visit)
    }
    const note = (node: ts.Identifier): void => {
      const found = checker.getSymbolAtLocation(node)
      if (!found) return
      const symbol = found.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(found) : found
      const [declaration] = symbol.declarations ?? []
      if (!declaration) return
      const known = uses.get(declaration) ?? []
      if (known.at(-1) !== block) uses.set(declaration, [...known, block])
    }
    const source = program.getSourceFile(path)
    if (source) visit(source)
  }
  return uses
}

/** The comment above the first statement of an entry point; of a file with code, that of its own words. */
function openingComment(source: ts.SourceFile): string {
  const [range] = ts.getLeadingCommentRanges(source.text, 0) ?? []
  if (!range || !/index\.ts$|testing\.ts$/.test(source.fileName)) return ''
  return cleanComment(source.text.slice(range.pos, range.end))
}

export function cleanComment(text: string): string {
  return text
    .replace(/^\/\*\*?|\*\/$/g, '')
    .split('\n')
    .map((line) => line.replace(/^\s*\* ?/, ''))
    .join('\n')
    .trim()
}

/** What lacks a comment, or a program that uses it. */
export function readGaps(entries: readonly Entry[]): {
  readonly comments: string[]
  readonly examples: string[]
} {
  const comments = new Set<string>()
  const examples = new Set<string>()
  for (const { name, entry, declaration, comment, isValue, examples: own, uses, members } of firsts(
    entries,
  )) {
    const place = placeOf(declaration)
    // The name of options says whose they are.
    if (comment === '' && !name.endsWith('Options')) comments.add(`${place}: ${name} has no doc comment`)
    if (isValue && own.length === 0 && uses.length === 0)
      examples.add(`${place}: no program in README, docs/ or an @example uses ${name}`)
    if (!ts.isClassDeclaration(declaration)) continue
    // Who gets an object of another entry point from a function finds its methods in the pages about that function.
    const isShown = isValue || entry.name === 'toolcrib'
    for (const member of members) {
      const path = `${name}.${member.name}`
      if (member.comment === '') comments.add(`${placeOf(member.declaration)}: ${path} has no doc comment`)
      if (
        isShown &&
        ts.isMethodDeclaration(member.declaration) &&
        member.examples.length === 0 &&
        member.uses.length === 0
      )
        examples.add(
          `${placeOf(member.declaration)}: no program in README, docs/ or an @example uses ${path}`,
        )
    }
  }
  return { comments: [...comments], examples: [...examples] }
}

/** Each name once: several entry points may export the same. */
function firsts(entries: readonly Entry[]): readonly PublicName[] {
  const seen = new Map(
    entries
      .flatMap(({ names }) => names)
      .reverse()
      .map((each) => [each.declaration, each]),
  )
  return [...seen.values()]
}

function placeOf(declaration: ts.Declaration): string {
  const source = declaration.getSourceFile()
  const { line } = source.getLineAndCharacterOfPosition(declaration.getStart())
  return `${relative(ROOT, source.fileName)}:${line + 1}`
}
