import { join } from 'node:path'
import ts from 'typescript'
import { ROOT } from './pages.ts'
import { cleanComment } from './public-names.ts'

/** A table of the config: its keys are an object in the code, explained there or by the type of the same key. */
interface Table {
  readonly title: string
  readonly intro: string
  readonly file: string
  readonly fields: string
  /** `file#Interface` whose members explain the keys, most specific first. */
  readonly types: readonly string[]
}

const GATEWAY = 'packages/mcp/src/config/gateway-config.ts'

const TABLES: readonly Table[] = [
  {
    title: 'The top of the file',
    intro: 'Servers can also be under `servers` or `mcpServers`, as other programs write them.',
    file: 'packages/mcp/src/config/root-table.ts',
    fields: 'ROOT_FIELDS',
    types: [],
  },
  {
    title: '`[tools]`',
    intro:
      'How tools are shown and searched. Each key is also an environment variable, `TOOLCRIB_` and the key in capitals; lists are comma-separated there.',
    file: 'packages/mcp/src/config/tools-config.ts',
    fields: 'FIELDS',
    types: [
      'packages/core/src/registry-options.ts#RegistryOptions',
      'packages/core/src/registry-options.ts#SharedOptions',
    ],
  },
  {
    title: '`[server.NAME]`',
    intro: 'One MCP server: with `command` a program, with `url` an address.',
    file: 'packages/mcp/src/config/read-servers.ts',
    fields: 'FIELDS',
    types: ['packages/mcp/src/config/server-config.ts#ServerConfig'],
  },
  {
    title: '`[profile.NAME]`',
    intro: 'What one client of the gateway sees. It narrows `[tools]` and never widens it.',
    file: 'packages/mcp/src/config/profile-config.ts',
    fields: 'PROFILE_FIELDS',
    types: ['packages/mcp/src/config/profile-config.ts#Profile'],
  },
  {
    title: '`[scripts]`',
    intro: 'Programs over tools, which a model writes. See the [guide](../guides/scripts.md).',
    file: 'packages/mcp/src/config/scripts-config.ts',
    fields: 'SCRIPT_FIELDS',
    types: ['packages/mcp/src/config/scripts-config.ts#ScriptsConfig'],
  },
  {
    title: '`[skills]`',
    intro: 'Instructions that models find and load. See [Skills](../guides/skills.md).',
    file: 'packages/mcp/src/config/skills-config.ts',
    fields: 'SKILLS_FIELDS',
    types: ['packages/mcp/src/config/skills-config.ts#SkillsConfig'],
  },
  {
    title: '`[openapi.NAME]`',
    intro: 'An API whose operations are tools. See [APIs as tools](../guides/apis.md).',
    file: 'packages/mcp/src/config/openapi-config.ts',
    fields: 'OPENAPI_FIELDS',
    types: ['packages/mcp/src/config/openapi-config.ts#ApiConfig'],
  },
  {
    title: '`[gateway]`',
    intro: 'Who may use the gateway of `toolcrib serve`, and how much of it.',
    file: GATEWAY,
    fields: 'GATEWAY_FIELDS',
    types: [`${GATEWAY}#GatewayConfig`],
  },
  {
    title: '`[gateway.oauth]`',
    intro: 'Lets `toolcrib serve` take tokens of an identity provider.',
    file: GATEWAY,
    fields: 'OAUTH_FIELDS',
    types: [`${GATEWAY}#GatewayOAuthConfig`],
  },
  {
    title: '`[gateway.token.NAME]`',
    intro: 'A client with a token of its own.',
    file: GATEWAY,
    fields: 'TOKEN_FIELDS',
    types: [`${GATEWAY}#GatewayTokenConfig`],
  },
  {
    title: '`[gateway.limits]`',
    intro:
      'The limits of `toolcrib serve`; [the gateway](../gateway.md#limits) says what happens beyond them.',
    file: GATEWAY,
    fields: 'LIMIT_FIELDS',
    types: ['packages/gateway/src/gateway-options.ts#GatewayLimits'],
  },
]

const KINDS: Readonly<Record<string, string>> = {
  text: 'text',
  texts: 'list of texts',
  flag: '`true` or `false`',
  count: 'whole number',
  number: 'number',
  percent: '0 to 100',
  milliseconds: 'milliseconds',
  map: 'texts by name',
  table: 'table',
}

