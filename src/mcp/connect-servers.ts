import type { Client } from '@modelcontextprotocol/client'
import { checkOptions } from '../check-options.ts'
import { describeError, ToolcribError } from '../errors.ts'
import type { Finding } from '../finding.ts'
import { canonicalJson } from '../json.ts'
import type { ServerDirectory, ServerStatus } from '../registry/server-directory.ts'
import { waitAtMost } from '../time.ts'
import { CatalogueCache } from './cache/catalogue-cache.ts'
import { type KeptVectors, keepVectors } from './cache/kept-vectors.ts'
import type { StartFailure } from './cache/start-failures.ts'
import { enabledServers, readServers } from './config/read-servers.ts'
import type { Environment, ServerConfig } from './config/server-config.ts'
import {
  CLIENT_RULES,
  CONNECT_RULES,
  type ConnectOptions,
  REQUEST_RULES,
  type ServersRegistry,
} from './connect-options.ts'
import type { ServerInfo } from './connection/connection.ts'
import type { ClientOptions, ServerListener } from './connection/server-messages.ts'
import type { Lockfile } from './lock/lockfile.ts'
import { ManagedServer } from './server/managed-server.ts'
import { ServerContext } from './server/server-context.ts'
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
  /**
   * Resolves with every server's status once none is connecting, or after `timeoutMs` (30,000); with `servers`, once none
   * of these is. Never rejects.
   */
  ready(options?: {
    readonly timeoutMs?: number
    readonly servers?: readonly string[]
  }): Promise<readonly ServerStatus[]>
  /** Every server's status. */
  status(): readonly ServerStatus[]
  /** All tools that a server lists, before `allow` and `deny` apply; undefined until they are known. */
  tools(server: string): readonly ServerTool[] | undefined
  /**
   * The server's capabilities, instructions, era and protocol version. Cached with its tools, so available before it
   * runs; undefined for a server that has never run.
   */
  info(server: string): ServerInfo | undefined
  /**
   * Why an earlier process could not start a server, as remembered in the store. While it is defined, the server is
   * `failed` and was not started; requests and `client()` start it in any case.
   */
  failure(server: string): StartFailure | undefined
  /** Suspicious findings in the tools that servers list. */
  findings(): readonly Finding[]
  /** Replaces the lockfile; undefined removes it. Tools that it approves leave quarantine, all others enter it. */
  relock(lockfile: Lockfile | undefined): Promise<void>
  /** Applies another config: changed servers restart, the others keep running. */
  reload(config: ServersConfig): Promise<void>
  /**
   * Reads a server's tools again: from the server if it is running, otherwise from the store. For hosts that learn of a
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
   * Receives unprompted messages of servers over the shared connections, from now on. Returns a function that detaches
   * it. Notifications reach every attached listener, and the `client` of the options. A request goes to the last
   * attached listener with an `onRequest`, otherwise to `client.onRequest` of the options.
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
  // Read the config before attaching anything to the registry: after a throw, the caller has no handle to close.
  const wanted = serversIn(config, options.env ?? process.env)
  const servers = new ServerHub(registry, options, [...wanted.keys()])
  servers.replace(wanted)
  return servers
}

function serversIn(
  { servers, mcpServers, server }: ServersConfig,
  env: Environment,
): ReadonlyMap<string, ServerConfig> {
  // Only these keys: the rest of a loaded config belongs to the registry.
  const given = { servers, mcpServers, server }
  const read = readServers(given, { env, onBadServer: ({ message }) => ({ problem: message }) })
  return new Map(Object.entries(enabledServers(read)))
}

/** The servers of a registry, by name. */
class ServerHub implements ConnectedServers, ServerDirectory {
  readonly #context: ServerContext
  readonly #vectors: KeptVectors | undefined
  readonly #env: Environment
  readonly #detach: () => void
  readonly #unsubscribe: (() => void) | undefined
  #turn: Promise<void> = Promise.resolve()
  #isClosed = false

  constructor(registry: ServersRegistry, options: ConnectOptions, servers: readonly string[]) {
    this.#env = options.env ?? process.env
    const cache = cacheOf(options, servers)
    this.#context = new ServerContext(registry, options, cache)
    const { schedule } = this.#context
    this.#vectors = cache && keepVectors(registry.searcher, cache, { schedule, emit: registry.emit })
    this.#detach = registry.attachServers(this)
    const { onEvent } = options
    this.#unsubscribe =
      onEvent && registry.subscribe((event) => ('server' in event ? onEvent(event) : undefined))
  }

  async ready({
    timeoutMs = 30_000,
    servers,
  }: {
    timeoutMs?: number
    servers?: readonly string[]
  } = {}): Promise<readonly ServerStatus[]> {
    await this.settled({ timeoutMs, ...(servers ? { servers } : {}) })
    return this.status()
  }

  status(): readonly ServerStatus[] {
    return this.#servers().map(({ status }) => status)
  }

  /** Every server's status, for searches. */
  statuses(): readonly ServerStatus[] {
    return this.#servers().map(({ statusForSearch }) => statusForSearch)
  }

