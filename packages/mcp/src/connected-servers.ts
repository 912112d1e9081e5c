import type { Client } from '@modelcontextprotocol/client'
import type { Finding, ServerStatus } from '@toolcrib/core'
import type { StartFailure } from './cache/start-failures.ts'
import type { ServerConfig } from './config/server-config.ts'
import type { RawRequest, RawRequestOptions } from './connect-options.ts'
import type { ServerInfo } from './connection/connection.ts'
import type { ClientOptions, ServerListener } from './connection/server-messages.ts'
import type { ItemKind, ListKind, ServerItem } from './listed/server-item.ts'
import type { ServerTool } from './listed/server-tool.ts'
import type { Lockfile } from './lock/lockfile.ts'
import type { ItemList } from './server/server-items.ts'

/** Servers by name, in any of these forms. */
export interface ServersConfig {
  /** In the form that `loadConfig()` and `readConfig()` return. */
  readonly servers?: Readonly<Record<string, ServerConfig>>
  /** In the JSON form that MCP clients and editors use. */
  readonly mcpServers?: Readonly<Record<string, unknown>>
  /** In the form of a parsed `toolcrib.toml`. */
  readonly server?: Readonly<Record<string, unknown>>
}

/** The servers of a registry. */
export interface ConnectedServers {
  /**
   * Resolves with every server's status once none is connecting, or after `timeoutMs` (30,000); with `servers`, once none
   * of these is. A server that is being downloaded is waited for until it is there or fails, unless there is a
   * `timeoutMs`; with one, only if `waitForDownloads` is true. Never rejects.
   */
  ready(options?: {
    readonly timeoutMs?: number
    readonly waitForDownloads?: boolean
    readonly servers?: readonly string[]
  }): Promise<readonly ServerStatus[]>
  /** Every server's status, in the order of the config. */
  status(): readonly ServerStatus[]
  /** All tools that a server lists, before `allow` and `deny` apply; undefined until they are known. */
  tools(server: string): readonly ServerTool[] | undefined
  /**
   * The server's capabilities, instructions, era and protocol version. Cached with its tools, so available before it
   * runs; undefined for a server that has never run.
   */
  info(server: string): ServerInfo | undefined
  /** Whether a server may ask its clients questions: false with `asks = false` in its config. */
  mayAsk(server: string): boolean
  /** The most tokens of a result of a server, as its config says. */
  maxResultTokens(server: string): number | undefined
  /** A server's instructions, unless the lockfile holds them back; undefined if there are none, or none are known. */
  instructions(server: string): string | undefined
  /**
   * Lists the prompts, resources or templates of a server, starting it if necessary, up to 10,000. Of items with the
   * same name or URI only the first is returned. What the lockfile holds back has a `heldBecause`: do not show it.
   * Rejects as `request()` does if the server cannot be reached.
   */
  list(server: string, kind: ListKind, options?: RawRequestOptions): Promise<ItemList>
  /**
   * What a server offers besides tools, approved or not, for `observeServers()`. A running server is asked, at most every
   * 30 s; what is unknown is missing.
   */
  items(server: string): Promise<ReadonlyMap<ItemKind, readonly ServerItem[]>>
  /**
   * Why an earlier process could not start a server, as remembered in the store. While it is defined, the server is
   * `failed` and was not started; requests and `client()` start it in any case.
   */
  failure(server: string): StartFailure | undefined
  /**
   * Suspicious findings in what servers list: tools, and whatever else was listed so far. A long list is scanned in slices after
   * it was read; this finishes the scan at once, which may take seconds, unless `soFar` is true.
   */
  findings(options?: { readonly soFar?: boolean }): readonly Finding[]
  /** Replaces the lockfile; undefined removes it. Tools that it approves leave quarantine, all others enter it. */
  relock(lockfile: Lockfile | undefined): Promise<void>
  /** Applies another config: changed servers restart, the others keep running. */
  reload(config: ServersConfig): Promise<void>
  /**
   * Reads a server's tools again: from the server if it is running, otherwise from the store. For hosts that learn of a
   * change elsewhere. Does nothing for an unknown server.
   */
  refresh(server: string): Promise<void>
  /**
   * Sends any protocol request to a server, starting it if necessary, and returns the result as parsed, including
   * unknown fields and `input_required` results, without hidden characters unless the server is `lossless`. Lists of
   * tools, prompts and resources contain them in any case. All progress is reported before the result. Rejects with
   * the server's own error as a `ServerError` (`code`, `message`, `data`), with the signal's reason, with
   * `source-unavailable` when the server is unknown or does not respond, and with `definition-changed` when the
   * lockfile quarantines the tool, prompt or resource. Registry policies do not apply.
   */
  request(server: string, request: RawRequest, options?: RawRequestOptions): Promise<Record<string, unknown>>
  /**
   * Sends a notification, such as `notifications/roots/list_changed`, over the existing connection. Does nothing when
   * the server is not running.
   */
  notify(
    server: string,
    notification: RawRequest,
    options?: { readonly sessionKey?: string | undefined },
  ): Promise<void>
  /**
   * Receives unprompted messages of servers over the shared connections, from now on. Returns a function that detaches
   * it. Notifications reach every attached listener, and the `client` of the options. A request goes to the last
   * attached listener with an `onRequest`, otherwise to `client.onRequest` of the options.
   */
  attach(listener: ServerListener): () => void
  /**
   * Opens a session with private connections: requests with this `sessionKey` use a process or an HTTP session that
   * is not shared, presents itself as `client`, and sends its requests and notifications only to the client's
   * handlers. A connection opens with the first request to its server, closes when idle, and reopens on demand.
   * Throws `config-invalid` when the session is already open.
   */
  openSession(sessionKey: string, client?: Partial<ClientOptions>): void
  /** Closes the connections of a session. Does nothing when the session does not exist. */
  closeSession(sessionKey: string): Promise<void>
  /**
   * Returns the SDK client of the shared connection to a server, starting the server if necessary. Using the client
   * keeps the server from being stopped as idle. Call this method each time instead of keeping the client: a
   * restarted server has a new one. Server requests and notifications go to `client.onRequest` and
   * `client.onNotification` of the options, not to this client. Rejects with `source-unavailable` when the server is
   * unknown or cannot be started.
   */
  client(server: string): Promise<Client>
  /** Stops every server and removes their tools from the registry. No process is left running. */
  close(): Promise<void>
}
