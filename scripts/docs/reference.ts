import { posix } from 'node:path'
import ts from 'typescript'
import { anchorBefore, slugOf, titleOf } from './links.ts'
import type { Block, Page } from './pages.ts'
import type { Entry, Member, PublicName } from './public-names.ts'

/** One generated page. */
export interface GeneratedPage {
  readonly path: string
  readonly text: string
}

/** A longer program would hide the next name. */
const MAX_SHOWN_LINES = 24

const NOTE =
  '<!-- Written by `npm run docs -- reference` from the doc comments. Change those, not this page. -->'

/** Writes one page for each entry point, and their index. */
export function writeReference(entries: readonly Entry[], pages: readonly Page[]): readonly GeneratedPage[] {
  const texts = new Map(pages.map(({ path, text }) => [path, text]))
  const homes = new Map<ts.Declaration, Entry>()
  for (const entry of entries)
    for (const { declaration } of entry.names) if (!homes.has(declaration)) homes.set(declaration, entry)
  const names = new Map(
    entries
      .flatMap((entry) => entry.names)
      .reverse()
      .map((each) => [each.name, each]),
  )
  const writer = new ReferenceWriter(texts, homes, names)
  return [
    { path: 'docs/reference/index.md', text: writer.index(entries) },
    ...entries.map((entry) => ({ path: pathOf(entry), text: writer.page(entry) })),
  ]
}

class ReferenceWriter {
  /** The pages, by path. */
  readonly #texts: ReadonlyMap<string, string>
  /** Where each name is described: the first entry point that exports it. */
  readonly #homes: ReadonlyMap<ts.Declaration, Entry>
  readonly #names: ReadonlyMap<string, PublicName>

  constructor(
    texts: ReadonlyMap<string, string>,
    homes: ReadonlyMap<ts.Declaration, Entry>,
    names: ReadonlyMap<string, PublicName>,
  ) {
    this.#texts = texts
    this.#homes = homes
    this.#names = names
  }

  index(entries: readonly Entry[]): string {
    const rows = entries.map((entry) => {
      const count = entry.names.length === 1 ? '1 name' : `${entry.names.length} names`
      return `| [\`${entry.name}\`](${posix.basename(pathOf(entry))}) | ${count} | ${firstSentence(entry.comment)} |`
    })
    return `${NOTE}

# Reference

Every public name of every entry point, with its contract, written from the doc comments of the code. Beside them:
[config keys](config.md), [commands](commands.md) and [error codes](errors.md).

| import | | |
|---|---|---|
${rows.join('\n')}
`
  }

