import type { Clock, ProgressNote, Schedule, Store, ToolcribEvent, ToolRegistry } from '@toolcrib/core'
import {
  anyFunction,
  anyObject,
  anyText,
  either,
  milliseconds,
  type OptionRules,
  objectWith,
  optionsWith,
  trueOrFalse,
  wholeNumber,
} from '@toolcrib/core/internal'
import type { Environment } from './config/server-config.ts'
import type { OpenConnection } from './connection/connect.ts'
import type { OAuthOptions } from './connection/http/oauth-session.ts'
import type { ClientOptions } from './connection/server-messages.ts'
import type { Lockfile } from './lock/lockfile.ts'

/** An event about a server, as carried by the registry's event stream. */
export type McpEvent = Extract<ToolcribEvent, { readonly server: string }>

/** Options of `connectServers()`. Every option has a default that suits a host on Node. */
export interface ConnectOptions {
  /** Variables for the config to refer to; servers inherit a few of them. Default: `process.env`. */
  readonly env?: Environment
  /**
   * Stores server catalogues, so that servers need not run until called, the search vectors computed from them, failed
   * starts, and OAuth tokens. By default nothing is stored. A store that hangs or fails delays startup by at most a second; the
   * failure is reported, and the next change is saved again.
   */
  readonly store?: Store
  /** How long catalogues stay valid in `store`. Default: one day. Empty catalogues stay valid for at most a minute. */
  readonly catalogueTtlMs?: number
  /**
   * false: stored data about servers is only replaced, not used, so that every server is started and asked for its
   * tools. Default: true.
   */
  readonly remembered?: boolean
  /**
   * true: a server that failed to start in an earlier process is started at once, because a person asked for it. Default:
   * false, so that it is tried again in the background; see `failure()`.
   */
  readonly retryFailed?: boolean
  /** How to authorize with servers that require it. Without it, connecting to such a server fails. */
  readonly oauth?: OAuthOptions
  /**
   * The approved definitions; see `readLockfile()`. A server that differs is not started; a tool that differs is
   * quarantined.
   */
  readonly lockfile?: Lockfile | undefined
  /** Receives every event about a server; shorthand for `registry.subscribe()` and a filter. Exceptions are ignored. */
  readonly onEvent?: (event: McpEvent) => void
  /** Longer messages are dropped, and the calls they answer fail. Default: 16 MiB. */
  readonly maxMessageBytes?: number
  /**
   * How the shared connections present themselves: client name, capabilities, and handlers for server requests.
   * Default: the name "toolcrib", without capabilities.
   */
  readonly client?: Partial<ClientOptions>
  /** Used for HTTP servers. Default: the global `fetch`. */
  readonly fetch?: typeof fetch
  /** Used for pauses and idle timeouts. Default: the system clock. */
  readonly clock?: Clock
  /** Adds jitter to restarts, so that many servers do not start at once. Default: `Math.random`. */
  readonly random?: () => number
  /** Starts timers. Default: platform timers that do not keep the process alive. */
  readonly schedule?: Schedule
  /** Opens a connection; see `connectOver()`. Default: stdio or HTTP, depending on the server's config. */
  readonly open?: OpenConnection
}

/** The part of `ToolRegistry` that servers use. */
export type ServersRegistry = Pick<
  ToolRegistry,
  'syncMcp' | 'unregisterMcp' | 'attachServers' | 'quarantine' | 'release' | 'sourceOf' | 'subscribe' | 'emit'
> &
  Partial<Pick<ToolRegistry, 'searcher' | 'prepareMcp'>>

/** A protocol request or notification, as it is sent. */
export interface RawRequest {
  readonly method: string
  readonly params?: Readonly<Record<string, unknown>> | undefined
}

/** Limits of one request, and the connection to use. */
export interface RawRequestOptions {
  /** Cancels the request, on the server too; it rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined
  /** Requests progress reports. All of them arrive before the result; exceptions are ignored. */
  readonly onProgress?: ((progress: ProgressNote) => void) | undefined
  /**
   * Answers each question of a modern server, which then gets the request again with the answers. Without it, the questions
   * are the result. Rejects the request if it rejects.
   */
  readonly onQuestion?: ((question: RawRequest) => Promise<unknown>) | undefined
  /**
   * How long the server may be silent; 0 = no limit. Default: `timeout_ms` of its config. Progress restarts it, up to
   * ten times as long in total.
   */
  readonly timeoutMs?: number | undefined
  /** The session whose private connection to use; see `openSession()`. Default: the shared connection. */
  readonly sessionKey?: string | undefined
}

const STORE = objectWith('get', 'set', 'update', 'delete')

export const CLIENT_RULES: OptionRules<ClientOptions> = {
  name: anyText,
  version: anyText,
  capabilities: anyObject,
  onRequest: anyFunction,
  onNotification: anyFunction,
}

export const CONNECT_RULES: OptionRules<ConnectOptions> = {
  env: anyObject,
  store: STORE,
  catalogueTtlMs: wholeNumber({ from: 1 }),
  remembered: trueOrFalse,
  retryFailed: trueOrFalse,
  oauth: optionsWith<OAuthOptions>({
    store: STORE,
    redirectUrl: anyText,
    clientMetadataUrl: {
      expected: 'an https URL with a path',
      accepts: (value) =>
        typeof value === 'string' && /^https:\/\/[^/]+\/./.test(value) && URL.canParse(value),
    },
    authorize: anyFunction,
    requireConsent: anyFunction,
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
  onQuestion: anyFunction,
  timeoutMs: milliseconds(),
  sessionKey: anyText,
}
