/** The highest of many numbers: a heap, with the least of them on top. */
export class Highest {
  readonly #limit: number
  readonly #heap: Float64Array
  #count = 0

  constructor(limit: number) {
    this.#limit = limit
    this.#heap = new Float64Array(limit)
  }

  /** The least of them; 0 while there are fewer than wanted. */
  get least(): number {
    return this.#count < this.#limit ? 0 : (this.#heap[0] as number)
  }

  add(value: number): void {
    if (this.#count < this.#limit) this.#rise(this.#count++, value)
    else if (value > this.least) this.#sink(value)
  }

  #rise(from: number, value: number): void {
    const heap = this.#heap
    let at = from
    while (at > 0) {
      const parent = (at - 1) >>> 1
      if ((heap[parent] as number) <= value) break
      heap[at] = heap[parent] as number
      at = parent
    }
    heap[at] = value
  }

  #sink(value: number): void {
    const heap = this.#heap
    let at = 0
    for (;;) {
      let child = 2 * at + 1
      if (child >= this.#count) break
      if (child + 1 < this.#count && (heap[child + 1] as number) < (heap[child] as number)) child++
      if ((heap[child] as number) >= value) break
      heap[at] = heap[child] as number
      at = child
    }
    heap[at] = value
  }
}
