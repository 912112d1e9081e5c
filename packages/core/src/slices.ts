/** How long a slice of work may take: a fraction of the 50 ms that others may have to wait. */
const SLICE_MS = 10

/** What tells the time, and what runs a function once other work had its turn. */
export interface SliceOptions {
  readonly now?: (() => number) | undefined
  readonly defer?: ((next: () => void) => void) | undefined
  readonly sliceMs?: number | undefined
}

/**
 * Divides long work into slices, so that everything else in the process gets its turn in between. All work that shares this
 * object shares the slices: one slice per turn of the event loop, in the order in which the work paused.
 */
export class Slices {
  readonly #now: () => number
  readonly #defer: (next: () => void) => void
  readonly #sliceMs: number
  readonly #paused: (() => void)[] = []
  /** When the slice of this turn began; undefined if no work has asked yet. */
  #begin: number | undefined

  constructor({ now = () => performance.now(), defer = afterTurn, sliceMs = SLICE_MS }: SliceOptions = {}) {
    this.#now = now
    this.#defer = defer
    this.#sliceMs = sliceMs
  }

  /** True when the work must pause. Work that takes less than a slice never does, and stays synchronous. */
  get isOver(): boolean {
    const now = this.#now()
    if (this.#begin === undefined) this.#start(now)
    return now - (this.#begin ?? now) >= this.#sliceMs
  }

  /** Resolves when it is the work's turn again. */
  pause(): Promise<void> {
    if (this.#begin === undefined) this.#start(this.#now())
    return new Promise((resolve) => this.#paused.push(resolve))
  }

  /** Does the work for each item, with pauses in between. */
  async each<Item>(items: Iterable<Item>, work: (item: Item) => void): Promise<void> {
    for (const item of items) {
      if (this.isOver) await this.pause()
      work(item)
    }
  }

  #start(now: number): void {
    this.#begin = now
    this.#defer(() => {
      this.#begin = undefined
      const resume = this.#paused.shift()
      if (resume === undefined) return
      this.#start(this.#now())
      resume()
    })
  }
}

/** Of the whole process: what it does at the same time shares one slice per turn. */
export const sharedSlices = new Slices()

/** Only Node has setImmediate(), which comes after the requests that have arrived. */
function afterTurn(next: () => void): void {
  const { setImmediate: defer = (callback: () => void) => setTimeout(callback, 0) } = globalThis as {
    setImmediate?: (callback: () => void) => unknown
  }
  defer(next)
}