/** The keys of every table of the config, and those that nothing explains. */
export function writeConfigKeys(program: ts.Program): {
  readonly text: string
  readonly gaps: readonly string[]
} {
  const gaps: string[] = []
  const sections = TABLES.map(({ title, intro, file, fields, types }) => {
    const explained = new Map(types.toReversed().flatMap((type) => [...membersOf(program, type)]))
    const rows = keysOf(program, file, fields).map(({ key, kind, comment }) => {
      const text = comment || explained.get(key) || ''
      if (text === '') gaps.push(`${file}: nothing explains the key ${toSnake(key)} of ${fields}`)
      return `| \`${toSnake(key)}\` | ${kind} | ${text.replace(/\s+/g, ' ').replaceAll('|', '\\|')} |`
    })
    return `## ${title}\n\n${intro}\n\n| key | value | |\n|---|---|---|\n${rows.join('\n')}`
  })
  const text = `<!-- Written by \`npm run docs -- reference\` from the tables that the config reader uses. -->

# Config keys

\`toolcrib.toml\`, and the same keys in JSON. [MCP servers](../mcp-servers.md#config) says which file is read, how files are merged and how
variables are expanded. An unknown key is an error that names the line and the nearest known key.

${sections.join('\n\n')}
`
  return { text, gaps }
}

interface Key {
  readonly key: string
  readonly kind: string
  readonly comment: string
}

function keysOf(program: ts.Program, file: string, name: string): readonly Key[] {
  const source = sourceOf(program, file)
  const keys: Key[] = []
  const named = new Map<string, ts.Expression>()
  for (const statement of source.statements) {
    if (!ts.isVariableStatement(statement)) continue
    for (const { name: variable, initializer } of statement.declarationList.declarations)
      if (initializer && ts.isIdentifier(variable)) named.set(variable.text, plain(initializer))
  }
  const table = named.get(name)
  if (!table || !ts.isObjectLiteralExpression(table)) throw new Error(`${file} has no table ${name}`)
  for (const property of table.properties) {
    if (!ts.isPropertyAssignment(property)) continue
    const value = plain(property.initializer)
    const kind = ts.isIdentifier(value) ? (named.get(value.text) ?? value) : value
    keys.push({ key: property.name.getText(), kind: kindOf(kind), comment: commentOf(property) })
  }
  return keys
}

function kindOf(value: ts.Expression): string {
  if (ts.isStringLiteral(value)) return KINDS[value.text] ?? value.text
  const words = [...value.getText().matchAll(/'([^']+)'/g)].map(([, word]) => `\`${word}\``)
  return words.length > 0 ? words.join(', ') : 'one of several'
}

function plain(expression: ts.Expression): ts.Expression {
  return ts.isAsExpression(expression) || ts.isSatisfiesExpression(expression)
    ? plain(expression.expression)
    : expression
}

function membersOf(program: ts.Program, type: string): ReadonlyMap<string, string> {
  const [file = '', name] = type.split('#')
  const found = sourceOf(program, file).statements.find(
    (each): each is ts.InterfaceDeclaration => ts.isInterfaceDeclaration(each) && each.name.text === name,
  )
  if (!found) throw new Error(`${file} has no interface ${name}`)
  return new Map(
    found.members
      .map((member) => [member.name?.getText() ?? '', commentOf(member)] as const)
      .filter(([, comment]) => comment !== ''),
  )
}

function commentOf(node: ts.Node): string {
  const source = node.getSourceFile()
  const ranges = ts.getLeadingCommentRanges(source.text, node.getFullStart()) ?? []
  const last = ranges.filter(({ kind }) => kind === ts.SyntaxKind.MultiLineCommentTrivia).at(-1)
  return last ? cleanComment(source.text.slice(last.pos, last.end)) : ''
}

function sourceOf(program: ts.Program, file: string): ts.SourceFile {
  const source = program.getSourceFile(join(ROOT, file))
  if (!source) throw new Error(`${file} is not part of any entry point`)
  return source
}

function toSnake(key: string): string {
  return key === 'mcpServers' ? key : key.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
}
