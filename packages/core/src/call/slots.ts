import type { BatchAbort } from './run-within.ts'

/** A limited number of slots; callers wait in order while none is free. */
export class Slots {
  readonly #waiting: (() => void)[] = []
  readonly #places: number
  #taken = 0

  constructor(places: number) {
    this.#places = places
  }

  /** Waits for a slot and returns a function that releases it; undefined if the batch was cancelled meanwhile. */
  async enter(abort: BatchAbort): Promise<(() => void) | undefined> {
    if (abort.isAborted) return undefined
    if (this.#taken < this.#places) this.#taken++
    else if (!(await this.#wait(abort))) return undefined
    return once(() => this.#leave())
  }

  #wait(abort: BatchAbort): Promise<boolean> {
    return new Promise((resolve) => {
      const admit = () => {
        stopListening()
        resolve(true)
      }
      const stopListening = abort.onAbort(() => {
        this.#waiting.splice(this.#waiting.indexOf(admit), 1)
        resolve(false)
      })
      this.#waiting.push(admit)
    })
  }

  // The slot goes to the call that waited longest: a new one cannot take it.
  #leave(): void {
    const next = this.#waiting.shift()
    if (next) next()
    else this.#taken--
  }
}

function once(action: () => void): () => void {
  let isDone = false
  return () => {
    if (!isDone) action()
    isDone = true
  }
}
