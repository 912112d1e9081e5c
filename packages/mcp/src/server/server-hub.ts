import type { Client } from '@modelcontextprotocol/client'
import type {
  Finding,
  Schedule,
  ServerDirectory,
  ServerStatus,
  ToolContext,
  ToolResult,
} from '@toolcrib/core'
import { ToolcribError } from '@toolcrib/core'
import { canonicalJson, checkOptions, describeError, sharedSlices, waitAtMost } from '@toolcrib/core/internal'
import { version } from '../../package.json'
import { CatalogueCache, fingerprintOf } from '../cache/catalogue-cache.ts'
import { type KeptVectors, keepVectors } from '../cache/kept-vectors.ts'
import { type StartFailure, StartFailures } from '../cache/start-failures.ts'
import { enabledServers, readServers } from '../config/read-servers.ts'
import type { Environment, ServerConfig } from '../config/server-config.ts'
import type { RawRequest, RawRequestOptions } from '../connect-options.ts'
import { CLIENT_RULES, type ConnectOptions, REQUEST_RULES, type ServersRegistry } from '../connect-options.ts'
import type { ConnectedServers, ServersConfig } from '../connected-servers.ts'
import type { ServerInfo } from '../connection/connection.ts'
import { type ClientOptions, type ServerListener, ServerListeners } from '../connection/server-messages.ts'
import type { ItemKind, ListKind, ServerItem } from '../listed/server-item.ts'
import type { ServerTool } from '../listed/server-tool.ts'
import { findProgram } from '../lock/find-program.ts'
import { LockGuard } from '../lock/lock-guard.ts'
import type { Lockfile } from '../lock/lockfile.ts'
import { ServerScans } from '../scan/server-scans.ts'
import { Connector } from './connector.ts'
import type { ToolCaller } from './listed-tools.ts'
import { ManagedServer, type ManagedServerOptions } from './managed-server.ts'
import type { ItemList } from './server-items.ts'

/** The servers of a registry, by name. */
export class ServerHub implements ConnectedServers, ServerDirectory, ToolCaller {
  readonly #registry: ServersRegistry
  readonly #guard: LockGuard
  readonly #scans: ServerScans
  /** Listens to the shared connections. */
  readonly #listeners: ServerListeners
  readonly #schedule: Schedule
  readonly #options: Omit<ManagedServerOptions, 'caller'>
  /** The current servers, by name. */
  readonly #servers = new Map<string, ManagedServer>()
  /** The sessions with private connections, and the client of each. */
  readonly #sessions = new Map<string, ClientOptions>()
  readonly #vectors: KeptVectors | undefined
  readonly #env: Environment
  readonly #detach: () => void
  readonly #unsubscribe: (() => void) | undefined
  #turn: Promise<void> = Promise.resolve()
  #isClosed = false

