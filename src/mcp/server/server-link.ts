import { describeError } from '../../errors.ts'
import { Timers } from '../../time.ts'
import type { Connection } from '../connection/connection.ts'
import { Deadline, isTooLate } from '../connection/deadline.ts'
import { type ConnectionKeeper, ConnectionWatch } from './connection-watch.ts'
import { RestartPolicy } from './restart-policy.ts'
import type { ServerCatalogue } from './server-catalogue.ts'
import type { ServerContext } from './server-context.ts'
import type { ServerState } from './server-state.ts'

export const IDLE_MS = 300_000

/** The connection to one server: made when it is wanted, watched while it lasts, made again after a failure. */
export class ServerLink implements ConnectionKeeper {
  readonly idleMs: number
  readonly #state: ServerState
  readonly #catalogue: ServerCatalogue
  readonly #context: ServerContext
  readonly #restarts: RestartPolicy
  readonly #timers: Timers<'retry' | 'pause'>
  readonly #closing = new AbortController()
  readonly #endings = new Set<Promise<void>>()
  #live: LiveConnection | undefined
  #connecting: Promise<Connection> | undefined
  #holders = 0

  constructor(state: ServerState, catalogue: ServerCatalogue, context: ServerContext) {
    const { start, idleMs = IDLE_MS } = state.config
    this.idleMs = start === 'eager' ? 0 : idleMs
    this.#state = state
    this.#catalogue = catalogue
    this.#context = context
    this.#restarts = new RestartPolicy(context)
    this.#timers = new Timers(context.schedule)
  }

  get isClosed(): boolean {
    return this.#closing.signal.aborted
  }

  get isHeld(): boolean {
    return this.#holders > 0
  }

  /** The connection there is, if there is one. */
  get current(): Connection | undefined {
    return this.#live?.connection
  }

