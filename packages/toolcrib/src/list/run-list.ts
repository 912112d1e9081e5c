import { type JsonSchema, type ServerStatus, ToolcribError } from '@toolcrib/core'
import type { Config } from '@toolcrib/mcp'
import pc from 'picocolors'
import { isMissing, noteMissing } from '../servers/missing-servers.ts'
import { TokenCounts } from '../servers/token-counts.ts'
import { unknownServer } from '../servers/unknown-server.ts'
import { findWithFlags, type ReadyRegistry, remembering, withRegistry } from '../servers/with-registry.ts'
import type { RefreshFlags, RegistryFlags, ServerFlags } from '../terminal/flags.ts'
import type { Terminal } from '../terminal/terminal.ts'
import { columns, cut, figure, plain, plainLines, plural, shellWord, toolName } from '../terminal/text.ts'

export interface ListFlags extends ServerFlags, RegistryFlags, RefreshFlags {
  readonly schema?: boolean
}

/** Lists servers and their tools, with the token cost of each. */
export async function runList(
  terminal: Terminal,
  names: readonly string[],
  flags: ListFlags,
): Promise<number> {
  const found = await findWithFlags(terminal, flags)
  const wanted = wantedTools(names, found.config)
  const servers = (server: string) => names.length === 0 || wanted.has(server)
  return withRegistry(terminal, flags, { found, servers, ...remembering(flags) }, async (ready) => {
    const listing = onlyWanted(await toListing(ready, new TokenCounts(terminal)), wanted)
    if (flags.json) terminal.printJson(listing)
    else show(terminal, listing, flags.schema === true)
    return noteMissing(terminal, ready.statuses, 'listed')
  })
}

/** The requested tools by server: some of its tools, or all. Throws `config-invalid` for an unknown server. */
function wantedTools(
  names: readonly string[],
  { servers, layers = [] }: Pick<Config, 'servers' | 'layers'>,
): ReadonlyMap<string, ReadonlySet<string> | 'all'> {
  const known = Object.keys(servers)
  const wanted = new Map<string, Set<string> | 'all'>()
  for (const name of names) {
    const server = known.includes(name) ? name : known.find((each) => name.startsWith(`${each}.`))
    const before = wanted.get(server ?? '')
    if (server === undefined) throw unknownServer(name, { servers: known, layers })
    if (server === name || before === 'all') wanted.set(server, 'all')
    else wanted.set(server, new Set([...(before ?? []), name.slice(server.length + 1)]))
  }
  return wanted
}

/** Throws `config-invalid` for a tool that its server does not have, if the server responded. */
function onlyWanted(listing: Listing, wanted: ReturnType<typeof wantedTools>): Listing {
  const servers = listing.servers.map((server) => {
    const names = wanted.get(server.server) ?? 'all'
    if (names === 'all' || isMissing(server)) return server
    const tools = server.tools.filter(({ name }) => names.has(ownName(name, server.server)))
    const missing = [...names].find(
      (name) => !tools.some((tool) => ownName(tool.name, server.server) === name),
    )
    if (missing === undefined) return { ...server, tokens: sum(tools), tools }
    const step = `see its tools with "toolcrib list ${shellWord(server.server)}"`
    throw new ToolcribError('config-invalid', `${server.server} has no tool "${missing}"; ${step}`)
  })
  return { ...listing, servers, tools: countTools(servers), tokens: sum(servers) }
}

/** A tool's name on its own server. */
function ownName(name: string, server: string): string {
  return name.replace(`mcp__${server}__`, '')
}

function countTools(servers: Listing['servers']): number {
  return servers.reduce((total, { tools }) => total + tools.length, 0)
}

interface ListedTool {
  readonly name: string
  readonly description: string
  readonly inputSchema: JsonSchema
  readonly tokens: number
  readonly state: string
  readonly reason?: string
}

interface Listing {
  readonly files: readonly string[]
  readonly servers: readonly (ServerStatus & { tokens: number; tools: readonly ListedTool[] })[]
  readonly tools: number
  readonly tokens: number
}

