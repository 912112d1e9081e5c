import { signBits } from './sign-bits.ts'

/** Steps of a byte on each side of zero. */
const STEPS = 127

/** By 16 bits: how many of them are set. */
const BIT_COUNTS: Uint8Array = new Uint8Array(1 << 16)
for (let bits = 1; bits < BIT_COUNTS.length; bits++)
  BIT_COUNTS[bits] = (BIT_COUNTS[bits >>> 1] as number) + (bits & 1)

/**
 * Vectors by number, in bytes, with a sketch of signs for each. A search compares sketches first, which takes
 * microseconds for thousands, and scores exactly only what came closest. Vectors come and go in place.
 */
export class VectorIndex {
  readonly dimensions: number
  readonly #wordsPerSketch: number
  #values: Int8Array
  #sketches: Uint32Array
  /** By number: what a byte is worth; 0 where there is no vector. */
  #scales: Float32Array
  #end = 0
  #distances = new Uint16Array(0)

  constructor(dimensions: number) {
    this.dimensions = dimensions
    this.#wordsPerSketch = signBits(new Float32Array(dimensions)).length
    this.#values = new Int8Array(0)
    this.#sketches = new Uint32Array(0)
    this.#scales = new Float32Array(0)
  }

  /** Bytes held, for whoever counts memory. */
  get bytes(): number {
    return this.#values.byteLength + this.#sketches.byteLength + this.#scales.byteLength
  }

  /** Sets the vector of a number; one of zeros is not kept. */
  set(number: number, vector: Float32Array): void {
    const largest = vector.reduce((most, value) => Math.max(most, Math.abs(value)), 0)
    if (!(largest > 0)) {
      this.delete(number)
      return
    }
    this.#reserve(number)
    const scale = largest / STEPS
    const start = number * this.dimensions
    for (let at = 0; at < this.dimensions; at++)
      this.#values[start + at] = Math.round((vector[at] ?? 0) / scale)
    this.#sketches.set(signBits(vector), number * this.#wordsPerSketch)
    this.#scales[number] = scale
    this.#end = Math.max(this.#end, number + 1)
  }

  /** Sets the vector of a number as `get` gave it. */
  restore(number: number, { values, scale }: { readonly values: Int8Array; readonly scale: number }): void {
    this.#reserve(number)
    this.#values.set(values, number * this.dimensions)
    // A sketch knows no scale.
    this.#sketches.set(signBits(Float32Array.from(values)), number * this.#wordsPerSketch)
    this.#scales[number] = scale
    this.#end = Math.max(this.#end, number + 1)
  }

