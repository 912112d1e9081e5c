import { isRecord } from '@toolcrib/core/internal'
/** A server as another program wrote it, in the keys of a toolcrib config. */
export interface ImportedServer {
  readonly command?: unknown
  readonly args?: unknown
  readonly env?: unknown
  readonly cwd?: unknown
  readonly url?: unknown
  readonly headers?: unknown
  readonly type?: unknown
  readonly allow?: unknown
  readonly deny?: unknown
  readonly timeout_ms?: number
  readonly connect_timeout_ms?: number
  readonly disabled?: boolean
  /** The program's own keys that have a value and are not imported. */
  readonly leftBehind?: readonly string[]
}

/** Extracts the servers from a program's parsed config. */
export type ReadServers = (data: unknown) => ReadonlyMap<string, ImportedServer>

/** Servers by name under one or several keys, each a name or a path of names. */
export function serversUnder(...places: readonly (string | readonly string[])[]): ReadServers {
  return (data) => {
    const servers = new Map<string, ImportedServer>()
    for (const place of places) {
      const table = [place].flat().reduce<unknown>((inner, key) => fieldOf(inner, key), data)
      for (const [name, server] of entriesOf(table)) servers.set(name, toServer(server))
    }
    return servers
  }
}

/** Older versions of Zed write `command: { path, args, env }`. */
export const fromZed: ReadServers = (data) =>
  mapServers(fieldOf(data, 'context_servers'), (server) => {
    const { command } = server
    if (!isRecord(command)) return toServer(server)
    return toServer({ ...server, command: command.path, args: command.args, env: command.env })
  })

export const fromCodex: ReadServers = (data) =>
  mapServers(fieldOf(data, 'mcp_servers'), (server) => {
    const { bearer_token_env_var: token, http_headers, env_http_headers, env_vars, ...rest } = server
    const authorization = typeof token === 'string' ? { Authorization: reference(token, 'Bearer ') } : {}
    const fromEnv = Object.entries(tableOf(env_http_headers)).map(([name, variable]) => [
      name,
      reference(String(variable)),
    ])
    const headers = { ...tableOf(http_headers), ...Object.fromEntries(fromEnv), ...authorization }
    return toServer({
      ...rest,
      env: { ...handedOn(env_vars), ...tableOf(server.env) },
      ...(Object.keys(headers).length > 0 ? { headers } : {}),
    })
  })

/** Variables that a server inherits from the environment; empty when they are not set. */
function handedOn(names: unknown): Record<string, string> {
  const listed = Array.isArray(names) ? names : []
  const variables = listed.map((item) => (isRecord(item) ? item.name : item))
  return Object.fromEntries(variables.map((name) => [String(name), `\${${name}:-}`]))
}

function reference(variable: string, prefix = ''): string {
  return `${prefix}\${${variable}}`
}

/** Goose lists its own extensions among the servers, and writes `cmd`, `envs` and `uri`. */
export const fromGoose: ReadServers = (data) => {
  const servers = entriesOf(fieldOf(data, 'extensions')).filter(([, { type }]) => isGooseServer(type))
  return new Map(
    servers.map(([name, { cmd, envs, uri, timeout, bundled: _, ...rest }]) => [
      name,
      toServer({
        ...rest,
        command: cmd,
        env: envs,
        url: uri,
        type: rest.type === 'streamable_http' ? 'http' : rest.type,
        ...(typeof timeout === 'number' ? { timeoutSec: timeout } : {}),
      }),
    ]),
  )
}

/** Other extensions are part of Goose itself. */
function isGooseServer(type: unknown): boolean {
  return type === 'stdio' || type === 'sse' || type === 'streamable_http'
}

/** opencode writes command and arguments as one list. */
export const fromOpencode: ReadServers = (data) =>
  mapServers(fieldOf(data, 'mcp'), (server) => {
    const [command, ...args] = Array.isArray(server.command) ? server.command : [server.command]
    const { environment: env, ...rest } = server
    return toServer({ ...rest, command, args, env })
  })

function mapServers(
  table: unknown,
  read: (server: Readonly<Record<string, unknown>>) => ImportedServer,
): Map<string, ImportedServer> {
  return new Map(entriesOf(table).map(([name, server]) => [name, read(server)]))
}

const TYPES = ['stdio', 'http', 'sse']

