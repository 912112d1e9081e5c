import type { Client } from '@modelcontextprotocol/client'
import { version } from '../../package.json'
import { type Clock, readClock } from '../clock.ts'
import { ToolcribError } from '../errors.ts'
import { canonicalJson } from '../json.ts'
import type { ServerStatus } from '../registry/server-directory.ts'
import type { ToolRegistry } from '../tool-registry.ts'
import { type CatalogueCache, fileCatalogueCache } from './catalogue-cache.ts'
import { type Environment, readConfig } from './config/load-config.ts'
import type { ServerConfig } from './config/server-config.ts'
import type { ClientOptions } from './connection.ts'
import type { OAuthOptions } from './http/oauth-session.ts'
import { type KeptVectors, keepVectors } from './kept-vectors.ts'
import { LockGuard } from './lock/lock-guard.ts'
import type { Lockfile } from './lock/lockfile.ts'
import { ManagedServer } from './managed-server.ts'
import type { EmitMcp, McpEvent } from './mcp-event.ts'
import { connectionOpener, type OpenConnection } from './open-connection.ts'
import type { Finding } from './scan/finding.ts'
import { ToolScanner } from './scan/tool-scanner.ts'
import { type Schedule, scheduleWithTimers } from './schedule.ts'
import type { ServerTool } from './server-tool.ts'

/** Servers by name, as `loadConfig()` gives them or as clients and editors write them. */
export interface ServersConfig {
  /** As `loadConfig()` and `readConfig()` give them. */
  readonly servers?: Readonly<Record<string, ServerConfig>>
  /** As clients and editors write them in their JSON. */
  readonly mcpServers?: Readonly<Record<string, unknown>>
  /** As in a `toolcrib.toml` that has been parsed. */
  readonly server?: Readonly<Record<string, unknown>>
}

/** How servers are connected. Everything has a default that suits a host on Node. */
export interface ConnectOptions {
  /** What variables in the config mean, and where servers inherit their few from; the process's own. */
  readonly env?: Environment
  /**
   * Remembers what servers offer, so that they need not run until called, and the vectors that the registry's searcher
   * made of it. None by default.
   */
  readonly cache?: CatalogueCache
  /** Short for `cache: fileCatalogueCache(cacheDirectory)`. */
  readonly cacheDirectory?: string
  /** How servers that ask for authorization get it; without it they fail with that reason. */
  readonly oauth?: OAuthOptions
  /** What was approved; see `readLockfile()`. Whatever differs from it is not started, or held in quarantine. */
  readonly lockfile?: Lockfile | undefined
  /** Hears what happens to servers and on their behalf. One that throws harms nobody. */
  readonly onEvent?: (event: McpEvent) => void
  /** Longer messages are dropped, and their calls fail; 16 MiB. */
  readonly maxMessageBytes?: number
  /** Who servers are told is calling, and what the host can do for them; toolcrib by itself, which can do nothing. */
  readonly client?: Partial<ClientOptions>
  /** Reaches servers over HTTP; the platform's own. */
  readonly fetch?: typeof fetch
  /** The time, for pauses, idle servers and events; the system's. */
  readonly clock?: Clock
  /** Spreads restarts, so that many servers do not come back at once; `Math.random`. */
  readonly random?: () => number
  /** Timers; the platform's, which keep no process alive. */
  readonly schedule?: Schedule
  /** How connections are made; over stdio and HTTP, as a server's config says. */
  readonly open?: OpenConnection
}

/** The servers of a registry. */
export interface ConnectedServers {
  /** Resolves once no server is connecting, or the time (30,000) is up, with how each is doing. Never rejects. */
  ready(options?: { readonly timeoutMs?: number }): Promise<readonly ServerStatus[]>
  /** How each server is doing, by name. */
  status(): readonly ServerStatus[]
  /** What a server lists, before anything is left out; undefined until that is known. */
  tools(server: string): readonly ServerTool[] | undefined
  /** What looks suspicious in the tools that servers list. */
  findings(): readonly Finding[]
  /** Puts another lockfile in force, or none: what it approves comes out of quarantine, the rest goes in. */
  relock(lockfile: Lockfile | undefined): Promise<void>
  /** Takes another config: what changed is restarted, the rest goes on. */
  reload(config: ServersConfig): Promise<void>
  /**
   * The SDK's client of one server, for what goes beyond tools; starts the server if need be, and its use keeps the
   * server from being stopped as idle. Ask again rather than keep it: a server that was away has another client.
   * Rejects with `source-unavailable` when there is no such server, or it cannot be started.
   */
  client(server: string): Promise<Client>
  /** Ends every server and takes their tools out of the registry. Nothing is left running. */
  close(): Promise<void>
}

/** What servers do to a registry. */
export type ServersRegistry = Pick<
  ToolRegistry,
  'syncMcp' | 'unregisterMcp' | 'attachServers' | 'quarantine' | 'release'
> &
  Partial<Pick<ToolRegistry, 'searcher'>>

/**
 * Connects a registry to MCP servers, all at once. It answers before they are connected: `ready()` waits, and so do
 * searches, for a while. A server that fails keeps nobody else waiting, and is tried again; one whose config makes no
 * sense is failed, with the reason. Throws `config-invalid` when there are no servers by name where they should be.
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
    ready: ({ timeoutMs = 30_000 } = {}) => hub.settled({ timeoutMs }).then(() => hub.statuses()),
    status: () => hub.statuses(),
    tools: (server) => hub.tools(server),
    findings: () => hub.findings(),
    relock: (lockfile) => hub.relock(lockfile),
    reload: (next) => hub.reload(() => readServers(next, env)),
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

class ServerHub {
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
    this.#schedule = options.schedule ?? scheduleWithTimers
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
    let stop = ignore
    const expired = new Promise<void>((resolve) => {
      stop = this.#schedule(timeoutMs, resolve)
    })
    await Promise.race([Promise.all(awaited.map((server) => server.settled())), expired])
    stop()
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
    const { client, oauth, maxMessageBytes = 16 * 1024 * 1024 } = this.#options
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
