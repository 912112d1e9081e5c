import type { Mode, ToolRegistry } from '@toolcrib/core'
import type { ConnectedServers, Profile, Schedule } from '@toolcrib/mcp'
import type { Announcements, Store } from '@toolcrib/mcp/stores'
import type { PendingApproval } from './approvals/approval-book.ts'
import type { AuditOptions } from './audit/audit-log.ts'

/** What a gateway serves, to whom, and within which limits. */
export interface GatewayOptions {
  /** The registry to serve. Calls, searches and lists go through its sessions. */
  readonly registry: ToolRegistry
  /** The servers of that registry, which the gateway does not close. Without them it serves the host's own tools. */
  readonly servers?: ConnectedServers | undefined
  /** Keeps the sessions of older clients, so that they continue after a restart; without it, nothing is kept. */
  readonly store?: Store | undefined
  /**
   * Connects the replicas of this gateway, which use the same `store`. Without it, answers and cancellations must reach
   * the replica that runs the call.
   */
  readonly announcements?: Announcements | undefined
  /** Called when another replica has read its config or lockfile again, and after announcements were missed. */
  readonly onReload?: (() => void) | undefined
  /** Who may connect. With an empty or absent list, anybody who can reach the handler may; do this only on loopback. */
  readonly tokens?: readonly GatewayToken[] | undefined
  /** Accepts clients with tokens of an OAuth issuer; `tokens` are then only operators'. */
  readonly oauth?: GatewayOAuth | undefined
  /** What the clients of `/mcp/<profile>`, and of tokens bound to a profile, see. */
  readonly profiles?: Readonly<Record<string, Profile>> | undefined
  /** How many tools clients see; a profile's `mode` takes precedence. Default: the registry's mode. */
  readonly mode?: Mode | undefined
  /**
   * prefixed (default): `<server>__<tool>`; plain: the server's own name if only one server has it. Prompts likewise.
   * Calls may use any name of a tool, whichever is listed.
   */
  readonly names?: NameStyle | undefined
  /**
   * Host names that clients use, without ports; default: `localhost`, `127.0.0.1` and `[::1]`. Requests for other hosts
   * are refused, and so are requests from web pages of other origins.
   */
  readonly hosts?: readonly string[] | undefined
  /** Origins of web pages that may send requests, besides the gateway's own address. Default: none. */
  readonly origins?: readonly string[] | undefined
  readonly limits?: GatewayLimits | undefined
  /** Servers known to ask their clients questions (sampling, elicitation, roots); others are noticed when they do. */
  readonly askingServers?: readonly string[] | undefined
  /** The server name and version that clients see. */
  readonly serverInfo?: { readonly name: string; readonly version: string } | undefined
  /**
   * Called for failures that are not reported to any client. The text never contains a token. Exceptions are ignored.
   */
  readonly onWarning?: ((warning: string) => void) | undefined
  /** Called for each call that begins to wait for a person who is not the client's user. Exceptions are ignored. */
  readonly onPending?: ((pending: PendingApproval) => void) | undefined
  /** What the user always allows, where it is kept. Default: the grant rests in the store, for the token that was asked. */
  readonly alwaysAllowed?: AllowedTools | undefined
  /** Records every call of a tool in a folder. Default: none. */
  readonly audit?: AuditOptions | undefined
  /** Instructions for clients; they precede those of the servers. */
  readonly instructions?: string | undefined
  /** Receives a line for each request, each session that opens or ends, and each warning, with secrets masked. */
  readonly logger?: GatewayLogger | undefined
  /** The time in milliseconds. Default: `Date.now`. */
  readonly now?: (() => number) | undefined
  /** Timers. Default: the platform's, which do not keep a process alive. */
  readonly schedule?: Schedule | undefined
  /** Creates session ids and handles. Default: random UUIDs. */
  readonly newId?: (() => string) | undefined
}

/** Tools that run without a question while their definition stays the same. For gateways with one user. */
export interface AllowedTools {
  /** The hash of each tool's definition, by its registered name. */
  list(): Readonly<Record<string, string>>
  /** Adds a tool, or removes it. */
  set(tool: string, definition: string | undefined): Promise<void>
}

/** The options of a gateway that has its servers. */
export type ServedOptions = GatewayOptions & { readonly servers: ConnectedServers }

/** A logger such as pino's. Exceptions are ignored. */
export interface GatewayLogger {
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
}

/** How tools are named in lists: `prefixed` as `server__tool`; `plain` by the server's own name where only one server has it. */
export type NameStyle = 'prefixed' | 'plain'

