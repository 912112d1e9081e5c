import { dirname } from 'node:path'
import { ToolcribError } from '@toolcrib/core'
import { checkName, describeError, isRecord } from '@toolcrib/core/internal'
import type { ConfigFile } from './config-file.ts'
import type { Variables } from './expand-variables.ts'
import {
  type Fields,
  fillTable,
  holdsVariable,
  invalid,
  MAX_MILLISECONDS,
  type Place,
  readTable,
} from './read-table.ts'
import type { Environment, ServerConfig } from './server-config.ts'

const FIELDS = {
  command: 'text',
  /** The arguments of the program. */
  args: 'texts',
  env: 'map',
  /** The folder the program runs in. Default: that of the process. */
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
  /** Tools to leave out; takes precedence over `allow`. */
  deny: 'texts',
  pinned: 'texts',
  hints: 'map',
  trust: 'flag',
  asks: 'flag',
  lossless: 'flag',
  maxResultTokens: 'count',
  disabled: 'flag',
  /** `false` is `disabled = true`, as some programs write it. */
  enabled: 'flag',
} as const satisfies Fields

/** Aliases of these keys in other programs, and keys of a config that was already read. */
const ALSO_READ = {
  serverUrl: 'text',
  httpUrl: 'text',
  transport: 'text',
  transportType: 'text',
  problem: 'text',
} as const satisfies Fields

/** More aliases, accepted only in files of clients and editors; in our own, `timeout` is a typo for `timeout_ms`. */
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

/** Keys of clients and editors that resemble ours but are not typos. Other foreign keys are ignored anyway. */
const FOREIGN_KEYS = ['auth', 'comment', '_comment', 'restart', 'startup', 'trusted', 'requestTimeoutMs']

/** The keys of `oauth`; clients may also write the scopes as a list. */
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
 * A server's table before its variables were expanded. Stored under a symbol, so that no file can forge it; a server
 * that has it was already read.
 */
const WRITTEN = Symbol('written')

/**
 * Returns a server's config as written, with its variables unexpanded: safe to store in a file that others can read.
 */
export function asWritten(server: ServerConfig): ServerConfig {
  return Reflect.get(server, WRITTEN) ?? server
}

/** Marks the replacement of an invalid server as already read, so that it is not checked again. */
function asRead(server: ServerConfig): ServerConfig {
  return Reflect.has(server, WRITTEN) ? server : remember(server, server)
}

export interface ReadOptions {
  /** The values of `${NAME}`. Default: none. */
  readonly env?: Environment
  /** The value of `${workspaceFolder}`. */
  readonly workspaceFolder?: string
  /** The file that the data was parsed from, so that errors can name lines. */
  readonly file?: ConfigFile
  /** Returns a replacement for a server whose table is invalid; without it, one such server fails the whole config. */
  readonly onBadServer?: (error: ToolcribError) => ServerConfig
}

/** Far more than anyone runs; a larger file was not written as a config. */
const MAX_SERVERS = 2_000

/**
 * Reads the servers of a config, under any of the keys for them, including disabled ones. Throws `config-invalid`
 * for an invalid table, unless `onBadServer` replaces it.
 */
export function readServers(
  data: Readonly<Record<string, unknown>>,
  { env = {}, workspaceFolder, file, onBadServer }: ReadOptions,
): Record<string, ServerConfig> {
  const servers: Record<string, ServerConfig> = {}
  for (const key of SERVER_KEYS) {
    if (data[key] === undefined) continue
    if (!isRecord(data[key]))
      throw invalid(placeOf(file, []), [key], `"${key}" must be a table of servers by name`)
    const tables = Object.entries(data[key])
    if (tables.length > MAX_SERVERS)
      throw invalid(
        placeOf(file, []),
        [key],
        `"${key}" has ${tables.length} servers; the maximum is ${MAX_SERVERS}`,
      )
    for (const [name, table] of tables) {
      const place = placeOf(file, [key, name])
      const folder = file && dirname(file.path)
      const where = { place, isForeign: file?.format === 'json', env, workspaceFolder, configFolder: folder }
      define(servers, name, readOrReport(name, table, where, onBadServer))
    }
  }
  return servers
}

function readOrReport(
  name: string,
  table: unknown,
  where: ServerPlace,
  onBadServer: ReadOptions['onBadServer'],
): ServerConfig {
  try {
    return readServer(name, table, where)
  } catch (error) {
    if (!onBadServer || !(error instanceof ToolcribError)) throw error
    return asRead(onBadServer(error))
  }
}

