import type { Client } from '@modelcontextprotocol/client'
import type { Finding } from '../finding.ts'
import type { ServerStatus } from '../registry/server-directory.ts'
import { type Environment, readConfig } from './config/load-config.ts'
import type { ServerConfig } from './config/server-config.ts'
import type { ConnectOptions, ServersRegistry } from './connect-options.ts'
import type { ServerInfo } from './connection/connection.ts'
import type { ClientOptions, ServerListener } from './connection/server-messages.ts'
import type { Lockfile } from './lock/lockfile.ts'
import { ServerHub } from './server/server-hub.ts'
import type { RawRequest, RawRequestOptions } from './server/server-requests.ts'
import type { ServerTool } from './server/server-tool.ts'

/** Servers by name, as `loadConfig()` gives them or as clients and editors write them. */
export interface ServersConfig {
  /** As `loadConfig()` and `readConfig()` give them. */
  readonly servers?: Readonly<Record<string, ServerConfig>>
  /** As clients and editors write them in their JSON. */
  readonly mcpServers?: Readonly<Record<string, unknown>>
  /** As in a `toolcrib.toml` that has been parsed. */
  readonly server?: Readonly<Record<string, unknown>>
}

/** The servers of a registry. */
export interface ConnectedServers {
  /** Resolves once no server is connecting, or the time (30,000) is up, with how each is doing. Never rejects. */
  ready(options?: { readonly timeoutMs?: number }): Promise<readonly ServerStatus[]>
  /** How each server is doing, by name. */
  status(): readonly ServerStatus[]
  /** What a server lists, before anything is left out; undefined until that is known. */
  tools(server: string): readonly ServerTool[] | undefined
  /**
   * What a server said of itself: its capabilities, instructions, era and protocol version. Remembered with its tools, so
   * known before it runs; undefined for a server that never ran.
   */
  info(server: string): ServerInfo | undefined
  /** What looks suspicious in the tools that servers list. */
  findings(): readonly Finding[]
  /** Puts another lockfile in force, or none: what it approves comes out of quarantine, the rest goes in. */
  relock(lockfile: Lockfile | undefined): Promise<void>
  /** Takes another config: what changed is restarted, the rest goes on. */
  reload(config: ServersConfig): Promise<void>
  /**
   * Sends any request of the protocol to a server, starting it if need be, and returns the result exactly as it was
   * parsed, unknown fields included; `input_required` results too. All progress is reported before the result. Rejects
   * with the server's own error as a `ServerError` (`code`, `message`, `data`), with the reason of the signal, with
   * `source-unavailable` when there is no such server or it does not answer, and with `definition-changed` for a call of
   * a tool that the lockfile holds back. Policies of the registry are not applied.
   */
  request(server: string, request: RawRequest, options?: RawRequestOptions): Promise<Record<string, unknown>>
  /**
   * Sends a notification, such as `notifications/roots/list_changed`, over the connection there is. Nothing is sent to a
   * server that is not running.
   */
  notify(
    server: string,
    notification: RawRequest,
    options?: { readonly sessionKey?: string | undefined },
  ): Promise<void>
  /**
   * Receives what servers send by themselves over the connections that everybody shares, from now on. Returns how to
   * detach. Notifications reach everyone who is attached, and the `client` of the options. A request is answered by
   * whoever was attached last with an `onRequest`, and else by `client.onRequest` of the options.
   */
  attach(listener: ServerListener): () => void
  /**
   * Opens a session with connections of its own: a request with this `sessionKey` goes to a process or an HTTP session
   * that nobody else uses, which presents itself as `client` and whose questions and notifications go to its handlers
   * alone. Connections are made with the first request to a server, closed when idle, and made again. Throws
   * `config-invalid` when the session is open already.
   */
  openSession(sessionKey: string, client?: Partial<ClientOptions>): void
  /** Closes the connections of a session. Nothing happens when there is no such session. */
  closeSession(sessionKey: string): Promise<void>
  /**
   * The SDK's client of the shared connection to a server; starts the server if need be, and its use keeps the server
   * from being stopped as idle. Call this again rather than keep it: a server that was away has another client. What
   * servers ask and announce goes to `client.onRequest` and `client.onNotification` of the options, not to this client.
   * Rejects with `source-unavailable` when there is no such server, or it cannot be started.
   */
  client(server: string): Promise<Client>
  /** Ends every server and takes their tools out of the registry. Nothing is left running. */
  close(): Promise<void>
}

/**
 * Connects a registry to MCP servers, all at once. It returns before they are connected: `ready()` waits, and so do
 * searches, for a while. A server that fails delays no other, and is tried again; one whose config is invalid is failed,
 * with the reason. Throws `config-invalid` when the servers are not given by name.
 */
export function connectServers(
  registry: ServersRegistry,
  config: ServersConfig,
  options: ConnectOptions = {},
): ConnectedServers {
  const env = options.env ?? process.env
  // Before anything is attached to the registry: nobody could close what a throw leaves behind.
  const wanted = readServers(config, env)
  const hub = new ServerHub(registry, options)
  hub.replace(wanted)
  return {
    ready: ({ timeoutMs = 30_000 } = {}) => hub.settled({ timeoutMs }).then(() => hub.all()),
    status: () => hub.all(),
    tools: (server) => hub.tools(server),
    info: (server) => hub.info(server),
    findings: () => hub.findings(),
    relock: (lockfile) => hub.relock(lockfile),
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
  // Only the servers: what else a loaded config holds is the registry's, and has been read.
  const given = { servers, mcpServers, server }
  const config = readConfig(given, { env, onBadServer: ({ message }) => ({ problem: message }) })
  return new Map(Object.entries(config.servers))
}