/** A token, sent as `Authorization: Bearer …`: of a client, which opens `/mcp`, or of an operator. */
export interface GatewayToken {
  readonly token: string
  /** The only profile it opens. Default: every profile, and `/mcp` itself. */
  readonly profile?: string | undefined
  /** The name of its owner in metrics and the status. Default: `client-1`, `client-2` … */
  readonly name?: string | undefined
  /** true: it opens the page, its API and `/metrics`, and not `/mcp`. Default: false, a client's. */
  readonly operator?: boolean | undefined
}

/** The gateway as an OAuth 2.1 resource server. Tokens are JWTs, signed with a private key of the issuer. */
export interface GatewayOAuth {
  /** The URL of `/mcp` as clients reach it. */
  readonly resource: string
  /** The authorization server, as in the `iss` claim. */
  readonly issuer: string
  /** The required audience of tokens. Default: `resource`, or the address of a profile below it. */
  readonly audience?: string | undefined
  /** The scope that opens the page, its API and `/metrics`. Default: none does. */
  readonly operatorScope?: string | undefined
  /** The address of the issuer's keys. Default: found through the issuer's metadata. */
  readonly jwksUri?: string | undefined
  /**
   * The profile that each scope opens; null opens every profile, and `/mcp` itself. A token needs at least one of these
   * scopes.
   */
  readonly scopes: Readonly<Record<string, string | null>>
}

/** The limits of a gateway. 0 means no limit, except for those in bytes and milliseconds. */
export interface GatewayLimits {
  /** The largest body of a request; 4 MiB. */
  readonly maxBodyBytes?: number | undefined
  /** Keys, objects and lists in the body of a request; 50,000. It may have ten times as many list items. */
  readonly maxBodyKeys?: number | undefined
  /** How long a client may take to send a body; 30,000. */
  readonly bodyTimeoutMs?: number | undefined
  /** Concurrent HTTP requests of all clients, not counting streams that only listen; 2,000. */
  readonly maxRequests?: number | undefined
  /** Sessions of older clients; beyond it, the token with the most loses the one that was idle the longest. 2,000. */
  readonly maxSessions?: number | undefined
  /** How long a session of an older client is kept without a request; 24 hours. */
  readonly sessionIdleMs?: number | undefined
  /** Concurrent calls of one client, that is, of one token, or of everybody without tokens; 1,000. */
  readonly maxCallsPerClient?: number | undefined
  /** Calls that one client may start per minute; no limit. */
  readonly callsPerMinute?: number | undefined
  /** Concurrent calls at one server; 64. */
  readonly maxCallsPerServer?: number | undefined
  /** Calls that wait for their turn at one server; 1,000. */
  readonly maxQueuedPerServer?: number | undefined
  /**
   * Private connections to one server that asks its clients questions, each a process or a session of its own; 128. One
   * token has three quarters of them at most. Beyond it, calls wait as with `maxCallsPerServer`.
   */
  readonly maxConnectionsPerServer?: number | undefined
  /** Calls that wait for an answer of their client; 500. */
  readonly maxParked?: number | undefined
  /** How long a call waits for an answer of its client; 10 minutes. */
  readonly askTimeoutMs?: number | undefined
  /**
   * How long a call waits for a person's approval when its client's user cannot be asked; 45,000. It can be approved until
   * `askTimeoutMs`, for when it is made again.
   */
  readonly askWaitMs?: number | undefined
  /**
   * The most tokens of text that a result may have; what is longer is shortened, and `read_result` reads the whole for an
   * hour. A profile and a server may have a limit of their own. Default: none.
   */
  readonly maxResultTokens?: number | undefined
  /** How long a list waits for a slow server before it shows what is known; 3,000. */
  readonly listWaitMs?: number | undefined
  /** How long `close()` waits for calls in flight; 10,000. */
  readonly drainMs?: number | undefined
}

/** The time and the ids that a gateway uses. */
export interface GatewayTime {
  readonly now: () => number
  readonly schedule: Schedule
  readonly newId: () => string
}

export type Limits = { readonly [Key in keyof GatewayLimits]-?: number }

export const DEFAULT_LIMITS: Limits = {
  maxBodyBytes: 4 * 1024 * 1024,
  maxBodyKeys: 50_000,
  bodyTimeoutMs: 30_000,
  maxRequests: 2_000,
  maxSessions: 2_000,
  sessionIdleMs: 24 * 60 * 60 * 1_000,
  maxCallsPerClient: 1_000,
  callsPerMinute: 0,
  maxCallsPerServer: 64,
  maxQueuedPerServer: 1_000,
  maxConnectionsPerServer: 128,
  maxParked: 500,
  askTimeoutMs: 10 * 60 * 1_000,
  askWaitMs: 45_000,
  maxResultTokens: 0,
  listWaitMs: 3_000,
  drainMs: 10_000,
}
