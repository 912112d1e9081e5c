import type { ToolcribEvent } from '../events.ts'
import type { Clock, Schedule } from '../time.ts'
import type { ToolRegistry } from '../tool-registry.ts'
import type { CatalogueCache } from './cache/catalogue-cache.ts'
import type { Environment } from './config/load-config.ts'
import type { OAuthOptions } from './connection/http/oauth-session.ts'
import type { OpenConnection } from './connection/open-connection.ts'
import type { ClientOptions } from './connection/server-messages.ts'
import type { Lockfile } from './lock/lockfile.ts'

/** What happened to a server or on its behalf, as the registry's stream carries it. */
export type McpEvent = Extract<ToolcribEvent, { readonly server: string }>

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
  /**
   * Receives what happens to servers and on their behalf: short for `registry.subscribe()` and the events that name a
   * server. Exceptions are ignored.
   */
  readonly onEvent?: (event: McpEvent) => void
  /** Longer messages are dropped, and their calls fail; 16 MiB. */
  readonly maxMessageBytes?: number
  /**
   * Who the shared connections belong to: the name servers see, what the host can do for them, and who answers their
   * questions. By default it is toolcrib, which offers nothing.
   */
  readonly client?: Partial<ClientOptions>
  /** Reaches servers over HTTP; the platform's own. */
  readonly fetch?: typeof fetch
  /** The time, for pauses and idle servers; the system's. */
  readonly clock?: Clock
  /** Spreads restarts, so that many servers do not come back at once; `Math.random`. */
  readonly random?: () => number
  /** Timers; the platform's, which keep no process alive. */
  readonly schedule?: Schedule
  /** How connections are made; over stdio and HTTP, as a server's config says. */
  readonly open?: OpenConnection
}

/** What servers do to a registry. */
export type ServersRegistry = Pick<
  ToolRegistry,
  'syncMcp' | 'unregisterMcp' | 'attachServers' | 'quarantine' | 'release' | 'subscribe' | 'emit'
> &
  Partial<Pick<ToolRegistry, 'searcher'>>
