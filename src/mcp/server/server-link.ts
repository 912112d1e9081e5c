import { describeError } from '../../errors.ts'
import type { Schedule } from '../../time.ts'
import { Timers } from '../../time.ts'
import type { ServerConfig } from '../config/server-config.ts'
import type { Connection } from '../connection/connection.ts'
import { ConnectionWatch } from '../connection/connection-watch.ts'
import { Deadline, isTooLate } from '../connection/deadline.ts'
import type { OpenConnection } from '../connection/open-connection.ts'
import { RestartPolicy } from './restart-policy.ts'
import type { ServerCatalogue } from './server-catalogue.ts'
import type { ServerReport } from './server-report.ts'

const IDLE_MS = 300_000

/** What connections are made and timed by. */
export interface LinkSurroundings {
  readonly open: OpenConnection
  readonly now: () => number
  readonly random: () => number
  readonly schedule: Schedule
}

/** What a link has to do with. */
export interface LinkParts {
  readonly around: LinkSurroundings
  readonly report: ServerReport
  readonly catalogue: ServerCatalogue
  /** Why the server must not run, at this moment. */
  readonly refusal: () => string | undefined
  readonly connectMs: number
}

/** The connection to one server: made when it is wanted, watched while it lasts, made again after a failure. */
export class ServerLink {
  readonly #server: string
  readonly #config: ServerConfig
  readonly #parts: LinkParts
  readonly #restarts: RestartPolicy
  readonly #timers: Timers<'retry' | 'pause'>
  readonly #closing = new AbortController()
  readonly #endings = new Set<Promise<void>>()
  #live: LiveConnection | undefined
  #connecting: Promise<Connection> | undefined
  #era: 'modern' | 'legacy' | undefined
  #holders = 0

  constructor(server: string, config: ServerConfig, parts: LinkParts) {
    this.#server = server
    this.#config = config
    this.#parts = parts
    this.#restarts = new RestartPolicy(parts.around)
    this.#timers = new Timers(parts.around.schedule)
  }

  get isClosed(): boolean {
    return this.#closing.signal.aborted
  }

  /** The protocol era that was agreed on another time; it need not be found out again. */
  expectEra(era: 'modern' | 'legacy' | undefined): void {
    this.#era = era
  }

  /** The connection, made if there is none; one attempt for all who wait. */
  connected(): Promise<Connection> {
    const doubts = this.#live?.watch.doubts
    if (doubts) return doubts.then(() => this.connected())
    if (this.#live) {
      this.#live.watch.touch()
      return Promise.resolve(this.#live.connection)
    }
    const refusal = this.#parts.refusal()
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

  /** Keeps the server from being stopped for want of use, until the returned function is called. */
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
    this.#parts.report.setState('cold')
    await this.#end(connection)
  }

  /** Neither runs the server nor keeps its tools: it cannot be what is configured, or nobody approved what it is. */
  async refuse(refusal: string): Promise<void> {
    this.#parts.catalogue.drop()
    this.#timers.stop('retry')
    const connection = this.#release()
    this.#parts.report.setState('failed', refusal)
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
    const { around, report, connectMs } = this.#parts
    // One that failed counts as failed until it is back: nobody waits for it again and again.
    if (report.status.state !== 'failed') report.setState('connecting')
    const startedAt = around.now()
    const deadline = new Deadline(around.now, connectMs)
    let opened: Connection | undefined
    try {
      this.#throwIfRefused()
      opened = await this.#open(deadline)
      await this.#prepare(opened, deadline)
      this.#throwIfRefused()
    } catch (error) {
      // That the connection closed says less than why it did.
      const cause = opened?.isClosed ? new Error(opened.closedBecause, { cause: error }) : error
      await opened?.close().catch(ignore)
      throw new Error(this.#noteFailure(cause), { cause })
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
      const { status } = this.#parts.report
      const reason = status.state === 'failed' ? status.reason : 'it failed'
      throw new Error(`${reason}; it failed too often, and is tried again in ${Math.ceil(pauseMs / 1000)} s`)
    }
    await new Promise<void>((resolve) => {
      this.#timers.start('pause', pauseMs, resolve)
      signal.addEventListener('abort', () => resolve(), { once: true })
    })
    signal.throwIfAborted()
  }

  /** Asked again after every wait: a lockfile may have come into force meanwhile. */
  #throwIfRefused(): void {
    const refusal = this.#parts.refusal()
    if (refusal !== undefined) throw new Error(refusal)
  }

  #open(deadline: Deadline): Promise<Connection> {
    const { around, report } = this.#parts
    return around.open({
      server: this.#server,
      config: this.#config,
      era: this.#era,
      deadline,
      onWarning: (warning) => report.warn(warning),
      signal: this.#closing.signal,
    })
  }

  /** The first list must be there before anyone finds a tool; a later one may follow. */
  async #prepare(connection: Connection, deadline: Deadline): Promise<void> {
    const { catalogue } = this.#parts
    this.#closing.signal.throwIfAborted()
    this.#era = connection.era
    connection.onToolsChanged(() => catalogue.refreshSoon(connection))
    if (catalogue.tools === undefined) await catalogue.read(connection, deadline)
    else catalogue.refreshSoon(connection)
    this.#closing.signal.throwIfAborted()
    if (connection.isClosed) throw new Error(connection.closedBecause)
  }

  #noteFailure(error: unknown): string {
    const { report, refusal, connectMs } = this.#parts
    const refused = this.isClosed ? undefined : refusal()
    if (refused !== undefined) {
      void this.refuse(refused)
      return refused
    }
    const tooLate = `it was not connected within ${connectMs} ms; see what it waits for, or raise connect_timeout_ms`
    const reason = report.tellable(isTooLate(error) ? tooLate : describeError(error))
    this.#failed(reason, { upMs: 0 })
    return reason
  }

  #adopt(connection: Connection, startedAt: number): void {
    const { report } = this.#parts
    const { now, schedule } = this.#parts.around
    const { start, idleMs = IDLE_MS } = this.#config
    const upMs = () => now() - startedAt
    const watch = new ConnectionWatch(connection, {
      now,
      schedule,
      idleMs: start === 'eager' ? 0 : idleMs,
      isHeld: () => this.#holders > 0,
      onIdle: () => void this.drop(connection),
      onSilent: (reason) => this.#lost(connection, reason, { upMs: upMs() }),
    })
    this.#live = { connection, watch }
    this.#timers.stop('retry')
    report.setState('ready')
    connection.onUse(() => watch.touch())
    connection.onClose(() => this.#lost(connection, connection.closedBecause, { upMs: upMs() }))
  }

  #lost(connection: Connection, reason: string, { upMs }: { upMs: number }): void {
    if (this.#live?.connection !== connection) return
    this.#release()
    void this.#end(connection)
    this.#failed(reason, { upMs })
  }

  #failed(reason: string, { upMs }: { upMs: number }): void {
    if (this.isClosed) return
    this.#restarts.noteFailure({ upMs })
    this.#parts.report.setState('failed', reason)
    // A server whose tools are known is started again by the next call.
    if (this.#parts.catalogue.tools !== undefined && this.#config.start !== 'eager') return
    this.#timers.start('retry', this.#restarts.pauseMs, () => void this.connected().catch(ignore))
  }

  /** Has no connection from now on; answers the one there was. */
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
  readonly watch: ConnectionWatch
}

function ignore(): void {}
