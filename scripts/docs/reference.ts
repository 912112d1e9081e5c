import ts from 'typescript'
import { slugOf } from './links.ts'
import type { Entry, PublicName } from './public-names.ts'

/** One generated page. */
export interface GeneratedPage {
  readonly path: string
  readonly text: string
}

const NOTE =
  '<!-- Written by `npm run docs -- reference` from the doc comments. Change those, not this page. -->'

/** Writes one page for each package, and their index. */
export function writeReference(entries: readonly Entry[]): readonly GeneratedPage[] {
  const packages = [...new Set(entries.map((entry) => entry.package))]
  return [
    { path: 'docs/reference/index.md', text: index(entries) },
    ...packages.map((name) => ({
      path: `docs/reference/${pageOf(name)}`,
      text: page(name, entries),
    })),
  ]
}

function index(entries: readonly Entry[]): string {
  const rows = entries.map(
    (entry) =>
      `| [\`${entry.name}\`](${pageOf(entry.package)}#${slugOf(entry.name)}) | \`${entry.package}\` | ${firstSentence(entry.comment)} |`,
  )
  return `${NOTE}

# Reference

Every public name with its signature and a sentence; the doc comments in the code, which editors show, say more. Beside them: [config keys](config.md), [commands](commands.md) and [error codes](errors.md).

| import | package | |
|---|---|---|
${rows.join('\n')}
`
}

function page(name: string, entries: readonly Entry[]): string {
  const own = entries.filter((entry) => entry.package === name)
  return `${[NOTE, `# \`${name}\``, ...own.flatMap((entry) => section(entry, entries))].filter(Boolean).join('\n\n')}\n`
}

/** What an entry point exports; a name that several export is described where it is exported first. */
function section(entry: Entry, entries: readonly Entry[]): readonly string[] {
  const earlier = entries.slice(0, entries.indexOf(entry)).flatMap(({ names }) => names)
  const home = (each: PublicName) => earlier.find(({ declaration }) => declaration === each.declaration)
  const also = entry.names.flatMap((each) => home(each) ?? [])
  const own = entry.names.filter((each) => !home(each))
  const types = own.filter((each) => !isLookedUp(each))
  const links = also
    .filter(isLookedUp)
    .map(
      (each) =>
        `[\`${each.name}\`](${pageOf(each.entry.package)}#${slugOf(isPlain(each) ? each.entry.name : each.name)})`,
    )
  const plain = own
    .filter((each) => isLookedUp(each) && isPlain(each))
    .map(({ name, declaration, comment, isValue }) =>
      [comment && `// ${firstSentence(comment, false)}`, briefly(signatureOf(name, declaration, isValue))]
        .filter(Boolean)
        .join('\n'),
    )
  return [
    `## \`${entry.name}\``,
    entry.comment.replace(/^`toolcrib[\w/-]*`: (.)/, (_, letter: string) => letter.toUpperCase()),
    links.length > 0 ? `Also: ${links.join(', ')}.` : '',
    plain.length > 0 ? `\`\`\`typescript\n${plain.join('\n\n')}\n\`\`\`` : '',
    ...own
      .filter((each) => isLookedUp(each) && !isPlain(each))
      .flatMap(({ name, declaration, comment, examples, isValue }) => [
        `### ${name}`,
        firstSentence(comment, false),
        `\`\`\`typescript\n${briefly(signatureOf(name, declaration, isValue))}\n\`\`\``,
        ...examples.map(asProgram),
      ]),
    types.length > 0 ? `Types: ${types.map(({ name }) => `\`${name}\``).join(', ')}.` : '',
  ]
}

/**
 * What to call, what to pass and what has methods. The other types are what comes back, and editors show them; so are
 * classes that no program makes and no page uses.
 */
function isLookedUp({ name, isValue, members, declaration }: PublicName): boolean {
  if (isValue || /Options$|^EventBody$/.test(name)) return true
  const isUsed = !ts.isClassDeclaration(declaration) || members.some(({ uses }) => uses.length > 0)
  return members.length > 0 && isUsed
}

/** Functions, constants and options that need no example of their own: one block for all of an entry point. */
function isPlain({ declaration, examples, members }: PublicName): boolean {
  return examples.length === 0 && members.length === 0 && !ts.isClassDeclaration(declaration)
}

function pageOf(name: string): string {
  return `${name.replace('@toolcrib/', '')}.md`
}

/** In a table, a bar ends the cell. */
function firstSentence(text: string, isInTable = true): string {
  // A colon ends it where a list or a program follows.
  const [sentence = ''] = /^[\s\S]*?(?:\.(?=\s|$)|:(?=\n|$))/.exec(text) ?? [text]
  const line = sentence
    .replace(/^`toolcrib[\w/-]*`: (.)/, (_, letter: string) => letter.toUpperCase())
    .replace(/\s+/g, ' ')
    .replace(/:$/, '.')
  return isInTable ? line.replaceAll('|', '\\|') : line
}

/** Comments of members cut to their first sentence, and without the words that say nothing to a caller. */
function briefly(signature: string): string {
  return signature
    .replace(
      /\/\*\*([\s\S]*?)\*\//g,
      (_, text: string) => `// ${firstSentence(text.replace(/^\s*\*( |$)/gm, '').trim(), false)}`,
    )
    .replace(/^( +)(?:(?:override|readonly|async) )+/gm, '$1')
    .replace(/^async function/, 'function')
}

/** An example as a program that the tests run; its fence may be left out in a comment. */
function asProgram(text: string): string {
  return text.includes('```') ? text : `\`\`\`ts\n${text}\n\`\`\``
}

/** A declaration as it is written, without bodies. */
function signatureOf(name: string, declaration: ts.Declaration, isValue: boolean): string {
  if (ts.isVariableDeclaration(declaration)) return variable(name, declaration)
  if (ts.isClassDeclaration(declaration)) return classText(declaration, isValue)
  const source = declaration.getSourceFile()
  return source.text
    .slice(declaration.getStart(), endOf(declaration))
    .trim()
    .replace(/^export (default )?/, '')
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

/** A class with the declarations of its public members; with its constructor, if callers have that. */
function classText(declaration: ts.ClassDeclaration, isValue: boolean): string {
  const source = declaration.getSourceFile()
  const hidden = ts.ModifierFlags.Private | ts.ModifierFlags.Protected
  const [first] = declaration.members
  const head = source.text.slice(declaration.getStart(), first?.getFullStart() ?? declaration.getEnd())
  const members = declaration.members
    .filter((member) => !(member.name && ts.isPrivateIdentifier(member.name)))
    .filter((member) => (ts.getCombinedModifierFlags(member) & hidden) === 0)
    .filter((member) => isValue || !ts.isConstructorDeclaration(member))
    .map((member) => {
      const [doc] = ts.getJSDocCommentsAndTags(member)
      const from = doc?.getStart() ?? member.getStart()
      const text = source.text.slice(from, endOf(member)).trim()
      // An example has its place on the pages that explain.
      return `  ${text.replace(/\n\s*\*\s*\n\s*\* @example[\s\S]*?(?=\n\s*\*\/)/, '')}`
    })
  return [head.replace(/^export /, '').trimEnd(), ...members, '}'].join('\n')
}

/** Where a declaration ends without its body or value. */
function endOf(declaration: ts.Declaration): number {
  if ('body' in declaration && declaration.body) return (declaration.body as ts.Node).getStart()
  if (ts.isPropertyDeclaration(declaration) && declaration.initializer) {
    const { name, type, questionToken } = declaration
    return (type ?? questionToken ?? name).getEnd()
  }
  return declaration.getEnd()
}
