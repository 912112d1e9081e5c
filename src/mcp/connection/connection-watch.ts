import { describeError } from '../../errors.ts'
import type { Schedule } from '../../time.ts'
import { Timers } from '../../time.ts'
import type { Connection } from './connection.ts'

const PING_MS = 30_000
const PING_TIMEOUT_MS = 10_000
const DOUBT_TIMEOUT_MS = 1_000

/** When a connection counts as idle, and who hears of it. */
export interface WatchOptions {
  /** Without use for so long, a connection is let go; 0 = never. */
  readonly idleMs: number
  /** True while somebody is about to use it. */
  readonly isHeld: () => boolean
  readonly onIdle: () => void
  /** Told once, why a connection counts as dead. */
  readonly onSilent: (reason: string) => void
  readonly now: () => number
  readonly schedule: Schedule
}

/** Watches over one live connection: whether it still answers, and whether anybody uses it. */
export class ConnectionWatch {
  readonly #connection: Connection
  readonly #options: WatchOptions
  readonly #timers: Timers<'ping' | 'idle'>
  #lastUseAt: number
  #doubts: Promise<void> | undefined
  #isOver = false

  constructor(connection: Connection, options: WatchOptions) {
    this.#connection = connection
    this.#options = options
    this.#timers = new Timers(options.schedule)
    this.#lastUseAt = options.now()
    this.#pingLater()
    this.#stopWhenIdle()
  }

  /** Settles once it is known whether a server in doubt still answers; undefined when there is no doubt. */
  get doubts(): Promise<void> | undefined {
    return this.#doubts
  }

  /** Takes note that the connection has just been used. */
  touch(): void {
    this.#lastUseAt = this.#options.now()
  }

  /** A server that left a call unanswered is asked for a sign of life before the next. */
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
      this.#options.onSilent(`it does not answer: ${describeError(error)}`)
    }
  }

  // One timer for many calls: it looks when the last one was, rather than being set anew by each.
  #stopWhenIdle(): void {
    const { idleMs, isHeld, now, onIdle } = this.#options
    if (idleMs === 0) return
    const isUsed = isHeld() || this.#connection.isInUse
    const restMs = isUsed ? idleMs : this.#lastUseAt + idleMs - now()
    if (restMs > 0) {
      this.#timers.start('idle', restMs, () => this.#stopWhenIdle())
      return
    }
    this.stop()
    onIdle()
  }
}
