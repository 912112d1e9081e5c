import type { Client } from '@modelcontextprotocol/client'
import { checkOptions } from '../check-options.ts'
import type { Finding } from '../finding.ts'
import type { ServerStatus } from '../registry/server-directory.ts'
import { type Environment, readConfig } from './config/load-config.ts'
import type { ServerConfig } from './config/server-config.ts'
import { CONNECT_RULES, type ConnectOptions, type ServersRegistry } from './connect-options.ts'
import type { ServerInfo } from './connection/connection.ts'
import type { ClientOptions, ServerListener } from './connection/server-messages.ts'
import type { Lockfile } from './lock/lockfile.ts'
import { ServerHub } from './server/server-hub.ts'
import type { RawRequest, RawRequestOptions } from './server/server-requests.ts'
import type { ServerTool } from './server/server-tool.ts'

/** Servers by name, in any of these forms. */
export interface ServersConfig {
  /** In the form that `loadConfig()` and `readConfig()` return. */
  readonly servers?: Readonly<Record<string, ServerConfig>>
  /** In the JSON form that MCP clients and editors use. */
  readonly mcpServers?: Readonly<Record<string, unknown>>
  /** In the form of a parsed `toolcrib.toml`. */
  readonly server?: Readonly<Record<string, unknown>>
}

/** The servers of a registry. */
export interface ConnectedServers {
  /** Resolves with every server's status once none is connecting, or after `timeoutMs` (30,000). Never rejects. */
  ready(options?: { readonly timeoutMs?: number }): Promise<readonly ServerStatus[]>
  /** Every server's status. */
  status(): readonly ServerStatus[]
  /** All tools that a server lists, before `allow` and `deny` apply; undefined until they are known. */
  tools(server: string): readonly ServerTool[] | undefined
  /**
   * The server's capabilities, instructions, era and protocol version. Cached with its tools, so available before it
   * runs; undefined for a server that has never run.
   */
  info(server: string): ServerInfo | undefined
  /** Suspicious findings in the tools that servers list. */
  findings(): readonly Finding[]
  /** Replaces the lockfile; undefined removes it. Tools that it approves leave quarantine, all others enter it. */
  relock(lockfile: Lockfile | undefined): Promise<void>
  /** Applies another config: changed servers restart, the others keep running. */
  reload(config: ServersConfig): Promise<void>
  /**
   * Reads a server's tools again: from the server when it is running, otherwise from the cache. For hosts that learn of a
   * change elsewhere. Does nothing for an unknown server.
   */
  refresh(server: string): Promise<void>
  /**
   * Sends any protocol request to a server, starting it if necessary, and returns the result exactly as parsed,
   * including unknown fields and `input_required` results. All progress is reported before the result. Rejects with
   * the server's own error as a `ServerError` (`code`, `message`, `data`), with the signal's reason, with
   * `source-unavailable` when the server is unknown or does not respond, and with `definition-changed` when the
   * lockfile quarantines the called tool. Registry policies do not apply.
   */
  request(server: string, request: RawRequest, options?: RawRequestOptions): Promise<Record<string, unknown>>
  /**
   * Sends a notification, such as `notifications/roots/list_changed`, over the existing connection. Does nothing when
   * the server is not running.
   */
  notify(
    server: string,
    notification: RawRequest,
    options?: { readonly sessionKey?: string | undefined },
  ): Promise<void>
  /**
   * Receives what servers send by themselves over the shared connections, from now on. Returns how to detach.
   * Notifications reach every attached listener, and the `client` of the options. A request goes to the listener that
   * was attached last with an `onRequest`, otherwise to `client.onRequest` of the options.
   */
  attach(listener: ServerListener): () => void
  /**
   * Opens a session with private connections: requests with this `sessionKey` use a process or an HTTP session that
   * is not shared, presents itself as `client`, and sends its requests and notifications only to the client's
   * handlers. A connection opens with the first request to its server, closes when idle, and reopens on demand.
   * Throws `config-invalid` when the session is already open.
   */
  openSession(sessionKey: string, client?: Partial<ClientOptions>): void
  /** Closes the connections of a session. Does nothing when the session does not exist. */
  closeSession(sessionKey: string): Promise<void>
  /**
   * Returns the SDK client of the shared connection to a server, starting the server if necessary. Using the client
   * keeps the server from being stopped as idle. Call this method each time instead of keeping the client: a
   * restarted server has a new one. Server requests and notifications go to `client.onRequest` and
   * `client.onNotification` of the options, not to this client. Rejects with `source-unavailable` when the server is
   * unknown or cannot be started.
   */
  client(server: string): Promise<Client>
  /** Stops every server and removes their tools from the registry. No process is left running. */
  close(): Promise<void>
}

/**
 * Connects a registry to MCP servers in parallel. Returns before they are connected: `ready()` waits for them, and
 * searches wait for a limited time. A server that fails does not delay the others and is retried; a server with an
 * invalid config gets the state `failed` and the reason. Throws `config-invalid` for an unknown option, and when
 * `config` does not contain servers by name.
 */
export function connectServers(
  registry: ServersRegistry,
  config: ServersConfig,
  options: ConnectOptions = {},
): ConnectedServers {
  checkOptions('connectServers()', options, CONNECT_RULES)
  const env = options.env ?? process.env
  // Read the config before attaching anything to the registry: after a throw, the caller has no handle to close.
  const wanted = readServers(config, env)
  const hub = new ServerHub(registry, options, [...wanted.keys()])
  hub.replace(wanted)
  return {
    ready: ({ timeoutMs = 30_000 } = {}) => hub.settled({ timeoutMs }).then(() => hub.all()),
    status: () => hub.all(),
    tools: (server) => hub.tools(server),
    info: (server) => hub.info(server),
    findings: () => hub.findings(),
    relock: (lockfile) => hub.relock(lockfile),
    refresh: (server) => hub.refresh(server),
    reload: (next) => hub.reload(() => readServers(next, env)),
    request: (server, request, given = {}) => hub.request(server, request, given),
    notify: (server, notification, given = {}) => hub.notify(server, notification, given),
    attach: (listener) => hub.attach(listener),
    openSession: (sessionKey, client = {}) => hub.openSession(sessionKey, client),
    closeSession: (sessionKey) => hub.closeSession(sessionKey),
    client: (server) => hub.client(server),
    close: () => hub.close(),
  }
}

function readServers({ servers, mcpServers, server }: ServersConfig, env: Environment) {
  // Only the servers: the rest of a loaded config belongs to the registry.
  const given = { servers, mcpServers, server }
  const config = readConfig(given, { env, onBadServer: ({ message }) => ({ problem: message }) })
  return new Map(Object.entries(config.servers))
}
