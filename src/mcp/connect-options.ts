import type { Clock, Schedule } from '../time.ts'
import type { ToolRegistry } from '../tool-registry.ts'
import type { CatalogueCache } from './cache/catalogue-cache.ts'
import type { Environment } from './config/load-config.ts'
import type { ClientOptions } from './connection/connection.ts'
import type { OAuthOptions } from './connection/http/oauth-session.ts'
import type { OpenConnection } from './connection/open-connection.ts'
import type { Lockfile } from './lock/lockfile.ts'
import type { McpEvent } from './mcp-event.ts'

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

/** What servers do to a registry. */
export type ServersRegistry = Pick<
  ToolRegistry,
  'syncMcp' | 'unregisterMcp' | 'attachServers' | 'quarantine' | 'release'
> &
  Partial<Pick<ToolRegistry, 'searcher' | 'emit'>>
