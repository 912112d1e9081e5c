import { describeError, Timers } from '@toolcrib/core/internal'
import type { Connection } from '../connection/connection.ts'
import type { ServerTime } from './connector.ts'

const PING_MS = 30_000
const PING_TIMEOUT_MS = 10_000
const DOUBT_TIMEOUT_MS = 1_000

/** The owner of a connection, which its watch asks to close it. */
export interface ConnectionKeeper {
  /** True while someone is about to use the connection. */
  readonly isHeld: boolean
  /** How long it may be unused before it is closed; 0 = forever. */
  readonly idleMs: number
  /** Called once, when the connection has been unused for `idleMs`. */
  onIdle(connection: Connection): void
  /** Called once, when the server no longer responds. */
  onSilent(connection: Connection, reason: string): void
}

/** Watches one open connection: whether it still responds, and whether it is used. */
export class ConnectionWatch {
  readonly #connection: Connection
  readonly #keeper: ConnectionKeeper
  readonly #now: () => number
  readonly #timers: Timers<'ping' | 'idle'>
  #lastUseAt: number
  #doubts: Promise<void> | undefined
  #isOver = false

  constructor(connection: Connection, keeper: ConnectionKeeper, { now, schedule }: ServerTime) {
    this.#connection = connection
    this.#keeper = keeper
    this.#now = now
    this.#timers = new Timers(schedule)
    this.#lastUseAt = now()
    connection.onUse(() => this.touch())
    this.#pingLater()
    this.#stopWhenIdle()
  }

  /** Resolves once it is known whether a suspect server still responds; undefined if it is not suspect. */
  get doubts(): Promise<void> | undefined {
    return this.#doubts
  }

  /** Records that the connection has just been used. */
  touch(): void {
    this.#lastUseAt = this.#now()
  }

  /** Pings a server that left a call unanswered before it gets the next one. */
  doubt(): void {
    if (this.#isOver || this.#connection.isInUse) return
    this.#doubts ??= this.#checkAlive(DOUBT_TIMEOUT_MS).finally(() => {
      this.#doubts = undefined
    })
  }

  stop(): void {
    this.#isOver = true
    this.#timers.stopAll()
  }

  #pingLater(): void {
    this.#timers.start('ping', PING_MS, async () => {
      if (!this.#connection.isInUse) await this.#checkAlive(PING_TIMEOUT_MS)
      if (!this.#isOver) this.#pingLater()
    })
  }

  async #checkAlive(timeoutMs: number): Promise<void> {
    try {
      await this.#connection.ping(timeoutMs)
    } catch (error) {
      // A server busy with calls may be too busy for a ping; the calls have their own deadlines.
      if (this.#isOver || this.#connection.isInUse) return
      this.stop()
      this.#keeper.onSilent(this.#connection, `it does not respond: ${describeError(error)}`)
    }
  }

  // One timer for many calls: it checks when the last one was, instead of being reset by each.
  #stopWhenIdle(): void {
    const { idleMs, isHeld } = this.#keeper
    if (idleMs === 0) return
    const isUsed = isHeld || this.#connection.isInUse || this.#connection.subscribed.size > 0
    const restMs = isUsed ? idleMs : this.#lastUseAt + idleMs - this.#now()
    if (restMs > 0) {
      this.#timers.start('idle', restMs, () => this.#stopWhenIdle())
      return
    }
    this.stop()
    this.#keeper.onIdle(this.#connection)
  }
}
