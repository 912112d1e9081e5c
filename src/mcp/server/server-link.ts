import { describeError } from '../../errors.ts'
import { canonicalJson } from '../../json.ts'
import { Deadline, isTooLate, Timers } from '../../time.ts'
import { describeStartFailure, type StartFailure, type StartFailures } from '../cache/start-failures.ts'
import type { ServerConfig } from '../config/server-config.ts'
import type { Connection } from '../connection/connection.ts'
import { isSignInFailure } from '../connection/http/describe-http-error.ts'
import { type ConnectionKeeper, ConnectionWatch } from './connection-watch.ts'
import type { ServerProblem, ServerState } from './managed-server.ts'
import { COOL_DOWN_MS, RestartPolicy } from './restart-policy.ts'
import type { ServerCatalogue } from './server-catalogue.ts'
import type { ServerContext } from './server-context.ts'

export const IDLE_MS = 300_000

/** The shared connection to one server: opened on demand, watched, and reopened after a failure. */
export class ServerLink implements ConnectionKeeper {
  readonly idleMs: number
  readonly #state: ServerState
  readonly #catalogue: ServerCatalogue
  readonly #context: ServerContext
  readonly #failures: StartFailures | undefined
  readonly #timers: Timers<'retry' | 'pause'>
  readonly #closing = new AbortController()
  readonly #endings = new Set<Promise<void>>()
  #live: LiveConnection | undefined
  /** Created by the first failure. */
  #restarts: RestartPolicy | undefined
  #connecting: Promise<Connection> | undefined
  /** The current attempt to connect, after the pause before it. */
  #attempt: Attempt | undefined
  #holders = 0
  #restingAfter: StartFailure | undefined

  constructor(state: ServerState, catalogue: ServerCatalogue, context: ServerContext) {
    const { start, idleMs = IDLE_MS } = state.config
    this.idleMs = start === 'eager' ? 0 : idleMs
    this.#state = state
    this.#catalogue = catalogue
    this.#context = context
    this.#failures = context.failuresOf(state.name, state.runConfig)
    this.#timers = new Timers(context.schedule)
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
    return this.#context.isRemembering ? this.#failures?.recall() : undefined
  }

