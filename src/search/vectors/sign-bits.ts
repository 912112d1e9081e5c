/**
 * Makes sketches of vectors: the signs of their coordinates, 32 per number, after a fixed rotation. The number of
 * differing signs approximates the angle between two vectors; the rotation spreads information evenly over the signs.
 */
export class Sketcher {
  /** Numbers per sketch. */
  readonly words: number
  /** Scratch buffer; one is enough, since sketching is synchronous. */
  readonly #values: Float32Array
  /** By round: which coordinates change their sign. */
  readonly #flips: readonly Float32Array[]

  constructor(dimensions: number) {
    let size = SMALLEST
    while (size < dimensions) size *= 2
    this.words = size / WORD
    this.#values = new Float32Array(size)
    this.#flips = SEEDS.map((seed) =>
      Float32Array.from({ length: size }, (_, at) => ((Math.imul(at + 1, seed) >>> 16) & 1 ? -1 : 1)),
    )
  }

  /** Writes the sketch of a vector of any length into `into`, from `start` on. */
  sketch(vector: Float32Array | Int8Array, into: Int32Array, start: number): void {
    const values = this.#values
    values.fill(0)
    values.set(vector)
    for (const flips of this.#flips) spread(values, flips)
    for (let word = 0; word < this.words; word++) {
      let bits = 0
      const first = word * WORD
      for (let at = 0; at < WORD; at++) if ((values[first + at] as number) > 0) bits |= 1 << at
      into[start + word] = bits
    }
  }
}

const WORD = 32
/** Sketches are compared eight numbers at a time. */
const SMALLEST = 8 * WORD
const SEEDS = [0x9e3779b1, 0x85ebca6b]

/** Flips some signs, then applies a Walsh–Hadamard transform in place: n·log n steps instead of n² for a rotation. */
function spread(values: Float32Array, flips: Float32Array): void {
  const size = values.length
  for (let at = 0; at < size; at++) values[at] = (values[at] as number) * (flips[at] as number)
  for (let half = 1; half < size; half *= 2) {
    for (let start = 0; start < size; start += 2 * half) {
      for (let at = start; at < start + half; at++) {
        const left = values[at] as number
        const right = values[at + half] as number
        values[at] = left + right
        values[at + half] = left - right
      }
    }
  }
}
