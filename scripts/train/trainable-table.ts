const FIRST_MOMENT = 0.9
const SECOND_MOMENT = 0.999
const TINY = 1e-8

/**
 * A trainable token table. A text's vector is the sum of its tokens' rows, scaled to length 1. Steps use Adam, only
 * for the rows that a batch touched.
 */
export class TrainableTable {
  readonly dimensions: number
  readonly rows: Float32Array
  readonly #gradient: Float32Array
  readonly #first: Float32Array
  readonly #second: Float32Array
  readonly #steps: Uint32Array
  readonly #change: Float32Array
  readonly #touched = new Set<number>()

  constructor(rows: Float32Array, dimensions: number) {
    this.dimensions = dimensions
    this.rows = rows
    this.#gradient = new Float32Array(rows.length)
    this.#first = new Float32Array(rows.length)
    this.#second = new Float32Array(rows.length)
    this.#change = new Float32Array(dimensions)
    this.#steps = new Uint32Array(rows.length / dimensions)
  }

  /** Writes a text's vector into `into` at `start`; returns its length before scaling. */
  embed(tokens: readonly number[], into: Float32Array, start: number): number {
    const { dimensions: size, rows } = this
    into.fill(0, start, start + size)
    for (const token of tokens) {
      const row = token * size
      for (let at = 0; at < size; at++)
        into[start + at] = (into[start + at] as number) + (rows[row + at] as number)
    }
    let square = 0
    for (let at = start; at < start + size; at++) square += (into[at] as number) ** 2
    const length = Math.sqrt(square) + TINY
    for (let at = start; at < start + size; at++) into[at] = (into[at] as number) / length
    return length
  }

  /** Receives how a text's vector should change (`pull`, against its loss) and distributes it over the text's rows. */
  learn(
    tokens: readonly number[],
    vectors: Float32Array,
    start: number,
    length: number,
    pull: Float32Array,
    pullStart: number,
  ): void {
    const size = this.dimensions
    let along = 0
    for (let at = 0; at < size; at++)
      along += (pull[pullStart + at] as number) * (vectors[start + at] as number)
    const change = this.#change
    for (let at = 0; at < size; at++)
      change[at] = ((pull[pullStart + at] as number) - along * (vectors[start + at] as number)) / length
    const gradient = this.#gradient
    for (const token of tokens) {
      const row = token * size
      this.#touched.add(token)
      for (let at = 0; at < size; at++)
        gradient[row + at] = (gradient[row + at] as number) + (change[at] as number)
    }
  }

  step(rate: number): void {
    const { dimensions: size, rows } = this
    const gradients = this.#gradient
    const firsts = this.#first
    const seconds = this.#second
    for (const token of this.#touched) {
      const steps = (this.#steps[token] as number) + 1
      this.#steps[token] = steps
      const firstScale = 1 / (1 - FIRST_MOMENT ** steps)
      const secondScale = 1 / (1 - SECOND_MOMENT ** steps)
      for (let at = token * size; at < (token + 1) * size; at++) {
        const gradient = gradients[at] as number
        const first = FIRST_MOMENT * (firsts[at] as number) + (1 - FIRST_MOMENT) * gradient
        const second = SECOND_MOMENT * (seconds[at] as number) + (1 - SECOND_MOMENT) * gradient * gradient
        firsts[at] = first
        seconds[at] = second
        gradients[at] = 0
        rows[at] =
          (rows[at] as number) + (rate * first * firstScale) / (Math.sqrt(second * secondScale) + TINY)
      }
    }
    this.#touched.clear()
  }
}
