import {
  anyFunction,
  anyObject,
  anyText,
  either,
  milliseconds,
  type OptionRules,
  objectWith,
  optionsWith,
  wholeNumber,
} from '../check-options.ts'
import type { ToolcribEvent } from '../events.ts'
import type { Store } from '../store/store.ts'
import type { Clock, Schedule } from '../time.ts'
import type { ToolRegistry } from '../tool-registry.ts'
import type { CatalogueCache } from './cache/catalogue-cache.ts'
import type { Environment } from './config/load-config.ts'
import type { OAuthOptions } from './connection/http/oauth-session.ts'
import type { OpenConnection } from './connection/open-connection.ts'
import type { ClientOptions } from './connection/server-messages.ts'
import type { Lockfile } from './lock/lockfile.ts'
import type { RawRequestOptions } from './server/server-requests.ts'

/** What happened to a server or on its behalf, as the registry's stream carries it. */
export type McpEvent = Extract<ToolcribEvent, { readonly server: string }>

/** How servers are connected. Everything has a default that suits a host on Node. */
export interface ConnectOptions {
  /** The variables that the config refers to and that servers inherit a few of; the process's own. */
  readonly env?: Environment
  /**
   * Keeps what servers offer, so that they need not run until called, the vectors that the registry's searcher made of
   * it, and OAuth tokens. Nothing is kept by default. A store that hangs or fails delays a start by a second at most; it
   * is reported, and tried again with the next change.
   */
  readonly store?: Store
  /** How long catalogues are remembered in `store`; a day. An empty one is remembered for a minute at most. */
  readonly catalogueTtlMs?: number
  /** Remembers catalogues and vectors in place of `store`. */
  readonly cache?: CatalogueCache
  /** Short for `cache: fileCatalogueCache(cacheDirectory)`. */
  readonly cacheDirectory?: string
  /** How servers that require authorization get it; without it they fail with that reason. */
  readonly oauth?: OAuthOptions
  /** What was approved; see `readLockfile()`. A server that differs is not started; a tool that differs is quarantined. */
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
  /** Spreads restarts, so that many servers do not start at once; `Math.random`. */
  readonly random?: () => number
  /** Timers; the platform's, which do not keep the process alive. */
  readonly schedule?: Schedule
  /** How connections are made; over stdio and HTTP, as a server's config says. */
  readonly open?: OpenConnection
}

/** What servers need of a registry. */
export type ServersRegistry = Pick<
  ToolRegistry,
  'syncMcp' | 'unregisterMcp' | 'attachServers' | 'quarantine' | 'release' | 'subscribe' | 'emit'
> &
  Partial<Pick<ToolRegistry, 'searcher'>>

export const CLIENT_RULES: OptionRules<ClientOptions> = {
  name: anyText,
  version: anyText,
  capabilities: anyObject,
  onRequest: anyFunction,
  onNotification: anyFunction,
}

export const CONNECT_RULES: OptionRules<ConnectOptions> = {
  env: anyObject,
  store: objectWith('get', 'set', 'update', 'delete'),
  catalogueTtlMs: wholeNumber({ from: 1 }),
  cache: objectWith('load', 'save'),
  cacheDirectory: anyText,
  oauth: optionsWith<OAuthOptions>({
    store: objectWith('load', 'save'),
    redirectUrl: anyText,
    authorize: anyFunction,
  }),
  lockfile: anyObject,
  onEvent: anyFunction,
  maxMessageBytes: wholeNumber({ from: 1 }),
  client: optionsWith<ClientOptions>(CLIENT_RULES),
  fetch: anyFunction,
  clock: either(anyFunction, objectWith('now')),
  random: anyFunction,
  schedule: anyFunction,
  open: anyFunction,
}

export const REQUEST_RULES: OptionRules<RawRequestOptions> = {
  signal: objectWith('addEventListener'),
  onProgress: anyFunction,
  timeoutMs: milliseconds(),
  sessionKey: anyText,
}