/** Without those that are disabled. */
export function enabledServers(
  servers: Readonly<Record<string, ServerConfig>>,
): Readonly<Record<string, ServerConfig>> {
  return Object.fromEntries(Object.entries(servers).filter(([, { disabled }]) => disabled !== true))
}

const SERVER_KEYS = ['mcpServers', 'mcp_servers', 'servers', 'server'] as const

/** Defines an own property, even for a server named `__proto__`. */
function define(servers: Record<string, ServerConfig>, name: string, server: ServerConfig): void {
  Object.defineProperty(servers, name, { value: server, enumerable: true, configurable: true })
}

/** The place of a table in a file, or in data without a file. */
export function placeOf(file: ConfigFile | undefined, keys: readonly string[]): Place {
  return {
    keys,
    style: file?.format === 'toml' ? 'snake' : 'camel',
    at: (path) => (file ? `${file.path}:${file.lineOf(path)}: ` : ''),
  }
}

/** Where a server's table is, and the values of its variables. */
export interface ServerPlace extends Variables {
  readonly place: Place
  /** Whether other programs use this file too: their `trust` means something else. */
  readonly isForeign: boolean
}

/**
 * Reads one server's table, with its variables expanded. An invalid variable, such as one without a value, fails that
 * server and not the config.
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
  // A disabled server needs no other keys: it may only disable the server of the same name in the user's config.
  if (server.disabled === true) return remember(server, written)
  const fault = transportFault(written)
  if (fault) throw invalid(place, fault.keys, fault.reason)
  const unread = envFile === undefined ? [] : [ENV_FILE_UNREAD]
  const problems = [...faults, ...unread]
  const problem = problems.length > 0 ? problems.join('; ') : transportFault(server)?.reason
  return remember(problem === undefined ? server : { ...server, problem }, written)
}

/** Without the variables of that file, the server would fail with an obscure error or run without its credentials. */
const ENV_FILE_UNREAD = `"envFile" is not supported; write its variables into "env", as \${NAME}`

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

/** Uses the key names of the OAuth protocol, and joins the scopes into one string. */
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

/** Merges several lists. An empty `allow` list means "no tools"; an empty `deny` list from an alias is ignored. */
function joined(key: 'allow' | 'deny', lists: readonly unknown[]): Record<string, unknown> {
  const given = lists.filter((names) => Array.isArray(names))
  const isSaid = key === 'allow' ? given.length > 0 : given.flat().length > 0 || lists[0] !== undefined
  return isSaid ? { [key]: given.flat() } : {}
}

/** Some clients write seconds, at most an hour; others write milliseconds, and no timeout is under four seconds. */
const MOST_SECONDS = 3_600

function toMilliseconds(timeout: unknown, timeoutSec: unknown): number | undefined {
  if (typeof timeoutSec === 'number') return Math.min(timeoutSec * 1_000, MAX_MILLISECONDS)
  if (typeof timeout !== 'number') return undefined
  return Math.min(timeout <= MOST_SECONDS ? timeout * 1_000 : timeout, MAX_MILLISECONDS)
}

// Enumerable, so that a spread copy is still recognised as expanded; a symbol, so that it stays out of JSON.
function remember(server: ServerConfig, written: ServerConfig): ServerConfig {
  return Object.defineProperty({ ...server }, WRITTEN, { value: written, enumerable: true })
}

/** Why a server cannot be connected, as far as its config shows. */
function transportFault({
  command,
  url,
  type,
}: ServerConfig): { readonly keys: readonly string[]; readonly reason: string } | undefined {
  const asked = type ?? (command === undefined ? 'http' : 'stdio')
  if (asked === 'stdio' && command === undefined) return { keys: [], reason: 'a "command" is missing' }
  if (asked !== 'stdio' && url === undefined) return { keys: [], reason: 'a "command" or a "url" is missing' }
  if (command !== undefined && url !== undefined && type === undefined)
    return { keys: ['url'], reason: 'there is both a "command" and a "url"; remove one, or set "type"' }
  if (asked === 'stdio' || isWebAddress(url) || holdsVariable(url ?? '')) return undefined
  return { keys: ['url'], reason: `"url" must be an http or https address, not ${JSON.stringify(url)}` }
}

function isWebAddress(url: string | undefined): boolean {
  return url !== undefined && URL.canParse(url) && /^https?:$/.test(new URL(url).protocol)
}