  page(entry: Entry): string {
    const own = entry.names.filter(({ declaration }) => this.#homes.get(declaration) === entry)
    const shared = entry.names.filter((each) => !own.includes(each))
    const rows = own.map(
      ({ name, comment }) => `| [\`${name}\`](#${slugOf(name)}) | ${firstSentence(comment)} |`,
    )
    const also = shared.map((each) => this.#link(each, entry))
    return `${[
      NOTE,
      `# \`${entry.name}\``,
      entry.comment.replace(/^`toolcrib[\w/-]*`: (.)/, (_, letter: string) => letter.toUpperCase()),
      `| name | |\n|---|---|\n${rows.join('\n')}`,
      also.length > 0 ? `Also exported here: ${also.join(', ')}.` : '',
      ...own.flatMap((each) => this.#name(each)),
    ]
      .filter((part) => part !== '')
      .join('\n\n')}\n`
  }

  #name(each: PublicName): readonly string[] {
    const { name, declaration, isValue, comment, examples, members, uses } = each
    const hasSections = members.length > 0
    const signature = hasSections ? headOf(declaration, isValue) : signatureOf(name, declaration)
    return [
      `## ${name}`,
      fence(signature),
      comment,
      this.#types(signature, each),
      ...examples.map(asProgram),
      ...(isValue && examples.length === 0 ? this.#shown(uses) : [this.#uses(uses)]),
      ...(hasSections ? members.flatMap((member) => this.#member(member, each)) : []),
    ]
  }

  #member({ name, declaration, comment, examples, uses }: Member, owner: PublicName): readonly string[] {
    return [
      `### ${owner.name}.${name}`,
      fence(signatureOf(name, declaration)),
      comment,
      ...examples.map(asProgram),
      this.#uses(uses),
    ]
  }

  /** Links to the public types that a signature names. */
  #types(signature: string, { name, entry }: PublicName): string {
    const code = signature.replace(/\/\*[\s\S]*?\*\/|\/\/.*$|'[^'\n]*'/gm, '')
    const words = new Set(code.match(/\b[A-Z]\w+/g) ?? [])
    const links = [...words]
      .filter((word) => word !== name && this.#names.has(word))
      .map((word) => this.#link(this.#names.get(word) as PublicName, entry))
    return links.length > 0 ? `Types: ${links.join(', ')}` : ''
  }

  #link({ name, declaration, entry }: PublicName, from: Entry): string {
    const home = this.#homes.get(declaration) ?? entry
    const page = home === from ? '' : posix.basename(pathOf(home))
    return `[\`${name}\`](${page}#${slugOf(name)})`
  }

  /** The shortest program that uses a name, if it is short, and where it is from; otherwise links. */
  #shown(uses: readonly Block[]): readonly string[] {
    const [shortest] = uses.toSorted((a, b) => lines(a) - lines(b) || rank(a.page) - rank(b.page))
    if (!shortest || lines(shortest) > MAX_SHOWN_LINES) return [this.#uses(uses)]
    return [`${this.#uses([shortest])}:`, fence(shortest.code.trimEnd())]
  }

  /** Links to programs that use a name, one per page; guides first, two at most. */
  #uses(uses: readonly Block[]): string {
    const pages = new Map(uses.toReversed().map((block) => [block.page, block]))
    const links = [...pages.values()]
      .sort((a, b) => rank(a.page) - rank(b.page) || (a.page < b.page ? -1 : 1))
      .slice(0, 2)
      .map(({ page, line }) => {
        const text = this.#texts.get(page) ?? ''
        const anchor = anchorBefore(text, line)
        const path = posix.relative('docs/reference', page)
        return `[${titleOf(text)}](${path}${anchor === undefined ? '' : `#${anchor}`})`
      })
    return links.length === 0 ? '' : `Example: ${links.join(', ')}`
  }
}

function lines({ code }: Block): number {
  return code.trimEnd().split('\n').length
}

function rank(page: string): number {
  if (page.startsWith('docs/guides/')) return 0
  return page === 'README.md' ? 2 : 1
}

/** `docs/reference/toolcrib-mcp.md` */
export function pathOf({ name }: Entry): string {
  return `docs/reference/${name.replace('/', '-')}.md`
}

function firstSentence(text: string): string {
  const [sentence = ''] = /^[\s\S]*?[.:](?=\s|$)/.exec(text) ?? [text]
  return sentence
    .replace(/^`toolcrib[\w/-]*`: (.)/, (_, letter: string) => letter.toUpperCase())
    .replace(/\s+/g, ' ')
    .replace(/:$/, '.')
    .replaceAll('|', '\\|')
}

/** An example as a program that the tests run; its fence may be left out in a comment. */
function asProgram(text: string): string {
  return text.includes('```') ? text : `\`\`\`ts\n${text}\n\`\`\``
}

function fence(code: string): string {
  return `\`\`\`typescript\n${code}\n\`\`\``
}

/** A declaration as it is written, without its body. */
function signatureOf(name: string, declaration: ts.Declaration): string {
  const source = declaration.getSourceFile()
  const text = (end: number) => outdent(source.text.slice(declaration.getStart(), end), declaration)
  if ((ts.isFunctionDeclaration(declaration) || ts.isMethodDeclaration(declaration)) && declaration.body)
    return text(declaration.body.getStart()).trim()
  if (ts.isGetAccessorDeclaration(declaration) && declaration.body)
    return text(declaration.body.getStart()).trim()
  if (ts.isVariableDeclaration(declaration)) return variable(name, declaration)
  if (ts.isPropertyDeclaration(declaration) && declaration.initializer)
    return text(declaration.initializer.getFullStart()).replace(/\s*=\s*$/, '')
  return text(declaration.getEnd())
}

function variable(name: string, declaration: ts.VariableDeclaration): string {
  const { type, initializer } = declaration
  if (type) return `const ${name}: ${type.getText()}`
  const written = initializer?.getText() ?? ''
  if (written.length > 0 && written.length < 400 && !written.includes('=>'))
    return `const ${name} = ${written}`
  const arrow = initializer && ts.isArrowFunction(initializer) ? initializer : undefined
  return arrow
    ? `const ${name} = ${written.slice(0, arrow.body.getStart() - arrow.getStart()).trim()} …`
    : `const ${name}`
}

/** The first line of a class or interface, and how a class that users make is made. */
function headOf(declaration: ts.Declaration, isValue: boolean): string {
  if (!ts.isClassDeclaration(declaration) && !ts.isInterfaceDeclaration(declaration))
    return signatureOf('', declaration)
  const source = declaration.getSourceFile()
  const [first] = declaration.members
  const start = declaration.getStart()
  const head = source.text.slice(start, first?.getFullStart() ?? declaration.getEnd()).replace(/^export /, '')
  const made = ts.isClassDeclaration(declaration)
    ? declaration.members.find(ts.isConstructorDeclaration)
    : undefined
  const isHidden = made?.modifiers?.some(({ kind }) => kind === ts.SyntaxKind.PrivateKeyword)
  if (!made?.body || isHidden || !isValue) return `${head.trim()} … }`
  const signature = source.text.slice(made.getStart(), made.body.getStart()).trim()
  return `${head.trim()}\n  ${signature}\n  …\n}`
}

/** Lines below the first, moved left by what a member is indented with. */
function outdent(text: string, declaration: ts.Declaration): string {
  const { character } = declaration.getSourceFile().getLineAndCharacterOfPosition(declaration.getStart())
  const code = text.replace(/^export (default )?/, '')
  return code
    .split('\n')
    .map((line, index) => (index === 0 ? line : line.replace(new RegExp(`^ {0,${character}}`), '')))
    .join('\n')
}