async function toListing(
  { registry, statuses, config }: ReadyRegistry,
  counts: TokenCounts,
): Promise<Listing> {
  const schemas = registry.listSchemas()
  const tokensOf = await counts.each(schemas)
  const listed = schemas.map(({ name, description, parameters, mcpServer }, at) => {
    const { state, reason } = registry.explain(name)
    const isHeld = state === 'quarantined' || state === 'denied'
    const tool = { name, description, inputSchema: parameters, tokens: tokensOf[at] ?? 0, state }
    return { mcpServer, tool: isHeld ? { ...tool, reason } : tool }
  })
  const servers = statuses.map((status) => {
    const tools = listed.filter(({ mcpServer }) => mcpServer === status.server).map(({ tool }) => tool)
    return { ...status, tokens: sum(tools), tools }
  })
  return {
    files: config.files,
    servers,
    tools: countTools(servers),
    tokens: sum(servers),
  }
}

function sum(items: readonly { readonly tokens: number }[]): number {
  return items.reduce((total, { tokens }) => total + tokens, 0)
}

function show(terminal: Terminal, { files, servers, tools, tokens }: Listing, isFull: boolean): void {
  terminal.print(pc.dim(files.join('\n')))
  for (const server of servers) {
    terminal.print()
    terminal.print(heading(server))
    const tools = server.tools.map((tool) => ({ ...tool, name: toolName(tool.name, server.server) }))
    if (isFull) for (const tool of tools) showInFull(terminal, tool)
    else showInLines(terminal, tools)
  }
  const absent = servers.filter(isMissing).length
  const from = `from ${plural(servers.length - absent, 'server')}`
  const missing = absent > 0 ? pc.red(`; ${plural(absent, 'server')} missing`) : ''
  terminal.print(`\n${pc.bold(plural(tools, 'tool'))} ${from}, ${pc.bold(plural(tokens, 'token'))}${missing}`)
}

function showInFull(terminal: Terminal, { name, description, inputSchema, state, reason }: ListedTool): void {
  terminal.print(`\n ${pc.bold(name)}`)
  if (reason !== undefined) terminal.say(` ${pc.yellow(`${state}: ${plain(reason)}`)}`)
  terminal.say(indented(pc.dim(plainLines(description))))
  terminal.say(indented(plainLines(JSON.stringify(inputSchema, null, 2))))
}

function indented(text: string): string {
  return text.replace(/^/gm, '   ')
}

function showInLines(terminal: Terminal, tools: readonly ListedTool[]): void {
  const nameWidth = Math.max(0, ...tools.map(({ name }) => name.length))
  const costWidth = Math.max(0, ...tools.map(({ tokens }) => figure(tokens).length))
  const rest = Math.max(0, terminal.width - nameWidth - costWidth - BLANKS)
  const rows = tools.map(({ name, description, tokens, state, reason }) => [
    ` ${reason === undefined ? name : pc.yellow(name)}`,
    pc.dim(figure(tokens)),
    reason === undefined
      ? pc.dim(rest < MIN_TEXT ? '' : cut(plain(description), rest))
      : pc.yellow(`${state}: ${plain(reason)}`),
  ])
  for (const line of columns(rows, { rightAligned: [1] })) terminal.print(line)
}

/** One before the name, two before each other column. */
const BLANKS = 5

/** A shorter part of a description is not worth showing. */
const MIN_TEXT = 12

function heading(server: Listing['servers'][number]): string {
  const name = pc.bold(pc.cyan(server.server))
  // The reason is on stderr.
  if (server.state === 'failed') return `${name}  ${pc.red('failed')}`
  if (server.state === 'connecting') return `${name}  ${pc.yellow(`still ${server.detail ?? 'connecting'}`)}`
  return `${name}  ${pc.dim(`${plural(server.tools.length, 'tool')}, ${plural(server.tokens, 'token')}`)}`
}
