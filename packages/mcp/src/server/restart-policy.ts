import type { ServerStatus } from '@toolcrib/core'
import type { Timers } from '@toolcrib/core/internal'

export type RestartTimers = Timers<'retry' | 'pause'>

/** A server that ran for this long was not in a crash loop. */
const STABLE_MS = 10_000
const FIRST_DELAY_MS = 200
const MAX_FAILURES = 5
/** The longest pause between two attempts to start a failing server. */
export const COOL_DOWN_MS = 30_000

/**
 * Decides when a failed server may restart: after a delay that doubles each time, with jitter so that many servers do
 * not return at once. After five consecutive failures, only every half minute.
 */
export class RestartPolicy {
  readonly #now: () => number
  readonly #random: () => number
  #failures = 0
  #notBefore = 0

  constructor({ now, random }: { readonly now: () => number; readonly random: () => number }) {
    this.#now = now
    this.#random = random
  }

  /** Records that it failed to start, or ended after `upMs`. */
  noteFailure({ upMs }: { readonly upMs: number }): void {
    if (upMs >= STABLE_MS) this.#failures = 0
    this.#failures++
    const delayMs = FIRST_DELAY_MS * 2 ** (this.#failures - 1)
    const pauseMs = this.isTripped ? COOL_DOWN_MS : delayMs * (0.5 + this.#random() / 2)
    this.#notBefore = this.#now() + pauseMs
  }

  /** True in a crash loop; callers then fail instead of waiting for the delay. */
  get isTripped(): boolean {
    return this.#failures >= MAX_FAILURES
  }

  /** Waits for the delay after a failure, but not for the long one after many. Throws once the signal fires. */
  async wait(status: ServerStatus, timers: RestartTimers, signal: AbortSignal): Promise<void> {
    const { pauseMs } = this
    if (pauseMs === 0) return
    if (this.isTripped) {
      const reason = status.state === 'failed' ? status.reason : 'it failed'
      throw new Error(`${reason}; it failed too often, next attempt in ${Math.ceil(pauseMs / 1000)} s`)
    }
    await new Promise<void>((resolve) => {
      timers.start('pause', pauseMs, resolve)
      signal.addEventListener('abort', () => resolve(), { once: true })
    })
    signal.throwIfAborted()
  }

  /** How long until the next start is allowed. */
  get pauseMs(): number {
    return Math.max(0, this.#notBefore - this.#now())
  }
}
