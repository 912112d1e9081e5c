import { openKernel, type SketchKernel } from './sketch-kernel.ts'

/** Where sketches are, what was found for each query, and the loop over them. */
export interface SketchRoom {
  /** The sketch of number `n` starts at `n * words`. Replaced when the room grows. */
  readonly sketches: Int32Array
  /** Makes room for `count` sketches. */
  reserve(count: number): void
  /** Begins a search of these sketches, with room for `pairs` found ones of each. */
  load(queries: readonly Int32Array[], pairs: number): void
  /** Makes room for more found ones; those there are stay. */
  makeRoom(pairs: number): void
  /**
   * Adds the sketches from `start` to below `end` that differ from a query in fewer than `limit` signs to those found,
   * of which there are `at`. Returns how many there are now.
   */
  find(query: number, start: number, end: number, limit: number, at: number): number
  /** What was found for a query: numbers, each followed by its distance. Valid until the room grows. */
  found(query: number): Uint32Array
}

const BYTES = Int32Array.BYTES_PER_ELEMENT
const PAIR = 2 * BYTES
const PAGE = 65_536

/** In a memory of WebAssembly: the sketches, then the queries, then what was found. */
export class KernelRoom implements SketchRoom {
  sketches = new Int32Array(0)
  readonly #words: number
  readonly #memory: WebAssembly.Memory
  readonly #kernel: SketchKernel
  #capacity = 0
  #queries = 0
  #pairs = 0

  /** Returns undefined where there is no WebAssembly, or no address space for its memory. */
  static open(words: number): KernelRoom | undefined {
    if (typeof WebAssembly === 'undefined') return undefined
    try {
      const memory = new WebAssembly.Memory({ initial: 1 })
      const kernel = openKernel(memory, words)
      return kernel && new KernelRoom(words, memory, kernel)
    } catch {
      return undefined
    }
  }

  private constructor(words: number, memory: WebAssembly.Memory, kernel: SketchKernel) {
    this.#words = words
    this.#memory = memory
    this.#kernel = kernel
  }

