import { openProducts, plainProducts, type RowProducts, refined } from './row-products.ts'
import { KERNEL_FROM, SketchTable } from './sketch-table.ts'

/** A vector, and how many numbers near it are wanted. */
export interface NearestQuery {
  readonly vector: Float32Array
  readonly count: number
}

/** Vectors in bytes, their scales (0 for none) and sketches, and the sum of the vectors. */
export interface SavedVectors {
  readonly values: Int8Array
  readonly scales: Float32Array
  readonly sketches: Int32Array
  readonly sum: Float64Array
}

/** Steps of a byte on each side of zero. */
const STEPS = 127

/**
 * Vectors by number, in bytes, with a sign sketch for each. A search compares sketches first, which takes
 * microseconds for thousands, and scores only the closest exactly. Vectors are added and removed in place.
 */
export class VectorIndex {
  readonly dimensions: number
  readonly #kernelFrom: number
  readonly #sketcher: Sketcher
  readonly #table: SketchTable
  #products: RowProducts | undefined
  #values: Int8Array
  /** By number: the scale of a byte; 0 if there is no vector. */
  #scales: Float32Array
  #end = 0
  /** Of all vectors, for their mean. */
  readonly #sum: Float64Array
  #count = 0
  /** Until the next change. */
  #mean: Float32Array | undefined

  /** `kernelFrom`: how many vectors there are before similarities are computed by WebAssembly. */
  constructor(dimensions: number, { kernelFrom = KERNEL_FROM } = {}) {
    this.dimensions = dimensions
    this.#kernelFrom = kernelFrom
    this.#sketcher = new Sketcher(dimensions)
    this.#table = new SketchTable(this.#sketcher.words)
    this.#values = new Int8Array(0)
    this.#scales = new Float32Array(0)
    this.#sum = new Float64Array(dimensions)
  }

  /** How many numbers have a vector. */
  get count(): number {
    return this.#count
  }

