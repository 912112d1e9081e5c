import { canonicalJson, type Deadline, Timers } from '@toolcrib/core/internal'
import { describeStartFailure, type StartFailure, type StartFailures } from '../cache/start-failures.ts'
import type { Connection } from '../connection/connection.ts'
import { isSignInFailure } from '../connection/http/describe-http-error.ts'
import type { ClientOptions } from '../connection/server-messages.ts'
import { type ConnectionKeeper, ConnectionWatch } from './connection-watch.ts'
import type { Connector } from './connector.ts'
import { COOL_DOWN_MS, RestartPolicy, type RestartTimers } from './restart-policy.ts'
import type { ServerCatalogue } from './server-catalogue.ts'
import type { ServerProblem, ServerState } from './server-state.ts'
import { mayInstall, StartAttempt } from './start-attempt.ts'

export const IDLE_MS = 300_000

/** How a shared connection is opened, presents itself, and is reopened after failures. */
export interface ServerLinkOptions {
  readonly connector: Connector
  readonly client: ClientOptions
  readonly random: () => number
  /** The remembered failed starts of the server; undefined without a store. */
  readonly failures: StartFailures | undefined
  /** false: failed starts are only recorded, not recalled. */
  readonly isRemembering: boolean
}

/** The shared connection to one server: opened on demand, watched, and reopened after a failure. */
export class ServerLink implements ConnectionKeeper {
  readonly idleMs: number
  readonly #state: ServerState
  readonly #catalogue: ServerCatalogue
  readonly #options: ServerLinkOptions
  readonly #timers: RestartTimers
  readonly #closing = new AbortController()
  readonly #endings = new Set<Promise<void>>()
  #live: LiveConnection | undefined
  /** Created by the first failure. */
  #restarts: RestartPolicy | undefined
  #connecting: Promise<Connection> | undefined
  /** The current attempt to connect, after the pause before it. */
  #attempt: StartAttempt | undefined
  #holders = 0
  #restingAfter: StartFailure | undefined

  constructor(state: ServerState, catalogue: ServerCatalogue, options: ServerLinkOptions) {
    const { start, idleMs = IDLE_MS } = state.config
    this.idleMs = start === 'eager' ? 0 : idleMs
    this.#state = state
    this.#catalogue = catalogue
    this.#options = options
    this.#timers = new Timers(options.connector.time.schedule)
  }

