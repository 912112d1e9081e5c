/** A server that stayed up this long was no crash loop. */
const STABLE_MS = 10_000
const FIRST_DELAY_MS = 200
const MAX_FAILURES = 5
const COOL_DOWN_MS = 30_000

/**
 * When a server that failed may be started again: after a pause that doubles each time, jittered so that thirty
 * servers do not come back at once; and after five failures in a row only every half minute.
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

  /** Notes that it did not start, or went away after so long. */
  noteFailure({ upMs }: { readonly upMs: number }): void {
    if (upMs >= STABLE_MS) this.#failures = 0
    this.#failures++
    const delayMs = FIRST_DELAY_MS * 2 ** (this.#failures - 1)
    const pauseMs = this.isTripped ? COOL_DOWN_MS : delayMs * (0.5 + this.#random() / 2)
    this.#notBefore = this.#now() + pauseMs
  }

  /** True in a crash loop: then nothing waits for the pause to end. */
  get isTripped(): boolean {
    return this.#failures >= MAX_FAILURES
  }

  /** How long until the next start is allowed. */
  get pauseMs(): number {
    return Math.max(0, this.#notBefore - this.#now())
  }
}