  /**
   * Connects. After a `failure`, the server is `failed` with that reason instead, so that nobody waits for it, and is
   * tried again in the background. Never rejects.
   */
  async start(failure: StartFailure | undefined): Promise<void> {
    if (this.isClosed || this.#live || this.#connecting) return
    if (failure === undefined) return this.connected().then(ignore, ignore)
    this.#restingAfter = failure
    const now = this.#context.now()
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
    this.#noteSlowStart()
    this.#closing.abort(new Error('it was closed'))
    const opening = this.#connecting
    const connection = this.#release()
    if (connection) void this.#end(connection)
    await opening?.then((opened) => opened.close(), ignore)
    await Promise.all([...this.#endings, this.#failures?.close()])
  }

  /** If a process gives up before a server has failed, the next one should not wait for it either. */
  #noteSlowStart(): void {
    if (!this.#attempt) return
    const sinceMs = this.#context.now() - this.#attempt.startedAt
    if (sinceMs < SLOW_START_MS) return
    this.#failures?.note({
      reason: `it had not connected after ${Math.round(sinceMs / 1000)} s, when it was closed`,
      how: sinceMs >= HANGS_AFTER_MS ? 'hung' : 'given-up',
    })
  }

  async #connect(): Promise<Connection> {
    await this.#waitForTurn()
    const state = this.#state
    const { status } = state
    // The failure of an earlier process is outdated once this one has tried.
    const failedBefore = status.state === 'failed' && !this.#restingAfter ? status.reason : undefined
    // A failed server stays `failed` until it recovers, so that callers do not wait for it repeatedly.
    if (status.state !== 'failed') state.set('connecting')
    this.#restingAfter = undefined
    const { now } = this.#context
    const attempt = {
      startedAt: now(),
      config: state.runConfig,
      deadline: new Deadline(now, state.connectMs),
    }
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
      const reason = this.#noteFailure(cause)
      // Why it died may say more than why it cannot be restarted.
      const isSameReason = failedBefore === undefined || failedBefore === reason
      throw new Error(isSameReason ? reason : `${reason} (before that: ${failedBefore})`, { cause })
    }
    this.#attempt = undefined
    this.#adopt(opened, attempt)
    return opened
  }

  /** Waits for the delay after a failure, but not for the long one after many. */
  async #waitForTurn(): Promise<void> {
    const { signal } = this.#closing
    signal.throwIfAborted()
    const { pauseMs = 0, isTripped = false } = this.#restarts ?? {}
    if (pauseMs === 0) return
    if (isTripped) {
      const { status } = this.#state
      const reason = status.state === 'failed' ? status.reason : 'it failed'
      throw new Error(`${reason}; it failed too often, next attempt in ${Math.ceil(pauseMs / 1000)} s`)
    }
    await new Promise<void>((resolve) => {
      this.#timers.start('pause', pauseMs, resolve)
      signal.addEventListener('abort', () => resolve(), { once: true })
    })
    signal.throwIfAborted()
  }

  #open({ config, deadline }: Attempt): Promise<Connection> {
    return this.#context.open({
      server: this.#state.name,
      config,
      client: this.#context.client,
      era: this.#catalogue.info?.era,
      deadline,
      onWarning: (warning) => this.#state.warn(warning),
      onOutput: (line) => this.#state.output(line),
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

  #noteFailure(error: unknown): string {
    const refusal = this.isClosed ? undefined : this.#state.refusal
    if (refusal) {
      void this.refuse(refusal)
      return refusal.reason
    }
    const tooLate = `it did not connect within ${this.#state.connectMs} ms; check what it is waiting for, or increase connect_timeout_ms`
    const reason = this.#state.presentable(isTooLate(error) ? tooLate : describeError(error))
    const problem = isSignInFailure(error) ? ({ reason, needs: 'sign-in' } as const) : { reason }
    if (!this.isClosed)
      this.#failures?.note({
        ...problem,
        how: isTooLate(error) && this.#state.connectMs >= HANGS_AFTER_MS ? 'hung' : 'failed',
      })
    this.#failed(problem, { upMs: 0 })
    return reason
  }

  #adopt(connection: Connection, { startedAt, config }: Attempt): void {
    const watch = new ConnectionWatch(connection, this, this.#context)
    this.#live = { connection, startedAt, config, watch }
    this.#failures?.clear()
    this.#timers.stop('retry')
    this.#state.set('ready')
    connection.onClose(() => this.#lost(connection, connection.closedBecause))
  }

  #lost(connection: Connection, reason: string): void {
    if (this.#live?.connection !== connection) return
    const upMs = this.#context.now() - this.#live.startedAt
    this.#release()
    void this.#end(connection)
    this.#failed({ reason }, { upMs })
  }

  #failed(problem: ServerProblem, { upMs }: { upMs: number }): void {
    if (this.isClosed) return
    this.#restarts ??= new RestartPolicy(this.#context)
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

/** The next process does not wait for a start that takes this long. */
const SLOW_START_MS = 2_000
/** A start that takes longer has probably hung. */
const HANGS_AFTER_MS = 10_000
/**
 * A server that hung the last time is tried only after everything else has started, and not by a command that ends
 * sooner.
 */
const FIRST_RETRY_MS = 2_000

interface Attempt {
  readonly startedAt: number
  /** What the server is started with. */
  readonly config: ServerConfig
  readonly deadline: Deadline
}

interface LiveConnection extends Pick<Attempt, 'startedAt' | 'config'> {
  readonly connection: Connection
  readonly watch: ConnectionWatch
}

function ignore(): void {}