function toServer(server: Readonly<Record<string, unknown>>): ImportedServer {
  const { command, args, env, cwd, headers, type } = server
  const url = server.url ?? server.serverUrl ?? server.httpUrl
  const isOff = server.disabled === true || server.enabled === false
  const isList = Array.isArray(args) && args.length > 0
  const deny = listOf(server, DENY_KEYS)
  const left = leftBehind(server)
  return {
    ...(typeof command === 'string' ? { command: toVariable(command) } : {}),
    ...(isList ? { args: args.filter((arg) => arg !== null).map((arg) => toVariable(String(arg))) } : {}),
    ...(isRecord(env) && Object.keys(env).length > 0 ? { env: texts(env) } : {}),
    ...(typeof cwd === 'string' ? { cwd: toVariable(cwd) } : {}),
    ...(typeof url === 'string' ? { url: toVariable(url) } : {}),
    ...(isRecord(headers) && Object.keys(headers).length > 0 ? { headers: texts(headers) } : {}),
    ...(typeof type === 'string' && TYPES.includes(type) ? { type } : {}),
    ...(ALLOW_KEYS.some((key) => Array.isArray(server[key])) ? { allow: listOf(server, ALLOW_KEYS) } : {}),
    ...(deny.length > 0 ? { deny } : {}),
    ...timesOf(server),
    ...(isOff ? { disabled: true } : {}),
    ...(left.length > 0 ? { leftBehind: left } : {}),
  }
}

/** Time limits, which programs write in milliseconds or, under these names, in seconds. */
function timesOf(
  server: Readonly<Record<string, unknown>>,
): Pick<ImportedServer, 'timeout_ms' | 'connect_timeout_ms'> {
  const seconds = (key: string) => (typeof server[key] === 'number' ? server[key] * 1000 : undefined)
  const call =
    toMilliseconds(server.timeout) ??
    server.requestTimeoutMs ??
    seconds('timeoutSec') ??
    seconds('tool_timeout_sec')
  const start = server.startup_timeout_ms ?? server.initTimeout ?? seconds('startup_timeout_sec')
  return {
    ...(isDuration(call) ? { timeout_ms: call } : {}),
    ...(isDuration(start) ? { connect_timeout_ms: start } : {}),
  }
}

/** Some programs write `timeout` in seconds, at most an hour; others write milliseconds. */
function toMilliseconds(timeout: unknown): number | undefined {
  if (typeof timeout !== 'number') return undefined
  return timeout <= 3_600 ? timeout * 1_000 : timeout
}

const TIME_KEYS = [
  'timeout',
  'requestTimeoutMs',
  'timeoutSec',
  'tool_timeout_sec',
  'startup_timeout_ms',
  'startup_timeout_sec',
  'initTimeout',
]

function isDuration(value: unknown): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value > 0 && value < 2 ** 31
}

const ALLOW_KEYS = ['allow', 'includeTools', 'enabledTools', 'enabled_tools']
const DENY_KEYS = ['deny', 'excludeTools', 'disabledTools', 'disabled_tools']

function listOf(server: Readonly<Record<string, unknown>>, keys: readonly string[]): string[] {
  return keys.flatMap((key) => server[key] ?? []).map(String)
}

const TAKEN = new Set([
  ...[
    'command',
    'args',
    'env',
    'cwd',
    'headers',
    'type',
    'url',
    'serverUrl',
    'httpUrl',
    'disabled',
    'enabled',
  ],
  ...ALLOW_KEYS,
  ...DENY_KEYS,
  ...TIME_KEYS,
])
/** Comments, and keys that repeat what is imported. */
const IDLE = new Set(['name', 'description', 'comment', '_comment', 'transport', 'transportType', 'source'])

function leftBehind(server: Readonly<Record<string, unknown>>): string[] {
  const left = Object.entries(server).filter(([key]) => !TAKEN.has(key) && !IDLE.has(key))
  return left.filter(([, value]) => !isSilent(value)).map(([key]) => key)
}

/** Whether a value is off or empty, so that omitting it changes nothing. */
function isSilent(value: unknown): boolean {
  if (value === null || value === undefined || value === false || value === '') return true
  return typeof value === 'object' && Object.keys(value).length === 0
}

function texts(table: Readonly<Record<string, unknown>>): Record<string, string> {
  const known = Object.entries(table).filter(([, value]) => value !== null && typeof value !== 'object')
  return Object.fromEntries(known.map(([name, value]) => [name, toVariable(String(value))]))
}

// biome-ignore-start lint/suspicious/noTemplateCurlyInString: variables of configs, not of this file
const USER_HOME = '${userHome}'
const HOME = '${HOME}'
// biome-ignore-end lint/suspicious/noTemplateCurlyInString: variables of configs, not of this file

/** VS Code prompts its user for `${input:api-key}`; here it is the environment variable `API_KEY`. */
function toVariable(text: string): string {
  return text
    .replaceAll(USER_HOME, HOME)
    .replace(
      /\$\{input:([^}]+)\}/g,
      (_, id: string) => `\${${id.replace(/[^A-Za-z0-9]+/g, '_').toUpperCase()}}`,
    )
}

function entriesOf(table: unknown): [string, Record<string, unknown>][] {
  if (!isRecord(table)) return []
  return Object.entries(table).filter((entry): entry is [string, Record<string, unknown>] =>
    isRecord(entry[1]),
  )
}

function tableOf(value: unknown): Readonly<Record<string, unknown>> {
  return isRecord(value) ? value : {}
}

function fieldOf(table: unknown, key: string): unknown {
  return isRecord(table) && Object.hasOwn(table, key) ? table[key] : undefined
}
