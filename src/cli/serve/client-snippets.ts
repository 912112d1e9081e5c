import { existsSync } from 'node:fs'
import { type ClientPlace, clientFiles } from '../import/client-files.ts'

/** Where the gateway is, for clients. */
export interface GatewayAddress {
  readonly url: string
  readonly token: string | undefined
  /** The config that `serve --stdio` must be given to join it. */
  readonly config: string
}

/** What to put into the config of some clients. */
export interface ClientSnippet {
  /** Who takes it, such as `Claude Code, Cursor`. */
  readonly titles: readonly string[]
  readonly text: string
}

/** How each client writes a server that it reaches over HTTP, or starts. */
const FORMATS: Readonly<Record<string, (address: GatewayAddress) => string>> = {
  'claude-desktop': started,
  'claude-code': (address) => asJson('mcpServers', { type: 'http', ...remote(address) }),
  cursor: (address) => asJson('mcpServers', remote(address)),
  vscode: (address) => asJson('servers', { type: 'http', ...remote(address) }),
  'vscode-insiders': (address) => asJson('servers', { type: 'http', ...remote(address) }),
  vscodium: (address) => asJson('servers', { type: 'http', ...remote(address) }),
  cline: (address) => asJson('mcpServers', { type: 'streamableHttp', ...remote(address) }),
  windsurf: ({ url, ...address }) => asJson('mcpServers', { serverUrl: url, ...headers(address) }),
  zed: (address) => asJson('context_servers', remote(address)),
  gemini: ({ url, ...address }) => asJson('mcpServers', { httpUrl: url, ...headers(address) }),
  codex: asToml,
}

/** The clients whose snippets are shown where none is found. */
const USUAL = ['claude-code', 'claude-desktop']
const MAX_SNIPPETS = 3

/** What to put into the configs of the clients on this machine; of two usual ones where none is found. */
export function clientSnippets(
  address: GatewayAddress,
  place: ClientPlace,
  exists: (path: string) => boolean = existsSync,
): ClientSnippet[] {
  const files = clientFiles(place).filter(({ client }) => Object.hasOwn(FORMATS, client))
  const found = files.filter(({ path }) => exists(path))
  const chosen = found.length > 0 ? found : files.filter(({ client }) => USUAL.includes(client))
  const byText = new Map<string, Set<string>>()
  for (const { client, title } of chosen) {
    const text = FORMATS[client]?.(address) ?? ''
    byText.set(text, (byText.get(text) ?? new Set()).add(title))
  }
  return [...byText].slice(0, MAX_SNIPPETS).map(([text, titles]) => ({ titles: [...titles], text }))
}

function asJson(key: string, entry: object): string {
  return JSON.stringify({ [key]: { toolcrib: entry } }, null, 2)
}

function remote({ url, ...address }: GatewayAddress): object {
  return { url, ...headers(address) }
}

function headers({ token }: Pick<GatewayAddress, 'token'>): object {
  return token === undefined ? {} : { headers: { Authorization: `Bearer ${token}` } }
}

/** For clients that start their servers, and reach none over HTTP. */
function started({ config }: GatewayAddress): string {
  return asJson('mcpServers', { command: 'toolcrib', args: ['serve', '--stdio', '--config', config] })
}

/** Codex ignores `headers`. */
function asToml({ url, token }: GatewayAddress): string {
  const sent = token === undefined ? '' : `\nhttp_headers = { Authorization = "Bearer ${token}" }`
  return `[mcp_servers.toolcrib]\nurl = ${JSON.stringify(url)}${sent}`
}
