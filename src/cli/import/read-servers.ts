/** A server as a program wrote it, in the keys that a toolcrib config knows. */
export interface ImportedServer {
  readonly command?: unknown
  readonly args?: unknown
  readonly env?: unknown
  readonly cwd?: unknown
  readonly url?: unknown
  readonly headers?: unknown
  readonly type?: unknown
  readonly disabled?: boolean
}

/** Takes the servers out of a program's parsed config. */
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

/** Zed wrote `command: { path, args, env }` before it wrote what others do. */
export const fromZed: ReadServers = (data) =>
  mapServers(fieldOf(data, 'context_servers'), (server) => {
    const { command } = server
    if (!isTable(command)) return toServer(server)
    return toServer({ ...server, command: command.path, args: command.args, env: command.env })
  })

export const fromCodex: ReadServers = (data) =>
  mapServers(fieldOf(data, 'mcp_servers'), (server) => {
    const { bearer_token_env_var: token, http_headers: headers } = server
    const authorization = typeof token === 'string' ? { Authorization: `Bearer \${${token}}` } : {}
    const all = { ...(isTable(headers) ? headers : {}), ...authorization }
    return toServer({ ...server, ...(Object.keys(all).length > 0 ? { headers: all } : {}) })
  })

/** opencode writes command and arguments as one list. */
export const fromOpencode: ReadServers = (data) =>
  mapServers(fieldOf(data, 'mcp'), (server) => {
    const [command, ...args] = Array.isArray(server.command) ? server.command : [server.command]
    return toServer({ ...server, command, args, env: server.environment })
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
  return {
    ...(typeof command === 'string' ? { command } : {}),
    ...(isList ? { args: args.map((arg) => toVariable(String(arg))) } : {}),
    ...(isTable(env) && Object.keys(env).length > 0 ? { env: texts(env) } : {}),
    ...(typeof cwd === 'string' ? { cwd } : {}),
    ...(typeof url === 'string' ? { url: toVariable(url) } : {}),
    ...(isTable(headers) && Object.keys(headers).length > 0 ? { headers: texts(headers) } : {}),
    ...(typeof type === 'string' && TYPES.includes(type) ? { type } : {}),
    ...(isOff ? { disabled: true } : {}),
  }
}

function texts(table: Readonly<Record<string, unknown>>): Record<string, string> {
  const known = Object.entries(table).filter(([, value]) => value !== null && typeof value !== 'object')
  return Object.fromEntries(known.map(([name, value]) => [name, toVariable(String(value))]))
}

// biome-ignore-start lint/suspicious/noTemplateCurlyInString: variables of configs, not of this file
const USER_HOME = '${userHome}'
const HOME = '${HOME}'
// biome-ignore-end lint/suspicious/noTemplateCurlyInString: variables of configs, not of this file

/** VS Code asks its user for `${input:api-key}`; here that is the environment variable `API_KEY`. */
function toVariable(text: string): string {
  return text
    .replaceAll(USER_HOME, HOME)
    .replace(
      /\$\{input:([^}]+)\}/g,
      (_, id: string) => `\${${id.replace(/[^A-Za-z0-9]+/g, '_').toUpperCase()}}`,
    )
}

function entriesOf(table: unknown): [string, Record<string, unknown>][] {
  if (!isTable(table)) return []
  return Object.entries(table).filter((entry): entry is [string, Record<string, unknown>] =>
    isTable(entry[1]),
  )
}

function fieldOf(table: unknown, key: string): unknown {
  return isTable(table) && Object.hasOwn(table, key) ? table[key] : undefined
}

function isTable(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
