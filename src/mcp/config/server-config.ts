import { describeError, ToolcribError } from '../../errors.ts'
import { isRecord } from '../../json.ts'
import { checkName } from '../../names.ts'
import { holdsVariable, type Variables } from './expand-variables.ts'
import { type Fields, fillTable, invalid, MAX_MILLISECONDS, type Place, readTable } from './read-table.ts'

/** One MCP server, as configured. Either `command` (stdio) or `url` (HTTP) is there. */
export interface ServerConfig {
  /** The program of a server over stdio, run without a shell. */
  readonly command?: string
  readonly args?: readonly string[]
  /** Added to the few variables that every server gets. */
  readonly env?: Readonly<Record<string, string>>
  readonly cwd?: string
  /** The address of a server over HTTP. */
  readonly url?: string
  /** Sent with each request. */
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
  /** Tools that are always shown, by the server's own names. */
  readonly pinned?: readonly string[]
  /** A trusted server may pin its tools itself, and what it says is not marked as untrusted. */
  readonly trust?: boolean
  /** Leaves it out, and one of its name in the user's config too. */
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
  headers: 'map',
  type: 'text',
  oauth: 'table',
  lazy: 'flag',
  start: { oneOf: ['on-demand', 'eager'] },
  timeoutMs: 'milliseconds',
  connectTimeoutMs: 'milliseconds',
  idleMs: 'milliseconds',
  allow: 'texts',
  deny: 'texts',
  pinned: 'texts',
  trust: 'flag',
  disabled: 'flag',
  enabled: 'flag',
} as const satisfies Fields

/** What others call these keys, and what a config that was read before may hold. */
const ALSO_READ = {
  serverUrl: 'text',
  httpUrl: 'text',
  transport: 'text',
  transportType: 'text',
  problem: 'text',
} as const satisfies Fields

/** The same in the files of clients and editors; in ours, `timeout` is a slip for `timeout_ms`. */
const ALSO_READ_IN_JSON = {
  ...ALSO_READ,
  timeout: 'number',
  timeoutSec: 'number',
  includeTools: 'texts',
  enabledTools: 'texts',
  excludeTools: 'texts',
  disabledTools: 'texts',
  envFile: 'text',
} as const satisfies Fields

/** Keys of clients and editors that would be taken for slips. All that resembles none of ours is passed over anyway. */
const FOREIGN_KEYS = ['auth', 'comment', '_comment', 'restart', 'startup', 'trusted', 'requestTimeoutMs']

/** What `oauth` holds; clients write the scopes as a list, too. */
const OAUTH_FIELDS = { clientId: 'text', clientSecret: 'text', scope: 'text' } as const satisfies Fields

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

/** What stands in for a server that makes no sense, so that it is not looked into again for what it lacks. */
export function asRead(server: ServerConfig): ServerConfig {
  return Reflect.has(server, WRITTEN) ? server : remember(server, server)
}

/** Where a server's table stands, and what its variables stand for. */
export interface ServerPlace extends Variables {
  readonly place: Place
  /** Whether other programs write there, too: what they mean by `trust` is not what we do. */
  readonly isForeign: boolean
}

/**
 * Reads one server's table, with its variables filled in. What is wrong with a variable, that it has no value say,
 * makes that server fail, and not the config.
 */
export function readServer(
  name: string,
  table: unknown,
  { place, isForeign, ...variables }: ServerPlace,
): ServerConfig {
  try {
    checkName(name, 'server name')
  } catch (cause) {
    throw new ToolcribError('config-invalid', `${place.at(place.keys)}${describeError(cause)}`, { cause })
  }
  if (isRecord(table) && Reflect.has(table, WRITTEN)) return table
  const { envFile, ...read } = readFields(table, place)
  if (isForeign) delete read.trust
  const { values, faults } = fillTable(read, { ...FIELDS, ...ALSO_READ_IN_JSON }, place, variables)
  const type = readType(values, place)
  const written = toServer(read, type)
  const server = toServer(values, type)
  // One that is switched off may be no more than that: it switches off its namesake in the user's config.
  if (server.disabled === true) return remember(server, written)
  const fault = transportFault(written)
  if (fault) throw invalid(place, fault.keys, fault.reason)
  const unread = envFile === undefined ? [] : [ENV_FILE_UNREAD]
  const problems = [...faults, ...unread]
  const problem = problems.length > 0 ? problems.join('; ') : transportFault(server)?.reason
  return remember(problem === undefined ? server : { ...server, problem }, written)
}

/** Without the keys that it keeps there, a server would fail in its own words, or work for nobody. */
const ENV_FILE_UNREAD = `"envFile" is not read here; write its variables into "env", as \${NAME}`

