import { version } from '../../../package.json'
import { readClock, type Schedule, scheduleInBackground } from '../../time.ts'
import type { CatalogueCache } from '../cache/catalogue-cache.ts'
import type { ConnectOptions, ServersRegistry } from '../connect-options.ts'
import type { Connection } from '../connection/connection.ts'
import type { OpenRequest } from '../connection/open-connection.ts'
import type { ClientOptions } from '../connection/server-messages.ts'
import { LockGuard } from '../lock/lock-guard.ts'
import { ToolScanner } from '../scan/tool-scanner.ts'
import type { ManagedServer } from './managed-server.ts'
import { ServerListeners } from './server-listeners.ts'

const MAX_MESSAGE_BYTES = 16 * 1024 * 1024

/** What all servers of a registry share. */
export class ServerContext {
  readonly registry: ServersRegistry
  /** The servers there are, each under its name. */
  readonly servers = new Map<string, ManagedServer>()
  /** The sessions with connections of their own, and who those belong to. */
  readonly sessions = new Map<string, ClientOptions>()
  readonly guard: LockGuard
  readonly scanner = new ToolScanner()
  readonly cache: CatalogueCache | undefined
  /** Who listens to the connections that everybody shares. */
  readonly listeners: ServerListeners
  /** Who the connections that everybody shares belong to. */
  readonly client: ClientOptions
  readonly now: () => number
  readonly random: () => number
  readonly schedule: Schedule
  readonly #options: ConnectOptions

  constructor(registry: ServersRegistry, options: ConnectOptions, cache: CatalogueCache | undefined) {
    this.registry = registry
    this.guard = new LockGuard(registry, options.lockfile)
    this.cache = cache
    this.listeners = new ServerListeners(options.client)
    this.client = this.listeners.asClient(this.asClient(options.client ?? {}))
    this.now = readClock(options.clock ?? Date.now)
    this.random = options.random ?? Math.random
    this.schedule = options.schedule ?? scheduleInBackground
    this.#options = options
  }

  /** Who a connection belongs to: toolcrib, but for what is given. */
  asClient(given: Partial<ClientOptions>): ClientOptions {
    return { name: 'toolcrib', version, ...given }
  }

  /** Connects to one server; rejects with the reason. */
  async open(request: OpenRequest): Promise<Connection> {
    const { open, oauth, maxMessageBytes = MAX_MESSAGE_BYTES } = this.#options
    if (open) return open(request)
    // Loaded with the first connection: the SDK takes longer to load than a search of what is remembered.
    const { openConnection } = await import('../connection/open-connection.ts')
    return openConnection(request, {
      env: this.#options.env ?? process.env,
      maxMessageBytes,
      fetch: this.#options.fetch ?? fetch,
      oauth,
      now: this.now,
      schedule: this.schedule,
      platform: process.platform,
    })
  }
}
