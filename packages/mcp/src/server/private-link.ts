import { Deadline, describeError, isTooLate } from '@toolcrib/core/internal'
import type { Connection } from '../connection/connection.ts'
import type { ClientOptions } from '../connection/server-messages.ts'
import { type ConnectionKeeper, ConnectionWatch } from './connection-watch.ts'
import type { Connector } from './connector.ts'
import type { ServerCatalogue } from './server-catalogue.ts'
import { IDLE_MS, type ServerLink } from './server-link.ts'
import type { ServerState } from './server-state.ts'

/**
 * One session's private connection to a server: a process or an HTTP session that is not shared. Opens with the
 * session's first request, closes when idle, and reopens with the next request. Its failures do not affect the
 * server's status.
 */
export class PrivateLink implements ConnectionKeeper {
  readonly idleMs: number
  readonly #key: string
  readonly #client: ClientOptions
  readonly #state: ServerState
  readonly #catalogue: ServerCatalogue
  readonly #shared: ServerLink
  readonly #connector: Connector
  readonly #closing = new AbortController()
  #connecting: Promise<Connection> | undefined
  #live: { readonly connection: Connection; readonly watch: ConnectionWatch } | undefined
  /** The subscriptions of a lost connection. */
  #lostSubscriptions: ReadonlySet<unknown> = new Set()

  constructor(
    session: { readonly key: string; readonly client: ClientOptions },
    server: { readonly state: ServerState; readonly catalogue: ServerCatalogue; readonly shared: ServerLink },
    connector: Connector,
  ) {
    this.idleMs = server.state.config.idleMs ?? IDLE_MS
    this.#key = session.key
    this.#client = session.client
    this.#state = server.state
    this.#catalogue = server.catalogue
    this.#shared = server.shared
    this.#connector = connector
  }

  get isHeld(): boolean {
    return false
  }

  /** The open connection, if any. */
  get current(): Connection | undefined {
    return this.#live?.connection
  }

  /** Returns the connection, opening it if necessary; concurrent callers share one attempt. Rejects with the reason. */
  connected(): Promise<Connection> {
    if (this.#live) {
      this.#live.watch.touch()
      return Promise.resolve(this.#live.connection)
    }
    const { refusal } = this.#state
    if (refusal) return Promise.reject(new Error(refusal.reason))
    this.#connecting ??= this.#connect().finally(() => {
      this.#connecting = undefined
    })
    return this.#connecting
  }

  /** Closes a connection; the next request opens another. */
  drop(connection: Connection): Promise<void> {
    if (this.#live?.connection === connection) {
      this.#live.watch.stop()
      this.#live = undefined
      this.#lostSubscriptions = connection.subscribed
    }
    return connection.close().catch(ignore)
  }

  onIdle(connection: Connection): void {
    void this.drop(connection)
  }

  onSilent(connection: Connection): void {
    void this.drop(connection)
  }

  /** Closes the connection, and any attempt at one, permanently. */
  async close(): Promise<void> {
    this.#closing.abort(new Error('its session was closed'))
    const opening = this.#connecting
    const live = this.#live
    await opening?.then((opened) => opened.close(), ignore)
    if (live) await this.drop(live.connection)
  }

  async #connect(): Promise<Connection> {
    const { signal } = this.#closing
    signal.throwIfAborted()
    const { connectMs } = this.#state
    try {
      const connection = await this.#connector.open({
        server: this.#state.name,
        config: this.#state.runConfig,
        client: this.#client,
        sessionKey: this.#key,
        era: this.#catalogue.info?.era,
        deadline: new Deadline(this.#connector.time.now, connectMs),
        onWarning: (warning) => this.#state.warn(warning),
        onOutput: (line) => this.#state.output(line),
        signal,
      })
      if (signal.aborted) await connection.close()
      signal.throwIfAborted()
      this.#live = { connection, watch: new ConnectionWatch(connection, this, this.#connector.time) }
      connection.onClose(() => void this.drop(connection))
      connection.onToolsChanged(() => this.#catalogue.refreshAfter(connection, this.#shared))
      for (const uri of this.#lostSubscriptions)
        connection.request('resources/subscribe', { uri }, { timeoutMs: connectMs }).catch(ignore)
      return connection
    } catch (cause) {
      const tooLate = `it did not connect within ${connectMs} ms`
      throw new Error(this.#state.presentable(isTooLate(cause) ? tooLate : describeError(cause)), { cause })
    }
  }
}

function ignore(): void {}
