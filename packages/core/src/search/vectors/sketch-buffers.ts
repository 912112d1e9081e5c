import { openKernel, type SketchKernel } from './sketch-kernel.ts'

/** Where sketches are, what was found for each query, and the loop over them. */
export interface SketchBuffer {
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
export class KernelBuffer implements SketchBuffer {
  sketches = new Int32Array(0)
  readonly #words: number
  readonly #memory: WebAssembly.Memory
  readonly #kernel: SketchKernel
  #capacity = 0
  #queries = 0
  #pairs = 0

  /** Returns undefined where there is no WebAssembly, or no address space for its memory. */
  static open(words: number): KernelBuffer | undefined {
    if (typeof WebAssembly === 'undefined') return undefined
    try {
      const memory = new WebAssembly.Memory({ initial: 1 })
      const kernel = openKernel(memory, words)
      return kernel && new KernelBuffer(words, memory, kernel)
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
export class PlainBuffer implements SketchBuffer {
  sketches = new Int32Array(0)
  readonly #words: number
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
    const sketches = this.sketches
    const sketch = this.#queries[query] as Int32Array
    const into = this.found(query)
    let count = at
    for (let number = start; number < end; number++) {
      const first = number * words
      let distance = 0
      for (let word = 0; word < words; word++)
        distance += bitsOf((sketches[first + word] as number) ^ (sketch[word] as number))
      if (distance >= limit) continue
      into[2 * count] = number
      into[2 * count + 1] = distance
      count++
    }
    return count
  }

  found(query: number): Uint32Array {
    return this.#found[query] as Uint32Array
  }
}

/** The number of set bits. */
function bitsOf(bits: number): number {
  const byTwo = bits - ((bits >>> 1) & 0x55555555)
  const byFour = (byTwo & 0x33333333) + ((byTwo >>> 2) & 0x33333333)
  return Math.imul((byFour + (byFour >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24
}