  /** The mean of all vectors. */
  get mean(): Float32Array {
    const count = Math.max(1, this.#count)
    this.#mean ??= Float32Array.from(this.#sum, (sum) => sum / count)
    return this.#mean
  }

  /** Size in bytes, for memory accounting. */
  get bytes(): number {
    return this.#values.byteLength + this.#table.bytes + this.#scales.byteLength
  }

  /** Sets the vector of a number; a zero vector is not stored. */
  set(number: number, vector: Float32Array): void {
    let largest = 0
    for (let at = 0; at < vector.length; at++) largest = Math.max(largest, Math.abs(vector[at] as number))
    if (!(largest > 0)) {
      this.delete(number)
      return
    }
    this.#clear(number)
    const values = this.#values
    const scale = largest / STEPS
    const start = number * this.dimensions
    for (let at = 0; at < this.dimensions; at++) values[start + at] = Math.round((vector[at] ?? 0) / scale)
    this.#place(number, vector, scale)
  }

  /** Sets the vector of a number as returned by `get`. */
  restore(number: number, { values, scale }: { readonly values: Int8Array; readonly scale: number }): void {
    this.#clear(number)
    this.#values.set(values, number * this.dimensions)
    // A vector's signs do not depend on its scale.
    this.#place(number, values, scale)
  }

  delete(number: number): void {
    if (number >= this.#end) return
    this.#weigh(number, -1)
    this.#scales[number] = 0
    while (this.#end > 0 && this.#scales[this.#end - 1] === 0) this.#end--
  }

  /** The stored vector of a number: bytes and their scale. */
  get(number: number): { readonly values: Int8Array; readonly scale: number } | undefined {
    const scale = this.#scales[number] ?? 0
    if (scale === 0) return undefined
    const start = number * this.dimensions
    return { values: this.#values.subarray(start, start + this.dimensions), scale }
  }

  /** The vectors of these numbers, which are all there are, one after the other. */
  pack(numbers: readonly number[]): SavedVectors {
    const { words } = this.#sketcher
    const size = this.dimensions
    const packed: SavedVectors = {
      values: new Int8Array(numbers.length * size),
      scales: new Float32Array(numbers.length),
      sketches: new Int32Array(numbers.length * words),
      sum: this.#sum,
    }
    for (const [at, number] of numbers.entries()) {
      const scale = this.#scales[number] ?? 0
      if (scale === 0) continue
      packed.scales[at] = scale
      packed.values.set(this.#values.subarray(number * size, (number + 1) * size), at * size)
      packed.sketches.set(this.#table.sketches.subarray(number * words, (number + 1) * words), at * words)
    }
    return packed
  }

  /** Takes over the vectors of `pack`, from number 0 on. It must be empty. */
  adopt({ values, scales, sketches, sum }: SavedVectors): void {
    this.#values = values
    this.#scales = scales
    this.#table.reserve(scales.length)
    this.#table.sketches.set(sketches)
    this.#end = scales.length
    this.#sum.set(sum)
    this.#mean = undefined
    this.#count = 0
    for (let number = 0; number < this.#end; number++) if (scales[number] !== 0) this.#count++
  }

  /** The similarities of some vectors to those of some numbers, 0 for a number without: by vector, then by number. */
  similarities(vectors: readonly Float32Array[], numbers: readonly number[]): Float64Array[] {
    const rows = { values: this.#values, dimensions: this.dimensions }
    const fine = vectors.map((vector) => refined(vector, this.dimensions))
    const products = this.#multiplier().products(
      rows,
      numbers,
      fine.map(({ values }) => values),
    )
    return products.map((ofVector, at) => {
      const scale = fine[at]?.scale ?? 0
      const similarities = new Float64Array(numbers.length)
      for (let row = 0; row < similarities.length; row++)
        similarities[row] = (ofVector[row] as number) * scale * (this.#scales[numbers[row] as number] ?? 0)
      return similarities
    })
  }

  /**
   * For each query, at least `count` numbers whose sketches are closest to its vector's, unordered: more if sketches tie,
   * all if there are fewer. Numbers that `accepts` rejects are not counted; it is called only for close ones. All queries
   * share one scan.
   */
  nearest(queries: readonly NearestQuery[], accepts?: (number: number) => boolean): number[][] {
    const wanted = queries.map(({ vector, count }) => {
      const sketch = new Int32Array(this.#sketcher.words)
      this.#sketcher.sketch(vector, sketch, 0)
      return { sketch, count }
    })
    const isPresent = (number: number) => this.#scales[number] !== 0
    const near = this.#table.closest(wanted, this.#end, isPresent)
    if (accepts === undefined) return [...near]
    return near.map((numbers, at) => {
      const accepted = numbers.filter(accepts)
      const query = wanted[at]
      if (query === undefined || accepted.length >= query.count || numbers.length < query.count)
        return accepted
      // Most of the closest are rejected: look further, asking about each that is closer than those found so far.
      const isAccepted = (number: number) => isPresent(number) && accepts(number)
      return this.#table.closest([query], this.#end, isAccepted)[0] ?? []
    })
  }

  /** In a small index, a kernel is not worth its memory. */
  #multiplier(): RowProducts {
    if (this.#end < this.#kernelFrom) return plainProducts
    this.#products ??= openProducts(this.dimensions)
    return this.#products
  }

  #place(number: number, vector: Float32Array | Int8Array, scale: number): void {
    this.#sketcher.sketch(vector, this.#table.sketches, number * this.#sketcher.words)
    this.#scales[number] = scale
    this.#end = Math.max(this.#end, number + 1)
    this.#weigh(number, 1)
  }

  /** Makes room for a number, and removes the vector that it has. */
  #clear(number: number): void {
    this.#reserve(number)
    this.#weigh(number, -1)
    this.#scales[number] = 0
  }

  /** Adds the vector of a number to the mean, or removes it. */
  #weigh(number: number, sign: 1 | -1): void {
    const scale = this.#scales[number] ?? 0
    if (scale === 0) return
    this.#count += sign
    this.#mean = undefined
    const sum = this.#sum
    const start = number * this.dimensions
    for (let at = 0; at < sum.length; at++)
      sum[at] = (sum[at] as number) + sign * scale * (this.#values[start + at] as number)
  }

  #reserve(number: number): void {
    if (number < this.#scales.length) return
    const room = Math.max(64, number + 1 + (number >>> 2))
    this.#values = grown(this.#values, new Int8Array(room * this.dimensions))
    this.#table.reserve(room)
    this.#scales = grown(this.#scales, new Float32Array(room))
  }
}

function grown<Numbers extends Int8Array | Float32Array>(from: Numbers, to: Numbers): Numbers {
  to.set(from)
  return to
}

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
