import { ToolcribError } from '../../errors.ts'
import { isRecord } from '../../json.ts'
import { checkName } from '../../names.ts'
import { expandVariables } from './expand-variables.ts'
import { type FieldKind, invalid, type Place, readTable } from './read-table.ts'

/** One MCP server, as configured. Either `command` (stdio) or `url` (HTTP) is there. */
export interface ServerConfig {
  readonly command?: string
  readonly args?: readonly string[]
  /** Added to the few variables that every server gets. */
  readonly env?: Readonly<Record<string, string>>
  readonly cwd?: string
  readonly url?: string
  readonly headers?: Readonly<Record<string, string>>
  /** `http` tries streamable HTTP and falls back to SSE; `sse` speaks only that. By `command` or `url` when absent. */
  readonly type?: 'stdio' | 'http' | 'sse'
  /** `client_id`, `client_secret` and `scope`, for authorization servers that register nobody by themselves. */
  readonly oauth?: Readonly<Record<string, string>>
  /** false pins all its tools. */
  readonly lazy?: boolean
  /** `on-demand` (default): its process starts with the first call, once its tools are known; `eager`: at once. */
  readonly start?: 'on-demand' | 'eager'
  /** How long one call may take; 60,000. */
  readonly timeoutMs?: number
  /** How long connecting and listing may take; 30,000. */
  readonly connectTimeoutMs?: number
  /** An on-demand server stops after so long without a call; 300,000, 0 = never. */
  readonly idleMs?: number
  /** The server's own tool names and globs: which to take, and which to leave out. */
  readonly allow?: readonly string[]
  readonly deny?: readonly string[]
  readonly pinned?: readonly string[]
  /** A trusted server may pin its tools itself. */
  readonly trust?: boolean
  readonly disabled?: boolean
  /** Why it cannot be connected as configured, a variable without a value say; it is told as failed. */
  readonly problem?: string
}

const FIELDS = {
  command: 'text',
  args: 'texts',
  env: 'map',
  cwd: 'text',
  url: 'text',
  serverUrl: 'text',
  httpUrl: 'text',
  headers: 'map',
  type: 'text',
  transport: 'text',
  oauth: 'map',
  lazy: 'flag',
  start: { oneOf: ['on-demand', 'eager'] },
  timeoutMs: 'count',
  connectTimeoutMs: 'count',
  idleMs: 'count',
  allow: 'texts',
  deny: 'texts',
  pinned: 'texts',
  trust: 'flag',
  disabled: 'flag',
  enabled: 'flag',
  problem: 'text',
} as const satisfies Record<string, FieldKind>

/** What clients and editors keep beside a server's command. */
const FOREIGN_KEYS = [
  'timeout',
  'autoApprove',
  'alwaysAllow',
  'disabledTools',
  'tools',
  'envFile',
  'description',
  'name',
  'id',
  'version',
  'gallery',
  'dev',
  'metadata',
  'instructions',
]

const TYPES: Readonly<Record<string, 'stdio' | 'http' | 'sse'>> = {
  stdio: 'stdio',
  local: 'stdio',
  http: 'http',
  'streamable-http': 'http',
  streamableHttp: 'http',
  streamable_http: 'http',
  remote: 'http',
  sse: 'sse',
}

/**
 * What a server's table was before its variables were filled in. Under a symbol, so that no file can claim it for
 * itself; a server that bears it has been read already.
 */
const WRITTEN = Symbol('written')

/** A server's config as it was written, variables and all: what may be kept in a file that others read. */
export function asWritten(server: ServerConfig): ServerConfig {
  return Reflect.get(server, WRITTEN) ?? server
}

export interface ServerPlace {
  readonly place: Place
  readonly env: Readonly<Record<string, string | undefined>>
  readonly workspaceFolder?: string
}

/** Reads one server's table. Variables are filled in; one without a value makes that server fail, not the config. */
export function readServer(
  name: string,
  table: unknown,
  { place, env, workspaceFolder }: ServerPlace,
): ServerConfig {
  try {
    checkName(name, 'server name')
  } catch (cause) {
    throw new ToolcribError('config-invalid', `${place.at(place.keys)}${(cause as Error).message}`, { cause })
  }
  if (isRecord(table) && Reflect.has(table, WRITTEN)) return table
  const foreign = place.style === 'camel' ? { foreignKeys: FOREIGN_KEYS } : {}
  const read = readTable(table, FIELDS, { ...place, ...foreign })
  const missing = new Set<string>()
  const fill = (text: string) => {
    const expanded = expandVariables(text, env, workspaceFolder)
    if ('text' in expanded) return expanded.text
    missing.add(expanded.missing)
    return text
  }
  const filled = fillAll(read, fill)
  const type = readType(filled.type ?? filled.transport, place)
  const server = toServer(filled, type)
  const written = toServer(read, type)
  // One that is switched off may be no more than that: it switches off its namesake in the user's config.
  if (server.disabled !== true) checkTransport(server, place)
  if (missing.size === 0) return remember(server, written)
  const names = [...missing].join(', ')
  const problem = `${names} has no value; set it, or write \${${[...missing][0]}:-default}`
  return remember({ ...server, problem }, written)
}

function remember(server: ServerConfig, written: ServerConfig): ServerConfig {
  return Object.defineProperty(server, WRITTEN, { value: written })
}

function toServer(read: Record<string, unknown>, type: Pick<ServerConfig, 'type'>): ServerConfig {
  const { serverUrl, httpUrl, transport: _, type: __, enabled, url = serverUrl ?? httpUrl, ...rest } = read
  const address = url === undefined ? {} : { url }
  return { ...rest, ...address, ...type, ...(enabled === false ? { disabled: true } : {}) } as ServerConfig
}

function fillAll(read: Record<string, unknown>, fill: (text: string) => string): Record<string, unknown> {
  const filled: Record<string, unknown> = {}
  for (const [key, value] of Object.entries(read)) {
    if (typeof value === 'string') filled[key] = fill(value)
    else if (Array.isArray(value)) filled[key] = value.map((item) => fill(String(item)))
    else if (isRecord(value)) filled[key] = fillMap(value, fill)
    else filled[key] = value
  }
  return filled
}

function fillMap(map: Record<string, unknown>, fill: (text: string) => string): Record<string, string> {
  return Object.fromEntries(Object.entries(map).map(([key, value]) => [key, fill(String(value))]))
}

function readType(type: unknown, place: Place): Pick<ServerConfig, 'type'> {
  if (type === undefined) return {}
  const known = TYPES[String(type)]
  if (known) return { type: known }
  throw invalid(place, ['type'], `"type" must be one of stdio, http, sse, not ${JSON.stringify(type)}`)
}

function checkTransport({ command, url, type }: ServerConfig, place: Place): void {
  const asked = type ?? (command === undefined ? 'http' : 'stdio')
  if (asked === 'stdio' && command === undefined) throw invalid(place, [], 'a "command" is missing')
  if (asked !== 'stdio' && url === undefined) throw invalid(place, [], 'a "command" or a "url" is missing')
  if (command !== undefined && url !== undefined && type === undefined)
    throw invalid(place, ['url'], 'there is both a "command" and a "url"; remove one, or say which by "type"')
  if (asked !== 'stdio' && !isWebAddress(url) && !url?.includes('${'))
    throw invalid(place, ['url'], `"url" must be an http or https address, not ${JSON.stringify(url)}`)
}

function isWebAddress(url: string | undefined): boolean {
  return url !== undefined && URL.canParse(url) && /^https?:$/.test(new URL(url).protocol)
}