  tools(server: string): readonly ServerTool[] | undefined {
    return this.#context.servers.get(server)?.tools
  }

  info(server: string): ServerInfo | undefined {
    return this.#context.servers.get(server)?.info
  }

  failure(server: string): StartFailure | undefined {
    return this.#context.servers.get(server)?.restingAfter
  }

  findings(): readonly Finding[] {
    return this.#context.scans.findings()
  }

  async relock(lockfile: Lockfile | undefined): Promise<void> {
    this.#context.guard.replace(lockfile)
    await Promise.all(this.#servers().map((server) => server.recheck()))
  }

  async refresh(server: string): Promise<void> {
    await this.#context.servers.get(server)?.refresh()
  }

  async settled({ servers, timeoutMs }: { servers?: readonly string[]; timeoutMs: number }): Promise<void> {
    const awaited = this.#servers().filter(({ name }) => servers?.includes(name) !== false)
    await waitAtMost(
      timeoutMs,
      awaited.map((server) => server.settled()),
      this.#context.schedule,
    )
  }

  /** Starts new and changed servers; resolves once those they replaced have ended. */
  replace(servers: ReadonlyMap<string, ServerConfig>): Promise<void> {
    const wanted = new Map(servers)
    const ended = new Map<string, Promise<void>>()
    for (const server of this.#servers()) {
      const { name } = server
      const next = wanted.get(name)
      if (next && canonicalJson(next) === canonicalJson(server.config)) {
        wanted.delete(name)
        continue
      }
      ended.set(name, server.close())
      if (next) continue
      this.#context.servers.delete(name)
      this.#remove(name)
    }
    for (const [name, next] of wanted) this.#start(name, next, ended.get(name))
    return Promise.all(ended.values()).then(ignore)
  }

  reload(config: ServersConfig): Promise<void> {
    const done = this.#turn.then(() =>
      this.#isClosed ? undefined : this.replace(serversIn(config, this.#env)),
    )
    this.#turn = done.catch(ignore)
    return done
  }

  async request(
    server: string,
    request: RawRequest,
    options: RawRequestOptions = {},
  ): Promise<Record<string, unknown>> {
    checkOptions('request()', options, REQUEST_RULES)
    return this.#find(server).request(request, options)
  }

  async notify(
    server: string,
    notification: RawRequest,
    options: { readonly sessionKey?: string | undefined } = {},
  ): Promise<void> {
    await this.#find(server).notify(notification, options)
  }

  attach(listener: ServerListener): () => void {
    return this.#context.listeners.attach(listener)
  }

  openSession(sessionKey: string, client: Partial<ClientOptions> = {}): void {
    checkOptions('openSession()', client, CLIENT_RULES)
    const { sessions } = this.#context
    if (sessions.has(sessionKey))
      throw new ToolcribError('config-invalid', `session "${sessionKey}" is already open`)
    sessions.set(sessionKey, this.#context.asClient(client))
  }

  async closeSession(sessionKey: string): Promise<void> {
    this.#context.sessions.delete(sessionKey)
    await Promise.all(this.#servers().map((server) => server.closeSession(sessionKey)))
  }

  async client(name: string): Promise<Client> {
    const server = this.#find(name)
    try {
      return await server.client()
    } catch (cause) {
      const reason = `server "${name}" is disconnected: ${describeError(cause)}`
      throw new ToolcribError('source-unavailable', reason, { cause })
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true
    await this.#turn
    this.#detach()
    // Before removing the tools: vectors of removed tools are not saved.
    const written = this.#vectors?.close()
    const servers = this.#servers()
    this.#context.servers.clear()
    this.#context.sessions.clear()
    for (const { name } of servers) this.#remove(name)
    await Promise.all([written, ...servers.map((server) => server.close())])
    this.#unsubscribe?.()
  }

  #servers(): readonly ManagedServer[] {
    return [...this.#context.servers.values()]
  }

  #find(name: string): ManagedServer {
    const server = this.#context.servers.get(name)
    if (server) return server
    throw new ToolcribError('source-unavailable', `unknown server "${name}"; status() lists the servers`)
  }

  #remove(name: string): void {
    this.#context.registry.unregisterMcp(name)
    this.#context.guard.forget(name)
    this.#context.scans.forget(name)
  }

  #start(name: string, config: ServerConfig, predecessor: Promise<void> | undefined): void {
    const server = new ManagedServer(name, config, this.#context)
    this.#context.servers.set(name, server)
    // Load the vectors first, or the tools would be embedded needlessly.
    server.start(this.#vectors ? Promise.all([predecessor, this.#vectors.loaded]).then(ignore) : predecessor)
  }
}

function cacheOf(
  { store, catalogueTtlMs, remembered }: ConnectOptions,
  servers: readonly string[],
): CatalogueCache | undefined {
  return store && new CatalogueCache(store, { ttlMs: catalogueTtlMs, servers, isRead: remembered })
}

function ignore(): void {}