  /** The connection, made if there is none; one attempt for all who wait. Rejects with the reason. */
  connected(): Promise<Connection> {
    const doubts = this.#live?.watch.doubts
    if (doubts) return doubts.then(() => this.connected())
    if (this.#live) {
      this.#live.watch.touch()
      return Promise.resolve(this.#live.connection)
    }
    const { refusal } = this.#state
    if (refusal !== undefined) return Promise.reject(new Error(refusal))
    this.#connecting ??= this.#connect().finally(() => {
      this.#connecting = undefined
    })
    return this.#connecting
  }

  /** Settles once no attempt to connect is under way. */
  async settled(): Promise<void> {
    await this.#connecting?.catch(ignore)
  }

  /** Keeps the server from being stopped as idle, until the returned function is called. */
  hold(): () => void {
    this.#holders++
    return () => {
      this.#holders--
      this.#live?.watch.touch()
    }
  }

  /** Makes sure that a server which left a call unanswered still lives, before it gets another. */
  doubt(connection: Connection): void {
    if (this.#live?.connection === connection) this.#live.watch.doubt()
  }

  /** Lets a connection go without counting it as a failure. */
  async drop(connection: Connection): Promise<void> {
    if (this.#live?.connection !== connection) return
    this.#release()
    this.#state.set('cold')
    await this.#end(connection)
  }

  onIdle(connection: Connection): void {
    void this.drop(connection)
  }

  onSilent(connection: Connection, reason: string): void {
    this.#lost(connection, reason)
  }

  /** Neither runs the server nor keeps its tools: its config is invalid, or nobody approved it. */
  async refuse(refusal: string): Promise<void> {
    this.#catalogue.drop()
    this.#timers.stop('retry')
    const connection = this.#release()
    this.#state.set('failed', refusal)
    if (connection) await this.#end(connection)
  }

  /** Ends the connection, and any attempt at one, for good. */
  async close(): Promise<void> {
    this.#timers.stopAll()
    this.#closing.abort(new Error('it was closed'))
    const opening = this.#connecting
    const connection = this.#release()
    if (connection) void this.#end(connection)
    await opening?.then((opened) => opened.close(), ignore)
    await Promise.all(this.#endings)
  }

  async #connect(): Promise<Connection> {
    await this.#waitForTurn()
    const state = this.#state
    const { status } = state
    // One that failed counts as failed until it is back: nobody waits for it again and again.
    if (status.state !== 'failed') state.set('connecting')
    const startedAt = this.#context.now()
    const deadline = new Deadline(this.#context.now, state.connectMs)
    let opened: Connection | undefined
    try {
      state.throwIfRefused()
      opened = await this.#open(deadline)
      await this.#prepare(opened, deadline)
      state.throwIfRefused()
    } catch (error) {
      // That the connection closed says less than why it did.
      const cause = opened?.isClosed ? new Error(opened.closedBecause, { cause: error }) : error
      await opened?.close().catch(ignore)
      const reason = this.#noteFailure(cause)
      // Why it cannot be started again may say little; why it died says more.
      const before = status.state === 'failed' && status.reason !== reason ? status.reason : undefined
      throw new Error(before === undefined ? reason : `${reason} (before that: ${before})`, { cause })
    }
    this.#adopt(opened, startedAt)
    return opened
  }

  /** Waits out the pause after a failure, but not the long one after many. */
  async #waitForTurn(): Promise<void> {
    const { signal } = this.#closing
    signal.throwIfAborted()
    const { pauseMs, isTripped } = this.#restarts
    if (pauseMs === 0) return
    if (isTripped) {
      const { status } = this.#state
      const reason = status.state === 'failed' ? status.reason : 'it failed'
      throw new Error(`${reason}; it failed too often, and is tried again in ${Math.ceil(pauseMs / 1000)} s`)
    }
    await new Promise<void>((resolve) => {
      this.#timers.start('pause', pauseMs, resolve)
      signal.addEventListener('abort', () => resolve(), { once: true })
    })
    signal.throwIfAborted()
  }

  #open(deadline: Deadline): Promise<Connection> {
    return this.#context.open({
      server: this.#state.name,
      config: this.#state.config,
      client: this.#context.client,
      era: this.#catalogue.info?.era,
      deadline,
      onWarning: (warning) => this.#state.warn(warning),
      signal: this.#closing.signal,
    })
  }

  /** The first list must be there before anyone finds a tool; a later one may follow. */
  async #prepare(connection: Connection, deadline: Deadline): Promise<void> {
    const catalogue = this.#catalogue
    this.#closing.signal.throwIfAborted()
    connection.onToolsChanged(() => catalogue.refreshSoon(connection))
    if (catalogue.tools === undefined) await catalogue.read(connection, deadline)
    else catalogue.refreshSoon(connection)
    this.#closing.signal.throwIfAborted()
    if (connection.isClosed) throw new Error(connection.closedBecause)
  }

  #noteFailure(error: unknown): string {
    const refusal = this.isClosed ? undefined : this.#state.refusal
    if (refusal !== undefined) {
      void this.refuse(refusal)
      return refusal
    }
    const tooLate = `it was not connected within ${this.#state.connectMs} ms; see what it waits for, or raise connect_timeout_ms`
    const reason = this.#state.presentable(isTooLate(error) ? tooLate : describeError(error))
    this.#failed(reason, { upMs: 0 })
    return reason
  }

  #adopt(connection: Connection, startedAt: number): void {
    this.#live = { connection, startedAt, watch: new ConnectionWatch(connection, this, this.#context) }
    this.#timers.stop('retry')
    this.#state.set('ready')
    connection.onClose(() => this.#lost(connection, connection.closedBecause))
  }

  #lost(connection: Connection, reason: string): void {
    if (this.#live?.connection !== connection) return
    const upMs = this.#context.now() - this.#live.startedAt
    this.#release()
    void this.#end(connection)
    this.#failed(reason, { upMs })
  }

  #failed(reason: string, { upMs }: { upMs: number }): void {
    if (this.isClosed) return
    this.#restarts.noteFailure({ upMs })
    this.#state.set('failed', reason)
    // A server whose tools are known is started again by the next call.
    if (this.#catalogue.tools !== undefined && this.#state.config.start !== 'eager') return
    this.#timers.start('retry', this.#restarts.pauseMs, () => void this.connected().catch(ignore))
  }

  /** Has no connection from now on; returns the one there was. */
  #release(): Connection | undefined {
    const live = this.#live
    this.#live = undefined
    live?.watch.stop()
    return live?.connection
  }

  /** Closes a connection; whoever closes the link waits for it too. */
  #end(connection: Connection): Promise<void> {
    const ended = connection
      .close()
      .catch(ignore)
      .finally(() => this.#endings.delete(ended))
    this.#endings.add(ended)
    return ended
  }
}

interface LiveConnection {
  readonly connection: Connection
  readonly startedAt: number
  readonly watch: ConnectionWatch
}

function ignore(): void {}