  reserve(count: number): void {
    if (count <= this.#capacity) return
    this.#capacity = count
    this.#growTo(this.#queriesAt)
  }

  load(queries: readonly Int32Array[], pairs: number): void {
    this.#queries = queries.length
    this.#pairs = pairs
    this.#growTo(this.#foundAt(queries.length))
    for (const [at, sketch] of queries.entries())
      new Int32Array(this.#memory.buffer, this.#queriesAt + at * this.#stride, this.#words).set(sketch)
  }

  makeRoom(pairs: number): void {
    if (pairs <= this.#pairs) return
    const found = Array.from({ length: this.#queries }, (_, query) => this.found(query).slice())
    this.#pairs = pairs
    this.#growTo(this.#foundAt(this.#queries))
    for (const [query, old] of found.entries()) this.found(query).set(old)
  }

  find(query: number, start: number, end: number, limit: number, at: number): number {
    const stride = this.#stride
    const found = this.#foundAt(query)
    const sketch = this.#queriesAt + query * stride
    const last = this.#kernel.find(start * stride, end - start, sketch, limit, found + at * PAIR, start)
    return (last - found) / PAIR
  }

  found(query: number): Uint32Array {
    return new Uint32Array(this.#memory.buffer, this.#foundAt(query), 2 * this.#pairs)
  }

  get #stride(): number {
    return this.#words * BYTES
  }

  get #queriesAt(): number {
    return this.#capacity * this.#stride
  }

  #foundAt(query: number): number {
    return this.#queriesAt + this.#queries * this.#stride + query * this.#pairs * PAIR
  }

  #growTo(bytes: number): void {
    const missing = bytes - this.#memory.buffer.byteLength
    if (missing > 0) this.#memory.grow(Math.ceil(missing / PAGE))
    this.sketches = new Int32Array(this.#memory.buffer, 0, this.#capacity * this.#words)
  }
}

/** In JavaScript, for small indexes and where there is no WebAssembly. */
export class PlainRoom implements SketchRoom {
  sketches = new Int32Array(0)
  readonly #words: number
  #distances = new Uint16Array(0)
  #queries: readonly Int32Array[] = []
  #found: Uint32Array[] = []

  constructor(words: number) {
    this.#words = words
  }

  reserve(count: number): void {
    const size = count * this.#words
    if (size <= this.sketches.length) return
    const larger = new Int32Array(size)
    larger.set(this.sketches)
    this.sketches = larger
  }

  load(queries: readonly Int32Array[], pairs: number): void {
    this.#queries = queries
    this.#found = queries.map(() => new Uint32Array(2 * pairs))
  }

  makeRoom(pairs: number): void {
    this.#found = this.#found.map((old) => {
      const larger = new Uint32Array(Math.max(old.length, 2 * pairs))
      larger.set(old)
      return larger
    })
  }

  find(query: number, start: number, end: number, limit: number, at: number): number {
    const words = this.#words
    const count = end - start
    if (this.#distances.length < count) this.#distances = new Uint16Array(count)
    const distances = this.#distances
    distances.fill(0, 0, count)
    const block = this.sketches.subarray(start * words, end * words)
    for (let word = 0; word < words; word += 8)
      addDistances(block, (this.#queries[query] as Int32Array).subarray(word), distances, count, word, words)
    return pairsBelow(distances, count, limit, this.found(query), at, start)
  }

  found(query: number): Uint32Array {
    return this.#found[query] as Uint32Array
  }
}

/** A separate function, like the loop below, since it compiles better. */
function pairsBelow(
  distances: Uint16Array,
  count: number,
  limit: number,
  into: Uint32Array,
  at: number,
  first: number,
): number {
  let end = at
  for (let number = 0; number < count; number++) {
    const distance = distances[number] as number
    if (distance >= limit) continue
    into[2 * end] = first + number
    into[2 * end + 1] = distance
    end++
  }
  return end
}

/**
 * Counts, for each sketch, the signs in which eight of its numbers differ from those of another. Each number becomes
 * eight 4-bit counts, which are summed as long as they have room and then summed across. Unrolled, since a nested
 * loop takes half as long again.
 */
function addDistances(
  sketches: Int32Array,
  sketch: Int32Array,
  distances: Uint16Array,
  end: number,
  start: number,
  stride: number,
): void {
  const [s0 = 0, s1 = 0, s2 = 0, s3 = 0, s4 = 0, s5 = 0, s6 = 0, s7 = 0] = sketch
  for (let number = 0, at = start; number < end; number++, at += stride) {
    const first =
      bitsByFour((sketches[at] as number) ^ s0) +
      bitsByFour((sketches[at + 1] as number) ^ s1) +
      bitsByFour((sketches[at + 2] as number) ^ s2)
    const second =
      bitsByFour((sketches[at + 3] as number) ^ s3) +
      bitsByFour((sketches[at + 4] as number) ^ s4) +
      bitsByFour((sketches[at + 5] as number) ^ s5)
    const third =
      bitsByFour((sketches[at + 6] as number) ^ s6) + bitsByFour((sketches[at + 7] as number) ^ s7)
    const byEight = foursToEights(first | 0) + foursToEights(second | 0) + foursToEights(third | 0)
    const bySixteen = (byEight & 0x00ff00ff) + ((byEight >>> 8) & 0x00ff00ff)
    const differing = (bySixteen + (bySixteen >>> 16)) & 0xffff
    distances[number] = (distances[number] as number) + differing
  }
}

/** The number of set bits in each group of four. */
function bitsByFour(bits: number): number {
  const byTwo = bits - ((bits >>> 1) & 0x55555555)
  return ((byTwo & 0x33333333) + ((byTwo >>> 2) & 0x33333333)) | 0
}

function foursToEights(counts: number): number {
  return (counts & 0x0f0f0f0f) + ((counts >>> 4) & 0x0f0f0f0f)
}
