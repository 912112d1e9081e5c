import type { Mode, ToolRegistry } from 'toolcrib'
import type { ConnectedServers, Profile, Schedule } from 'toolcrib/mcp'
import type { Announcements, Store } from 'toolcrib/stores'

/** What a gateway serves, to whom, and within which limits. */
export interface GatewayOptions {
  /** Every tool there is. Calls, searches and lists go through its sessions. */
  readonly registry: ToolRegistry
  /** The servers of that registry. The gateway does not close them. */
  readonly servers: ConnectedServers
  /** Where sessions of older clients are kept, to continue after a restart; nothing is kept without it. */
  readonly store?: Store | undefined
  /**
   * Reaches the other replicas of this gateway, which use the same `store`. Without it, calls that wait for an answer and
   * cancellations have to come to the replica that has the call.
   */
  readonly announcements?: Announcements | undefined
  /** Called when another replica has read its config or lockfile again, and after announcements were missed. */
  readonly onReload?: (() => void) | undefined
  /**
   * Who may connect. With an empty list, or none, everybody who can reach the handler may: only for a handler that is
   * reachable from this machine alone.
   */
  readonly tokens?: readonly GatewayToken[] | undefined
  /** Takes tokens of an OAuth issuer instead of `tokens`. */
  readonly oauth?: GatewayOAuth | undefined
  /** What the clients of `/mcp/<profile>`, and of tokens bound to a profile, see. */
  readonly profiles?: Readonly<Record<string, Profile>> | undefined
  /** How many tools a client is shown; a profile's own `mode` wins. The registry's mode when absent. */
  readonly mode?: Mode | undefined
  /**
   * prefixed (default): `<server>__<tool>`; plain: the server's own name where only one server has it. Prompts
   * likewise. Calls find their tool by any of its names, whichever is listed.
   */
  readonly names?: NameStyle | undefined
  /**
   * Host names under which the gateway is reached, without ports; `localhost`, `127.0.0.1` and `[::1]` by default. A
   * request for any other host is refused, and so is one from a web page of any other origin.
   */
  readonly hosts?: readonly string[] | undefined
  /** Origins of web pages that may send requests, besides pages of the gateway's own address; none by default. */
  readonly origins?: readonly string[] | undefined
  readonly limits?: GatewayLimits | undefined
  /** Servers known to ask their clients for something (sampling, elicitation, roots); others are noticed when they do. */
  readonly askingServers?: readonly string[] | undefined
  /** What clients are shown as the name and version of the server. */
  readonly serverInfo?: { readonly name: string; readonly version: string } | undefined
  /** Called for failures that are not reported to any client. Never with a token. Exceptions are ignored. */
  readonly onWarning?: ((warning: string) => void) | undefined
  /** How to use the gateway, as clients read it, before what servers say about themselves. */
  readonly instructions?: string | undefined
  /** Receives a line for each request, each session that opens or ends, and each warning, with secrets masked. */
  readonly logger?: GatewayLogger | undefined
  /** The time in milliseconds; `Date.now`. */
  readonly now?: (() => number) | undefined
  /** Timers; the platform's, which keep no process alive. */
  readonly schedule?: Schedule | undefined
  /** Makes session ids and handles; random UUIDs. */
  readonly newId?: (() => string) | undefined
}

/** A logger such as pino's. Exceptions are ignored. */
export interface GatewayLogger {
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
}

/** How tools are named in lists: `prefixed` as `server__tool`; `plain` by the server's own name where only one server has it. */
export type NameStyle = 'prefixed' | 'plain'

/** A token that a client sends as `Authorization: Bearer …`. */
export interface GatewayToken {
  readonly token: string
  /** The only profile it opens. Any profile, and none, when absent. */
  readonly profile?: string | undefined
  /** What metrics and the status call its owner; `client-1`, `client-2` … when absent. */
  readonly name?: string | undefined
}

/** The gateway as an OAuth 2.1 resource server. Tokens are JWTs, signed with a private key of the issuer. */
export interface GatewayOAuth {
  /** The URL of `/mcp` as clients reach it. */
  readonly resource: string
  /** The authorization server, as the `iss` claim has it. */
  readonly issuer: string
  /** What tokens must be made for; `resource`, or the address of a profile below it, when absent. */
  readonly audience?: string | undefined
  /** Where the keys of the issuer are; found through the issuer's metadata when absent. */
  readonly jwksUri?: string | undefined
  /** The profile that each scope opens; null opens every profile, and `/mcp` itself. A token needs one of them. */
  readonly scopes: Readonly<Record<string, string | null>>
}

/** Where the gateway says no. 0 lifts a limit, except for those in bytes and milliseconds. */
export interface GatewayLimits {
  /** The largest body of a request; 4 MiB. */
  readonly maxBodyBytes?: number | undefined
  /** Keys, objects and lists in the body of a request; 50,000. It may have ten times as many list items. */
  readonly maxBodyKeys?: number | undefined
  /** How long a client may take to send a body; 30,000. */
  readonly bodyTimeoutMs?: number | undefined
  /** HTTP requests at once, over all clients, streams that only listen not counted; 2,000. */
  readonly maxRequests?: number | undefined
  /** Sessions of older clients; the one that was idle the longest makes room. 2,000. */
  readonly maxSessions?: number | undefined
  /** How long a session of an older client is kept without a request; 24 hours. */
  readonly sessionIdleMs?: number | undefined
  /** Calls under way for one client: one token, or everybody when there are none; 1,000. */
  readonly maxCallsPerClient?: number | undefined
  /** Calls that one client may start in a minute; no limit. */
  readonly callsPerMinute?: number | undefined
  /** Calls under way at one server; 64. */
  readonly maxCallsPerServer?: number | undefined
  /** Calls that wait for their turn at one server; 1,000. */
  readonly maxQueuedPerServer?: number | undefined
  /** Calls that wait for an answer of their client; 500. */
  readonly maxParked?: number | undefined
  /** How long a call waits for an answer of its client; 10 minutes. */
  readonly askTimeoutMs?: number | undefined
  /** How long a list waits for a server that starts or answers slowly, before it shows what is known; 3,000. */
  readonly listWaitMs?: number | undefined
  /** How long `close()` waits for calls that are under way; 10,000. */
  readonly drainMs?: number | undefined
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
  maxParked: 500,
  askTimeoutMs: 10 * 60 * 1_000,
  listWaitMs: 3_000,
  drainMs: 10_000,
}
