import type { Client } from '@modelcontextprotocol/client'
import { version } from '../../../package.json'
import { ToolcribError } from '../../errors.ts'
import type { Finding } from '../../finding.ts'
import { canonicalJson } from '../../json.ts'
import type { ServerStatus } from '../../registry/server-directory.ts'
import { readClock, type Schedule, scheduleInBackground, waitAtMost } from '../../time.ts'
import { type CatalogueCache, fileCatalogueCache } from '../cache/catalogue-cache.ts'
import { type KeptVectors, keepVectors } from '../cache/kept-vectors.ts'
import type { Environment } from '../config/load-config.ts'
import type { ServerConfig } from '../config/server-config.ts'
import type { ConnectOptions, ServersRegistry } from '../connect-options.ts'
import type { OpenConnection } from '../connection/open-connection.ts'
import { LockGuard } from '../lock/lock-guard.ts'
import type { Lockfile } from '../lock/lockfile.ts'
import type { EmitMcp } from '../mcp-event.ts'
import { ToolScanner } from '../scan/tool-scanner.ts'
import { ManagedServer } from './managed-server.ts'
import type { ServerTool } from './server-tool.ts'

/** The servers of a registry, each under its name. */
export class ServerHub {
  readonly #registry: ServersRegistry
  readonly #options: ConnectOptions
  readonly #env: Environment
  readonly #now: () => number
  readonly #schedule: Schedule
  readonly #open: OpenConnection
  readonly #cache: CatalogueCache | undefined
  readonly #vectors: KeptVectors | undefined
  readonly #servers = new Map<string, ManagedServer>()
  readonly #guard: LockGuard
  readonly #scanner = new ToolScanner()
  readonly #detach: () => void
  #turn: Promise<void> = Promise.resolve()
  #isClosed = false

  constructor(registry: ServersRegistry, options: ConnectOptions) {
    this.#registry = registry
    this.#guard = new LockGuard(registry, options.lockfile)
    this.#options = options
    this.#env = options.env ?? process.env
    this.#now = readClock(options.clock ?? Date.now)
    this.#schedule = options.schedule ?? scheduleInBackground
    this.#cache =
      options.cache ?? (options.cacheDirectory ? fileCatalogueCache(options.cacheDirectory) : undefined)
    this.#vectors = keepVectors(registry.searcher, this.#cache, this.#schedule)
    this.#open = options.open ?? this.#opener()
    this.#detach = registry.attachServers({
      statuses: () => [...this.#servers.values()].map(seenBySearch),
      settled: ({ servers, timeoutMs }) => this.settled({ timeoutMs, ...(servers ? { servers } : {}) }),
    })
  }

  statuses(): readonly ServerStatus[] {
    return [...this.#servers.values()].map(({ status }) => status)
  }

  tools(server: string): readonly ServerTool[] | undefined {
    return this.#servers.get(server)?.tools
  }

  findings(): readonly Finding[] {
    return this.#scanner.findings()
  }

  async relock(lockfile: Lockfile | undefined): Promise<void> {
    this.#guard.replace(lockfile)
    await Promise.all([...this.#servers.values()].map((server) => server.recheck()))
  }

  async settled({ servers, timeoutMs }: { servers?: readonly string[]; timeoutMs: number }): Promise<void> {
    const awaited = [...this.#servers.values()].filter(({ name }) => servers?.includes(name) !== false)
    await waitAtMost(
      timeoutMs,
      awaited.map((server) => server.settled()),
      this.#schedule,
    )
  }

  /** Starts what is new or changed, and answers once what it replaced has ended. */
  replace(servers: ReadonlyMap<string, ServerConfig>): Promise<void> {
    const wanted = new Map(servers)
    const ended = new Map<string, Promise<void>>()
    for (const [name, server] of this.#servers) {
      const next = wanted.get(name)
      if (next && canonicalJson(next) === canonicalJson(server.config)) {
        wanted.delete(name)
        continue
      }
      ended.set(name, server.close())
      if (next) continue
      this.#servers.delete(name)
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

  async client(name: string): Promise<Client> {
    const server = this.#servers.get(name)
    if (!server) throw new ToolcribError('source-unavailable', `there is no server "${name}"; see status()`)
    try {
      return await server.client()
    } catch (cause) {
      const reason = cause instanceof Error ? cause.message : String(cause)
      throw new ToolcribError('source-unavailable', `server "${name}" is disconnected: ${reason}`, { cause })
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true
    await this.#turn
    this.#detach()
    // Before the tools go: of what is not there nothing is written.
    const written = this.#vectors?.close()
    const servers = [...this.#servers.values()]
    this.#servers.clear()
    for (const { name } of servers) this.#remove(name)
    await Promise.all([written, ...servers.map((server) => server.close())])
  }

  #remove(name: string): void {
    this.#registry.unregisterMcp(name)
    this.#guard.forget(name)
    this.#scanner.forget(name)
  }

  #start(name: string, config: ServerConfig, forerunner: Promise<void> | undefined): void {
    const emit = this.#emitterOf(name)
    const server = new ManagedServer(name, config, {
      registry: this.#registry,
      open: this.#open,
      cache: this.#cache,
      emit,
      guard: this.#guard,
      onTools: (tools) => {
        for (const finding of this.#scanner.see(name, tools)) emit({ type: 'tool-suspicious', finding })
      },
      now: this.#now,
      random: this.#options.random ?? Math.random,
      schedule: this.#schedule,
      call: async (tool, input, ctx) => {
        const current = this.#servers.get(name)
        if (current) return current.call(tool, input, ctx)
        return { ok: false, code: 'not_available', error: `server "${name}" is disconnected: it was closed` }
      },
    })
    this.#servers.set(name, server)
    // Vectors first, or the tools would be embedded before it is known that they need not be.
    server.start(this.#vectors ? Promise.all([forerunner, this.#vectors.loaded]).then(ignore) : forerunner)
  }

  #emitterOf(server: string): EmitMcp {
    return (event) => {
      try {
        this.#options.onEvent?.({ ...event, server, at: this.#now() })
      } catch {
        // A listener that fails is no reason for a server to.
      }
    }
  }

  #opener(): OpenConnection {
    let opener: Promise<OpenConnection> | undefined
    return async (request) => {
      opener ??= this.#loadOpener()
      return (await opener)(request)
    }
  }

  /** Loaded with the first connection: the SDK takes longer than searching what is remembered. */
  async #loadOpener(): Promise<OpenConnection> {
    const { client, oauth, maxMessageBytes = 16 * 1024 * 1024 } = this.#options
    const { connectionOpener } = await import('../connection/open-connection.ts')
    return connectionOpener({
      client: { name: 'toolcrib', version, ...client },
      env: this.#env,
      maxMessageBytes,
      fetch: this.#options.fetch ?? fetch,
      oauth,
      schedule: this.#schedule,
      platform: process.platform,
    })
  }
}

/** A server whose tools are known already keeps no search waiting while its process starts. */
function seenBySearch(server: ManagedServer): ServerStatus {
  const { status } = server
  return status.state === 'connecting' && !server.isAwaited ? { server: server.name, state: 'cold' } : status
}

function ignore(): void {}