  constructor(registry: ServersRegistry, options: ConnectOptions, servers: readonly string[]) {
    this.#env = options.env ?? process.env
    const cache = cacheOf(options, servers)
    const connector = new Connector(options)
    const { now, schedule } = connector.time
    this.#schedule = schedule
    this.#registry = registry
    this.#guard = new LockGuard(registry, options.lockfile)
    this.#scans = new ServerScans(schedule, sharedSlices)
    this.#listeners = new ServerListeners(options.client)
    const { store } = options
    const place = { cwd: process.cwd(), env: this.#env }
    this.#options = {
      ...{ registry, cache, connector, guard: this.#guard, scans: this.#scans },
      clients: {
        shared: this.#listeners.asClient(asClient(options.client ?? {})),
        ofSessions: this.#sessions,
      },
      random: options.random ?? Math.random,
      isRemembering: (options.remembered ?? true) && options.retryFailed !== true,
      failuresOf: (server, config) =>
        store &&
        new StartFailures(store, fingerprintOf(server, config), {
          ...{ now, schedule },
          findProgram: () => findProgram(config, place),
        }),
    }
    this.#vectors = cache && keepVectors(registry.searcher, cache, { schedule, emit: registry.emit })
    this.#detach = registry.attachServers(this)
    const { onEvent } = options
    this.#unsubscribe =
      onEvent && registry.subscribe((event) => ('server' in event ? onEvent(event) : undefined))
  }

  async ready({
    timeoutMs,
    waitForDownloads = timeoutMs === undefined,
    servers,
  }: {
    timeoutMs?: number
    waitForDownloads?: boolean
    servers?: readonly string[]
  } = {}): Promise<readonly ServerStatus[]> {
    await this.settled({ timeoutMs: timeoutMs ?? 30_000, ...(servers ? { servers } : {}) })
    const downloading = this.#awaited(servers).filter(({ status }) => waitForDownloads && 'detail' in status)
    await Promise.all(downloading.map((server) => server.settled()))
    return this.status()
  }

  status(): readonly ServerStatus[] {
    return this.#all.map(({ status }) => status)
  }

  /** Every server's status, for searches. */
  statuses(): readonly ServerStatus[] {
    return this.#all.map(({ statusForSearch }) => statusForSearch)
  }

  tools(server: string): readonly ServerTool[] | undefined {
    return this.#servers.get(server)?.tools
  }

  info(server: string): ServerInfo | undefined {
    return this.#servers.get(server)?.info
  }

  mayAsk(server: string): boolean {
    return this.#servers.get(server)?.config.asks !== false
  }

  maxResultTokens(server: string): number | undefined {
    return this.#servers.get(server)?.config.maxResultTokens
  }

  instructions(server: string): string | undefined {
    return this.#servers.get(server)?.instructions
  }

  async list(server: string, kind: ListKind, options: RawRequestOptions = {}): Promise<ItemList> {
    checkOptions('list()', options, REQUEST_RULES)
    return this.#find(server).requests.list(kind, options)
  }

  async items(server: string): Promise<ReadonlyMap<ItemKind, readonly ServerItem[]>> {
    return (await this.#servers.get(server)?.items()) ?? new Map()
  }

  failure(server: string): StartFailure | undefined {
    return this.#servers.get(server)?.restingAfter
  }

  findings(options?: { readonly soFar?: boolean }): readonly Finding[] {
    return this.#scans.findings(options)
  }

  async relock(lockfile: Lockfile | undefined): Promise<void> {
    this.#guard.replace(lockfile)
    await Promise.all(this.#all.map((server) => server.recheck()))
  }

  async refresh(server: string): Promise<void> {
    await this.#servers.get(server)?.refresh()
  }

  async settled({ servers, timeoutMs }: { servers?: readonly string[]; timeoutMs: number }): Promise<void> {
    const settled = this.#awaited(servers).map((server) => server.settled())
    await waitAtMost(timeoutMs, settled, this.#schedule)
  }

  #awaited(servers: readonly string[] | undefined): readonly ManagedServer[] {
    return this.#all.filter(({ name }) => servers?.includes(name) !== false)
  }

  /** Starts new and changed servers; resolves once those they replaced have ended. */
  replace(servers: ReadonlyMap<string, ServerConfig>): Promise<void> {
    const wanted = new Map(servers)
    const ended = new Map<string, Promise<void>>()
    for (const server of this.#all) {
      const { name } = server
      const next = wanted.get(name)
      if (next && canonicalJson(next) === canonicalJson(server.config)) {
        wanted.delete(name)
        continue
      }
      ended.set(name, server.close())
      if (next) continue
      this.#servers.delete(name)
      this.#remove(name)
      this.#scans.forget(name)
    }
    for (const [name, next] of wanted) this.#start(name, next, ended.get(name))
    this.#order([...servers.keys()])
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
    return this.#find(server).requests.send(request, options)
  }

  async notify(
    server: string,
    notification: RawRequest,
    options: { readonly sessionKey?: string | undefined } = {},
  ): Promise<void> {
    await this.#find(server).requests.notify(notification, options)
  }

  async callTool(server: string, tool: ServerTool, input: unknown, ctx: ToolContext): Promise<ToolResult> {
    const current = this.#servers.get(server)
    if (current) return current.requests.call(tool, input, ctx)
    const error = `server "${server}" is disconnected: it was closed`
    return { ok: false, code: 'not_available', error }
  }

  attach(listener: ServerListener): () => void {
    return this.#listeners.attach(listener)
  }

  openSession(sessionKey: string, client: Partial<ClientOptions> = {}): void {
    checkOptions('openSession()', client, CLIENT_RULES)
    if (this.#sessions.has(sessionKey))
      throw new ToolcribError('config-invalid', `session "${sessionKey}" is already open`)
    this.#sessions.set(sessionKey, asClient(client))
  }

  async closeSession(sessionKey: string): Promise<void> {
    this.#sessions.delete(sessionKey)
    await Promise.all(this.#all.map((server) => server.requests.closeSession(sessionKey)))
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
    const servers = this.#all
    this.#servers.clear()
    this.#sessions.clear()
    for (const { name } of servers) this.#remove(name)
    await Promise.all([written, ...servers.map((server) => server.close())])
    // Last: what is found until then is saved.
    for (const { name } of servers) this.#scans.forget(name)
    this.#unsubscribe?.()
  }

  get #all(): readonly ManagedServer[] {
    return [...this.#servers.values()]
  }

  /** Keeps the servers in the order of the config, as they would be after a restart. */
  #order(names: readonly string[]): void {
    for (const name of names) {
      const server = this.#servers.get(name)
      this.#servers.delete(name)
      if (server) this.#servers.set(name, server)
    }
  }

  #find(name: string): ManagedServer {
    const server = this.#servers.get(name)
    if (server) return server
    throw new ToolcribError('source-unavailable', `unknown server "${name}"; status() lists the servers`)
  }

  #remove(name: string): void {
    this.#registry.unregisterMcp(name)
    this.#guard.forget(name)
  }

  #start(name: string, config: ServerConfig, predecessor: Promise<void> | undefined): void {
    const server = new ManagedServer(name, config, { ...this.#options, caller: this })
    this.#servers.set(name, server)
    // Load the vectors first, or the tools would be embedded needlessly.
    server.start(this.#vectors ? Promise.all([predecessor, this.#vectors.loaded]).then(ignore) : predecessor)
  }
}

/** Fills in the defaults of a client. */
function asClient(given: Partial<ClientOptions>): ClientOptions {
  return { name: 'toolcrib', version, ...given }
}

function cacheOf(
  { store, catalogueTtlMs, remembered }: ConnectOptions,
  servers: readonly string[],
): CatalogueCache | undefined {
  return store && new CatalogueCache(store, { ttlMs: catalogueTtlMs, servers, isRead: remembered })
}

function ignore(): void {}

/** The servers of a config that are enabled. */
export function serversIn(
  { servers, mcpServers, server }: ServersConfig,
  env: Environment,
): ReadonlyMap<string, ServerConfig> {
  // Only these keys: the rest of a loaded config belongs to the registry.
  const given = { servers, mcpServers, server }
  const read = readServers(given, { env, onBadServer: ({ message }) => ({ problem: message }) })
  return new Map(Object.entries(enabledServers(read)))
}
