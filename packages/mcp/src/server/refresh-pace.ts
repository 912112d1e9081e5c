/** How long list changes are collected before the list is read. */
const REFRESH_MS = 300
const MAX_REFRESH_MS = 300_000
/** A list that does not change for this long after it was read is calm. */
const CALM_MS = 30_000
/** A restless list is read for at most one part in this many of the time. */
const SHARE = 10
/** How many changes in a row make a warning. */
const RESTLESS_AFTER = 5

/** Says when a list that has changed is read again: at once, and ever more rarely if it keeps changing. */
export class RefreshPace {
  readonly #now: () => number
  readonly #onRestless: (delayMs: number) => void
  /** How many changes in a row came soon after the list was read. */
  #changes = 0
  #readAt = Number.NEGATIVE_INFINITY
  #tookMs = 0

  constructor(now: () => number, onRestless: (delayMs: number) => void) {
    this.#now = now
    this.#onRestless = onRestless
  }

  /** True when the last change came soon after the one before. */
  get isRestless(): boolean {
    return this.#changes > 0
  }

  /** How long to wait before the list is read, now that it has changed. */
  next(): number {
    const isCalm = this.#now() - this.#readAt > CALM_MS
    this.#changes = isCalm ? 0 : this.#changes + 1
    if (isCalm) return REFRESH_MS
    const delayMs = Math.min(
      MAX_REFRESH_MS,
      Math.max(REFRESH_MS * 2 ** this.#changes, this.#tookMs * (SHARE - 1)),
    )
    if (this.#changes === RESTLESS_AFTER) this.#onRestless(delayMs)
    return delayMs
  }

  /** Notes that the list was read, and how long all the work took. */
  wasRead(tookMs: number): void {
    this.#readAt = this.#now()
    this.#tookMs = tookMs
  }
}