  get #now(): () => number {
    return this.#options.connector.time.now
  }

  get isClosed(): boolean {
    return this.#closing.signal.aborted
  }

  get isHeld(): boolean {
    return this.#holders > 0
  }

  /** Whether it is connected or connecting. */
  get isUsed(): boolean {
    return this.#live !== undefined || this.#connecting !== undefined
  }

  /** The open connection, if any. */
  get current(): Connection | undefined {
    return this.#live?.connection
  }

  /** Returns the connection, opening it if necessary; concurrent callers share one attempt. Rejects with the reason. */
  connected(): Promise<Connection> {
    const doubts = this.#live?.watch.doubts
    if (doubts) return doubts.then(() => this.connected())
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

  /** Why the server was not started: it failed in an earlier process. Undefined once this one has tried it. */
  get restingAfter(): StartFailure | undefined {
    return this.#restingAfter
  }

  /** Returns how the server failed in an earlier process, if it should not be started yet. Never rejects. */
  async recallFailure(): Promise<StartFailure | undefined> {
    return this.#options.isRemembering ? this.#options.failures?.recall() : undefined
  }

  /**
   * Connects. After a `failure`, the server is `failed` with that reason instead, so that nobody waits for it, and is
   * tried again in the background. Never rejects.
   */
  async start(failure: StartFailure | undefined): Promise<void> {
    if (this.isClosed || this.#live || this.#connecting) return
    if (failure === undefined) return this.connected().then(ignore, ignore)
    this.#restingAfter = failure
    const now = this.#now()
    const tryInMs = Math.min(Math.max(failure.retryAt - now, FIRST_RETRY_MS), COOL_DOWN_MS)
    this.#state.set('failed', {
      reason: describeStartFailure(failure, { now, tryInMs }),
      needs: failure.needs,
    })
    this.#timers.start('retry', tryInMs, () => void this.connected().catch(ignore))
  }

  /** Resolves once no connection attempt is in progress. */
  async settled(): Promise<void> {
    await this.#connecting?.catch(ignore)
  }

  /** Keeps the server from being stopped as idle until the returned function is called. */
  hold(): () => void {
    this.#holders++
    return () => {
      this.#holders--
      this.#live?.watch.touch()
    }
  }

  /** Pings a server that left a call unanswered before it gets another. */
  doubt(connection: Connection): void {
    if (this.#live?.connection === connection) this.#live.watch.doubt()
  }

  /** Closes a connection without counting it as a failure. */
  async drop(connection: Connection): Promise<void> {
    if (this.#live?.connection !== connection) return
    this.#release()
    this.#state.set('cold')
    await this.#end(connection)
  }

  /** Restarts the server when another package or image has been approved since it was started. */
  async restartOutdated(): Promise<void> {
    const live = this.#live
    if (!live || canonicalJson(live.config) === canonicalJson(this.#state.runConfig)) return
    await this.drop(live.connection)
    // Any other server starts with the next call.
    if (this.#state.config.start === 'eager') void this.start(undefined)
  }

  onIdle(connection: Connection): void {
    void this.drop(connection)
  }

  onSilent(connection: Connection, reason: string): void {
    this.#lost(connection, reason)
  }

  /** Stops the server and removes its tools, because its config is invalid or it is not approved. */
  async refuse(refusal: ServerProblem): Promise<void> {
    this.#catalogue.drop()
    this.#timers.stop('retry')
    const connection = this.#release()
    this.#state.set('failed', refusal)
    if (connection) await this.#end(connection)
  }

  /** Closes the connection, and any attempt at one, permanently. */
  async close(): Promise<void> {
    this.#timers.stopAll()
    const slow = this.#attempt?.givenUp(this.#now())
    if (slow) this.#options.failures?.note(slow)
    this.#closing.abort(new Error('it was closed'))
    const opening = this.#connecting
    const connection = this.#release()
    if (connection) void this.#end(connection)
    await opening?.then((opened) => opened.close(), ignore)
    await Promise.all([...this.#endings, this.#options.failures?.close()])
  }

  async #connect(): Promise<Connection> {
    const { signal } = this.#closing
    signal.throwIfAborted()
    const state = this.#state
    await this.#restarts?.wait(state.status, this.#timers, signal)
    const { status } = state
    // The failure of an earlier process is outdated once this one has tried.
    const failedBefore = status.state === 'failed' && !this.#restingAfter ? status.reason : undefined
    // A failed server stays `failed` until it recovers, so that callers do not wait for it repeatedly.
    if (status.state !== 'failed') state.set('connecting')
    this.#restingAfter = undefined
    const isKnown = this.#catalogue.info !== undefined
    const isFirst = !isKnown && (await mayInstall(state, () => this.#options.failures?.isInstalled()))
    const attempt = new StartAttempt(state, isFirst, this.#now)
    this.#attempt = attempt
    let opened: Connection | undefined
    try {
      state.throwIfRefused()
      opened = await this.#open(attempt)
      await this.#prepare(opened, attempt.deadline)
      state.throwIfRefused()
    } catch (error) {
      this.#attempt = undefined
      // The reason the connection closed says more than the fact that it did.
      const cause = opened?.isClosed ? new Error(opened.closedBecause, { cause: error }) : error
      await opened?.close().catch(ignore)
      const reason = this.#noteFailure(cause, attempt)
      // Why it died may say more than why it cannot be restarted.
      const isSameReason = failedBefore === undefined || failedBefore === reason
      throw new Error(isSameReason ? reason : `${reason} (before that: ${failedBefore})`, { cause })
    }
    this.#attempt = undefined
    this.#adopt(opened, attempt)
    return opened
  }

  #open({ config, deadline, mayInstall }: StartAttempt): Promise<Connection> {
    return this.#options.connector.open({
      server: this.#state.name,
      config,
      client: this.#options.client,
      era: this.#catalogue.info?.era,
      deadline,
      onWarning: (warning) => this.#state.warn(warning),
      onOutput: (line) => this.#state.output(line),
      ...(mayInstall ? { onInstall: (describe) => this.#state.noteWait(describe) } : {}),
      signal: this.#closing.signal,
    })
  }

  /** The first list must be complete before anyone can find a tool; later ones may follow in the background. */
  async #prepare(connection: Connection, deadline: Deadline): Promise<void> {
    const catalogue = this.#catalogue
    this.#closing.signal.throwIfAborted()
    connection.onToolsChanged(() => catalogue.refreshSoon(connection))
    // A server may let anybody connect, but list its tools only for authorized users.
    if (catalogue.tools === undefined)
      await connection.authorizing(
        () => catalogue.read(connection, deadline),
        () => deadline.restart(),
      )
    else catalogue.refreshSoon(connection)
    this.#closing.signal.throwIfAborted()
    if (connection.isClosed) throw new Error(connection.closedBecause)
  }

  #noteFailure(error: unknown, attempt: StartAttempt): string {
    const refusal = this.isClosed ? undefined : this.#state.refusal
    if (refusal) {
      void this.refuse(refusal)
      return refusal.reason
    }
    const reason = this.#state.presentable(attempt.describe(error))
    const problem = isSignInFailure(error) ? ({ reason, needs: 'sign-in' } as const) : { reason }
    const { failures } = this.#options
    if (!this.isClosed) failures?.note({ ...problem, how: attempt.howItFailed(error) })
    if (attempt.wasLongEnough(error)) failures?.noteInstalled()
    this.#failed(problem, { upMs: 0 })
    return reason
  }

  #adopt(connection: Connection, { startedAt, config, mayInstall }: StartAttempt): void {
    const watch = new ConnectionWatch(connection, this, this.#options.connector.time)
    this.#live = { connection, startedAt, config, watch }
    this.#options.failures?.clear()
    if (mayInstall) this.#options.failures?.noteInstalled()
    this.#timers.stop('retry')
    this.#state.set('ready')
    connection.onClose(() => this.#lost(connection, connection.closedBecause))
  }

  #lost(connection: Connection, reason: string): void {
    if (this.#live?.connection !== connection) return
    const upMs = this.#now() - this.#live.startedAt
    this.#release()
    void this.#end(connection)
    this.#failed({ reason }, { upMs })
  }

  #failed(problem: ServerProblem, { upMs }: { upMs: number }): void {
    if (this.isClosed) return
    this.#restarts ??= new RestartPolicy({ now: this.#now, random: this.#options.random })
    this.#restarts.noteFailure({ upMs })
    this.#state.set('failed', problem)
    // A server whose tools are known is restarted by the next call.
    if (this.#catalogue.tools !== undefined && this.#state.config.start !== 'eager') return
    this.#timers.start('retry', this.#restarts.pauseMs, () => void this.connected().catch(ignore))
  }

  /** Forgets the connection and returns it. */
  #release(): Connection | undefined {
    const live = this.#live
    this.#live = undefined
    live?.watch.stop()
    return live?.connection
  }

  /** Closes a connection; closing the link waits for it too. */
  #end(connection: Connection): Promise<void> {
    const ended = connection
      .close()
      .catch(ignore)
      .finally(() => this.#endings.delete(ended))
    this.#endings.add(ended)
    return ended
  }
}

/** A server that hung the last time is tried after everything else has started, and not by a command that ends sooner. */
const FIRST_RETRY_MS = 2_000

interface LiveConnection extends Pick<StartAttempt, 'startedAt' | 'config'> {
  readonly connection: Connection
  readonly watch: ConnectionWatch
}

function ignore(): void {}