  delete(number: number): void {
    if (number >= this.#end) return
    this.#scales[number] = 0
    while (this.#end > 0 && this.#scales[this.#end - 1] === 0) this.#end--
  }

  /** The vector of a number as it is held: bytes, and what one is worth. */
  get(number: number): { readonly values: Int8Array; readonly scale: number } | undefined {
    const scale = this.#scales[number] ?? 0
    if (scale === 0) return undefined
    const start = number * this.dimensions
    return { values: this.#values.subarray(start, start + this.dimensions), scale }
  }

  /** How alike a vector and the one of a number are; 0 when it has none. */
  similarity(vector: Float32Array, number: number): number {
    const values = this.#values
    const start = number * this.dimensions
    const scale = this.#scales[number] ?? 0
    if (scale === 0) return 0
    const end = this.dimensions
    let even = 0
    let odd = 0
    let at = 0
    for (; at + 1 < end; at += 2) {
      even += (vector[at] as number) * (values[start + at] as number)
      odd += (vector[at + 1] as number) * (values[start + at + 1] as number)
    }
    if (at < end) even += (vector[at] as number) * (values[start + at] as number)
    return (even + odd) * scale
  }

  /**
   * At least `count` numbers whose sketches are closest to a vector's, in no order: more where sketches tie, all when
   * there are no more. A number that `accepts` refuses is not counted.
   */
  nearest(vector: Float32Array, count: number, accepts?: (number: number) => boolean): number[] {
    const end = this.#end
    const scales = this.#scales
    if (this.#distances.length < end) this.#distances = new Uint16Array(scales.length)
    const distances = this.#distances
    measure(this.#sketches, signBits(vector), distances, end)
    const byDistance = new Uint32Array(this.#wordsPerSketch * 32 + 1)
    for (let number = 0; number < end; number++) {
      const distance = distances[number] as number
      if (scales[number] === 0 || (accepts !== undefined && !accepts(number))) distances[number] = REFUSED
      else byDistance[distance] = (byDistance[distance] as number) + 1
    }
    let limit = 0
    for (let seen = byDistance[0] as number; seen < count && limit < byDistance.length - 1; )
      seen += byDistance[++limit] as number
    const found: number[] = []
    for (let number = 0; number < end; number++)
      if ((distances[number] as number) <= limit) found.push(number)
    return found
  }

  #reserve(number: number): void {
    if (number < this.#scales.length) return
    const room = Math.max(64, number + 1 + (number >>> 2))
    this.#values = grown(this.#values, new Int8Array(room * this.dimensions))
    this.#sketches = grown(this.#sketches, new Uint32Array(room * this.#wordsPerSketch))
    this.#scales = grown(this.#scales, new Float32Array(room))
  }
}

/** The distance of a number that is not to be found. */
const REFUSED = 0xffff
const WORDS_AT_A_TIME = 8

/** Counts for each sketch the signs in which it differs from one, eight words of each at a time. */
function measure(sketches: Uint32Array, sketch: Uint32Array, distances: Uint16Array, end: number): void {
  const words = sketch.length
  for (let word = 0; word < words; word += WORDS_AT_A_TIME)
    addDistances(sketches, sketch.subarray(word), distances, end, word, words)
}

/** Written out, since a loop within the loop takes half as long again. */
function addDistances(
  sketches: Uint32Array,
  sketch: Uint32Array,
  distances: Uint16Array,
  end: number,
  start: number,
  stride: number,
): void {
  const counts = BIT_COUNTS
  const [s0 = 0, s1 = 0, s2 = 0, s3 = 0, s4 = 0, s5 = 0, s6 = 0, s7 = 0] = sketch
  for (let number = 0, at = start; number < end; number++, at += stride) {
    const d0 = (sketches[at] as number) ^ s0
    const d1 = (sketches[at + 1] as number) ^ s1
    const d2 = (sketches[at + 2] as number) ^ s2
    const d3 = (sketches[at + 3] as number) ^ s3
    const d4 = (sketches[at + 4] as number) ^ s4
    const d5 = (sketches[at + 5] as number) ^ s5
    const d6 = (sketches[at + 6] as number) ^ s6
    const d7 = (sketches[at + 7] as number) ^ s7
    const differing =
      (counts[d0 & 0xffff] as number) +
      (counts[d0 >>> 16] as number) +
      (counts[d1 & 0xffff] as number) +
      (counts[d1 >>> 16] as number) +
      (counts[d2 & 0xffff] as number) +
      (counts[d2 >>> 16] as number) +
      (counts[d3 & 0xffff] as number) +
      (counts[d3 >>> 16] as number) +
      (counts[d4 & 0xffff] as number) +
      (counts[d4 >>> 16] as number) +
      (counts[d5 & 0xffff] as number) +
      (counts[d5 >>> 16] as number) +
      (counts[d6 & 0xffff] as number) +
      (counts[d6 >>> 16] as number) +
      (counts[d7 & 0xffff] as number) +
      (counts[d7 >>> 16] as number)
    distances[number] = start === 0 ? differing : (distances[number] as number) + differing
  }
}

function grown<Numbers extends Int8Array | Uint32Array | Float32Array>(from: Numbers, to: Numbers): Numbers {
  to.set(from)
  return to
}
