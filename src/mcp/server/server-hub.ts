import type { Client } from '@modelcontextprotocol/client'
import { checkOptions } from '../../check-options.ts'
import { describeError, ToolcribError } from '../../errors.ts'
import type { Finding } from '../../finding.ts'
import { canonicalJson } from '../../json.ts'
import type { ServerDirectory, ServerStatus } from '../../registry/server-directory.ts'
import { waitAtMost } from '../../time.ts'
import { type CatalogueCache, catalogueCacheIn, fileCatalogueCache } from '../cache/catalogue-cache.ts'
import { type KeptVectors, keepVectors } from '../cache/kept-vectors.ts'
import type { ServerConfig } from '../config/server-config.ts'
import { CLIENT_RULES, type ConnectOptions, REQUEST_RULES, type ServersRegistry } from '../connect-options.ts'
import type { ServerInfo } from '../connection/connection.ts'
import type { ClientOptions, ServerListener } from '../connection/server-messages.ts'
import type { Lockfile } from '../lock/lockfile.ts'
import { ManagedServer } from './managed-server.ts'
import { ServerContext } from './server-context.ts'
import type { RawRequest, RawRequestOptions } from './server-requests.ts'
import type { ServerTool } from './server-tool.ts'

/** The servers of a registry, by name. */
export class ServerHub implements ServerDirectory {
  readonly #context: ServerContext
  readonly #vectors: KeptVectors | undefined
  readonly #detach: () => void
  readonly #unsubscribe: (() => void) | undefined
  #turn: Promise<void> = Promise.resolve()
  #isClosed = false

  constructor(registry: ServersRegistry, options: ConnectOptions, servers: readonly string[]) {
    const cache = cacheOf(options, servers)
    this.#context = new ServerContext(registry, options, cache)
    const { schedule } = this.#context
    this.#vectors = keepVectors(registry.searcher, cache, { schedule, emit: registry.emit })
    this.#detach = registry.attachServers(this)
    const { onEvent } = options
    this.#unsubscribe =
      onEvent && registry.subscribe((event) => ('server' in event ? onEvent(event) : undefined))
  }

  /** Every server's status. */
  all(): readonly ServerStatus[] {
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

  findings(): readonly Finding[] {
    return this.#context.scanner.findings()
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

  reload(read: () => ReadonlyMap<string, ServerConfig>): Promise<void> {
    const done = this.#turn.then(() => (this.#isClosed ? undefined : this.replace(read())))
    this.#turn = done.catch(ignore)
    return done
  }

  async request(
    server: string,
    request: RawRequest,
    options: RawRequestOptions,
  ): Promise<Record<string, unknown>> {
    checkOptions('request()', options, REQUEST_RULES)
    return this.#find(server).request(request, options)
  }

  async notify(
    server: string,
    notification: RawRequest,
    options: { readonly sessionKey?: string | undefined },
  ): Promise<void> {
    await this.#find(server).notify(notification, options)
  }

  attach(listener: ServerListener): () => void {
    return this.#context.listeners.attach(listener)
  }

  openSession(sessionKey: string, client: Partial<ClientOptions>): void {
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
    this.#context.scanner.forget(name)
  }

  #start(name: string, config: ServerConfig, predecessor: Promise<void> | undefined): void {
    const server = new ManagedServer(name, config, this.#context)
    this.#context.servers.set(name, server)
    // Load the vectors first, or the tools would be embedded needlessly.
    server.start(this.#vectors ? Promise.all([predecessor, this.#vectors.loaded]).then(ignore) : predecessor)
  }
}

function cacheOf(
  { cache, store, cacheDirectory, catalogueTtlMs }: ConnectOptions,
  servers: readonly string[],
): CatalogueCache | undefined {
  if (cache) return cache
  if (store) return catalogueCacheIn(store, { ttlMs: catalogueTtlMs, servers })
  return cacheDirectory === undefined ? undefined : fileCatalogueCache(cacheDirectory)
}

function ignore(): void {}
