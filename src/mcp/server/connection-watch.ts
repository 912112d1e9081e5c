import { describeError } from '../../errors.ts'
import { Timers } from '../../time.ts'
import type { Connection } from '../connection/connection.ts'
import type { ServerContext } from './server-context.ts'

const PING_MS = 30_000
const PING_TIMEOUT_MS = 10_000
const DOUBT_TIMEOUT_MS = 1_000

/** Who keeps a connection, and learns from its watch when to let it go. */
export interface ConnectionKeeper {
  /** True while somebody is about to use the connection. */
  readonly isHeld: boolean
  /** How long it may be unused before it is let go; 0 = for ever. */
  readonly idleMs: number
  /** Called once, when the connection has been unused for `idleMs`. */
  onIdle(connection: Connection): void
  /** Called once, when the server no longer answers. */
  onSilent(connection: Connection, reason: string): void
}

/** Watches over one live connection: whether it still answers, and whether anybody uses it. */
export class ConnectionWatch {
  readonly #connection: Connection
  readonly #keeper: ConnectionKeeper
  readonly #now: () => number
  readonly #timers: Timers<'ping' | 'idle'>
  #lastUseAt: number
  #doubts: Promise<void> | undefined
  #isOver = false

  constructor(connection: Connection, keeper: ConnectionKeeper, { now, schedule }: ServerContext) {
    this.#connection = connection
    this.#keeper = keeper
    this.#now = now
    this.#timers = new Timers(schedule)
    this.#lastUseAt = now()
    connection.onUse(() => this.touch())
    this.#pingLater()
    this.#stopWhenIdle()
  }

  /** Settles once it is known whether a server in doubt still answers; undefined when there is no doubt. */
  get doubts(): Promise<void> | undefined {
    return this.#doubts
  }

  /** Records that the connection has just been used. */
  touch(): void {
    this.#lastUseAt = this.#now()
  }

  /** Asks a server that left a call unanswered for a sign of life, before it gets the next one. */
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
      // One that is busy with calls may be too busy to answer; those have deadlines of their own.
      if (this.#isOver || this.#connection.isInUse) return
      this.stop()
      this.#keeper.onSilent(this.#connection, `it does not answer: ${describeError(error)}`)
    }
  }

  // One timer for many calls: it looks when the last one was, rather than being set again by each.
  #stopWhenIdle(): void {
    const { idleMs, isHeld } = this.#keeper
    if (idleMs === 0) return
    const isUsed = isHeld || this.#connection.isInUse
    const restMs = isUsed ? idleMs : this.#lastUseAt + idleMs - this.#now()
    if (restMs > 0) {
      this.#timers.start('idle', restMs, () => this.#stopWhenIdle())
      return
    }
    this.stop()
    this.#keeper.onIdle(this.#connection)
  }
}
