import { version } from '../../../package.json'
import { ToolcribError } from '../../errors.ts'
import { readClock, type Schedule, scheduleInBackground } from '../../time.ts'
import { type CatalogueCache, fingerprintOf } from '../cache/catalogue-cache.ts'
import { StartFailures } from '../cache/start-failures.ts'
import type { ServerConfig } from '../config/server-config.ts'
import type { ConnectOptions, ServersRegistry } from '../connect-options.ts'
import type { Connection } from '../connection/connection.ts'
import { AuthorizationFlows, type OAuthSettings, TokenStore } from '../connection/http/oauth-session.ts'
import type { OpenRequest } from '../connection/open-connection.ts'
import type { ClientOptions } from '../connection/server-messages.ts'
import { ServerListeners } from '../connection/server-messages.ts'
import { findProgram } from '../lock/find-program.ts'
import { LockGuard } from '../lock/lock-guard.ts'
import { ServerScans } from '../scan/server-scans.ts'
import type { ManagedServer } from './managed-server.ts'

const MAX_MESSAGE_BYTES = 16 * 1024 * 1024

/** What all servers of a registry share. */
export class ServerContext {
  readonly registry: ServersRegistry
  /** The current servers, by name. */
  readonly servers = new Map<string, ManagedServer>()
  /** The sessions with private connections, and the client of each. */
  readonly sessions = new Map<string, ClientOptions>()
  readonly guard: LockGuard
  readonly scans: ServerScans
  readonly cache: CatalogueCache | undefined
  /** Listens to the shared connections. */
  readonly listeners: ServerListeners
  /** The client of the shared connections. */
  readonly client: ClientOptions
  readonly now: () => number
  readonly random: () => number
  readonly schedule: Schedule
  /** Shared by all servers with OAuth. */
  #flows: AuthorizationFlows | undefined
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
    this.scans = new ServerScans(this.schedule)
    this.#options = options
  }

  /** Fills in the defaults of a client. */
  asClient(given: Partial<ClientOptions>): ClientOptions {
    return { name: 'toolcrib', version, ...given }
  }

  /** The remembered failed starts of a server; undefined without a store. */
  failuresOf(server: string, config: ServerConfig): StartFailures | undefined {
    const { store } = this.#options
    if (!store) return undefined
    const place = { cwd: process.cwd(), env: this.#options.env ?? process.env }
    return new StartFailures(store, fingerprintOf(server, config), {
      now: this.now,
      schedule: this.schedule,
      findProgram: () => findProgram(config, place),
    })
  }

  /** false: stored data about servers is only replaced, not used. */
  get isRemembering(): boolean {
    return this.#options.remembered ?? true
  }

  /** Connects to one server; rejects with the reason. */
  async open(request: OpenRequest): Promise<Connection> {
    const { open } = this.#options
    return open ? open(request, (direct) => this.#openDirectly(direct)) : this.#openDirectly(request)
  }

  async #openDirectly(request: OpenRequest): Promise<Connection> {
    const { maxMessageBytes = MAX_MESSAGE_BYTES } = this.#options
    // Loaded with the first connection: loading the SDK takes longer than a search of cached tools.
    const { openConnection } = await import('../connection/open-connection.ts')
    return openConnection(request, {
      env: this.#options.env ?? process.env,
      maxMessageBytes,
      fetch: this.#options.fetch ?? fetch,
      oauth: this.#oauth(),
      now: this.now,
      schedule: this.schedule,
      platform: process.platform,
    })
  }

  #oauth(): OAuthSettings | undefined {
    const { oauth, store } = this.#options
    if (!oauth) return undefined
    const tokens = oauth.store ?? store
    if (!tokens)
      throw new ToolcribError(
        'config-invalid',
        'oauth needs a store for its tokens; pass store, or oauth.store',
      )
    this.#flows ??= new AuthorizationFlows()
    return { ...oauth, store: new TokenStore(tokens), flows: this.#flows }
  }
}