function readFields(table: unknown, place: Place): Record<string, unknown> {
  if (place.style === 'snake') {
    const { oauth, ...read } = readTable(table, FIELDS, { ...place, alsoRead: ALSO_READ })
    return oauth === undefined ? read : { ...read, oauth: readOAuth(oauth, within(place, 'oauth')) }
  }
  const lenient = { ...place, alsoRead: ALSO_READ_IN_JSON, foreignKeys: FOREIGN_KEYS }
  const { oauth, ...read } = readTable(table, FIELDS, lenient)
  if (oauth === undefined) return read
  return { ...read, oauth: readOAuth(oauth, { ...within(place, 'oauth'), foreignKeys: [] }) }
}

function within(place: Place, key: string): Place {
  return { ...place, keys: [...place.keys, key] }
}

/** In the keys of the OAuth protocol, with the scopes as one text. */
function readOAuth(table: unknown, place: Place): Record<string, unknown> {
  const { clientId, clientSecret, scope, scopes } = readTable(table, OAUTH_FIELDS, {
    ...place,
    alsoRead: { scopes: isRecord(table) && Array.isArray(table.scopes) ? 'texts' : 'text' },
  })
  const asked = scope ?? (Array.isArray(scopes) ? scopes.join(' ') : scopes)
  return {
    ...(clientId === undefined ? {} : { client_id: clientId }),
    ...(clientSecret === undefined ? {} : { client_secret: clientSecret }),
    ...(asked === undefined ? {} : { scope: asked }),
  }
}

function readType(values: Record<string, unknown>, place: Place): Pick<ServerConfig, 'type'> {
  const key = ['type', 'transport', 'transportType'].find((name) => values[name] !== undefined)
  const type = key === undefined ? undefined : String(values[key])
  if (key === undefined || type === undefined || holdsVariable(type)) return {}
  const known = Object.hasOwn(TYPES, type) ? TYPES[type] : undefined
  if (known) return { type: known }
  throw invalid(place, [key], `"${key}" must be one of stdio, http, sse, not ${JSON.stringify(type)}`)
}

function toServer(read: Record<string, unknown>, type: Pick<ServerConfig, 'type'>): ServerConfig {
  const { serverUrl, httpUrl, timeout, timeoutSec, enabled, allow, deny, ...others } = read
  const { includeTools, enabledTools, excludeTools, disabledTools, ...rest } = others
  const { transport: _, transportType: __, type: ___, ...own } = rest
  const url = own.url ?? serverUrl ?? httpUrl
  const timeoutMs = own.timeoutMs ?? toMilliseconds(timeout, timeoutSec)
  return {
    ...own,
    ...joined('allow', [allow, includeTools, enabledTools]),
    ...joined('deny', [deny, excludeTools, disabledTools]),
    ...(url === undefined ? {} : { url }),
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
    ...type,
    ...(enabled === false ? { disabled: true } : {}),
  } as ServerConfig
}

/** One list of several. An empty one of tools to take means none; one of tools to leave out says nothing. */
function joined(key: 'allow' | 'deny', lists: readonly unknown[]): Record<string, unknown> {
  const given = lists.filter((names) => Array.isArray(names))
  const isSaid = key === 'allow' ? given.length > 0 : given.flat().length > 0 || lists[0] !== undefined
  return isSaid ? { [key]: given.flat() } : {}
}

/** Some clients count in seconds, an hour at most; the others in milliseconds, and nobody waits for under four seconds. */
const MOST_SECONDS = 3_600

function toMilliseconds(timeout: unknown, timeoutSec: unknown): number | undefined {
  if (typeof timeoutSec === 'number') return Math.min(timeoutSec * 1_000, MAX_MILLISECONDS)
  if (typeof timeout !== 'number') return undefined
  return Math.min(timeout <= MOST_SECONDS ? timeout * 1_000 : timeout, MAX_MILLISECONDS)
}

// Enumerable, so that a copy made by spreading is still known to be filled in; as a symbol it stays out of JSON.
function remember(server: ServerConfig, written: ServerConfig): ServerConfig {
  return Object.defineProperty({ ...server }, WRITTEN, { value: written, enumerable: true })
}

/** What keeps a server from being connected to, as far as its config tells. */
function transportFault({
  command,
  url,
  type,
}: ServerConfig): { readonly keys: readonly string[]; readonly reason: string } | undefined {
  const asked = type ?? (command === undefined ? 'http' : 'stdio')
  if (asked === 'stdio' && command === undefined) return { keys: [], reason: 'a "command" is missing' }
  if (asked !== 'stdio' && url === undefined) return { keys: [], reason: 'a "command" or a "url" is missing' }
  if (command !== undefined && url !== undefined && type === undefined)
    return {
      keys: ['url'],
      reason: 'there is both a "command" and a "url"; remove one, or say which by "type"',
    }
  if (asked === 'stdio' || isWebAddress(url) || holdsVariable(url ?? '')) return undefined
  return { keys: ['url'], reason: `"url" must be an http or https address, not ${JSON.stringify(url)}` }
}

function isWebAddress(url: string | undefined): boolean {
  return url !== undefined && URL.canParse(url) && /^https?:$/.test(new URL(url).protocol)
}
