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
    return noteMissing(terminal, ready.statuses, 'listed', ready.apiStatuses)
  })
}

/** The requested tools by server: some of its tools, or all. Throws `config-invalid` for an unknown server. */
function wantedTools(
  names: readonly string[],
  { servers, layers = [], openapi = {} }: Pick<Config, 'servers' | 'layers' | 'openapi'>,
): ReadonlyMap<string, ReadonlySet<string> | 'all'> {
  const known = [...Object.keys(servers), ...Object.keys(openapi)]
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
  const apis = wanted.size === 0 ? listing.apis : listing.apis.filter(({ api }) => wanted.has(api))
  return totalled({ ...listing, servers, apis })
}

/** A tool's name on its own server. */
function ownName(name: string, server: string): string {
  return name.replace(`mcp__${server}__`, '')
}

function totalled(listing: Omit<Listing, 'tools' | 'tokens'>): Listing {
  const sources = [...listing.servers, ...listing.apis]
  const tools = sources.reduce((total, source) => total + source.tools.length, 0)
  return { ...listing, tools, tokens: sum(sources) }
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
  readonly apis: readonly { api: string; failure?: string; tokens: number; tools: readonly ListedTool[] }[]
  readonly servers: readonly (ServerStatus & { tokens: number; tools: readonly ListedTool[] })[]
  readonly tools: number
  readonly tokens: number
}

async function toListing(
  { registry, statuses, apiStatuses, config }: ReadyRegistry,
  counts: TokenCounts,
): Promise<Listing> {
  const schemas = registry.listSchemas()
  const tokensOf = await counts.each(schemas)
  const listed = schemas.map(({ name, description, parameters, mcpServer, api }, at) => {
    const { state, reason } = registry.explain(name)
    const isHeld = state === 'quarantined' || state === 'denied'
    const tool = { name, description, inputSchema: parameters, tokens: tokensOf[at] ?? 0, state }
    return { mcpServer, api, tool: isHeld ? { ...tool, reason } : tool }
  })
  const servers = statuses.map((status) => {
    const tools = listed.filter(({ mcpServer }) => mcpServer === status.server).map(({ tool }) => tool)
    return { ...status, tokens: sum(tools), tools }
  })
  const apis = apiStatuses.map(({ api, failure }) => {
    const tools = listed.flatMap((each) => (each.api === api ? [each.tool] : []))
    return { api, ...(failure === undefined ? {} : { failure }), tokens: sum(tools), tools }
  })
  return totalled({ files: config.files, servers, apis })
}

function sum(items: readonly { readonly tokens: number }[]): number {
  return items.reduce((total, { tokens }) => total + tokens, 0)
}

function show(terminal: Terminal, listing: Listing, isFull: boolean): void {
  const { files, servers, apis, tools, tokens } = listing
  terminal.print(pc.dim(files.join('\n')))
  for (const server of servers) {
    terminal.print()
    terminal.print(heading(server))
    showTools(
      terminal,
      server.tools.map((tool) => ({ ...tool, name: toolName(tool.name, server.server) })),
      isFull,
    )
  }
  for (const { api, failure, tools, tokens } of apis) {
    const figures = pc.dim(`API, ${plural(tools.length, 'operation')}, ${plural(tokens, 'token')}`)
    terminal.print(`\n${pc.bold(pc.cyan(api))}  ${failure === undefined ? figures : pc.red('failed')}`)
    showTools(terminal, tools, isFull)
  }
  const absent = servers.filter(isMissing).length
  const from = `from ${plural(servers.length - absent, 'server')}${apis.length > 0 ? ` and ${plural(apis.length, 'API')}` : ''}`
  const missing = absent > 0 ? pc.red(`; ${plural(absent, 'server')} missing`) : ''
  terminal.print(`\n${pc.bold(plural(tools, 'tool'))} ${from}, ${pc.bold(plural(tokens, 'token'))}${missing}`)
}

function showTools(terminal: Terminal, tools: readonly ListedTool[], isFull: boolean): void {
  if (!isFull) showInLines(terminal, tools)
  else for (const tool of tools) showInFull(terminal, tool)
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
