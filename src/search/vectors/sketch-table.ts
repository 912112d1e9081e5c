import { openKernel, type SketchKernel } from './sketch-kernel.ts'

/** From this many sketches on, a kernel is worth its memory of 64 KB at least. */
const KERNEL_FROM = 2_048

/** Sketches that are compared with one query after the other: they fit in the fastest cache. */
const BLOCK = 1_024

/** Maximum queries per scan. */
export const MAX_QUERIES = 8

const BYTES = Int32Array.BYTES_PER_ELEMENT
/** Sketches are compared 32 bytes at a time. */
const GROUP = 8 * BYTES

/**
 * Sketches by number, and their distances from a few others. One scan measures up to eight queries, so that the sketches
 * are read once.
 */
export class SketchTable {
  /** Numbers per sketch. */
  readonly words: number
  #room: Room
  #mayUseKernel: boolean

  /** `usesKernel: false` keeps to JavaScript. */
  constructor(words: number, { usesKernel = true }: { readonly usesKernel?: boolean } = {}) {
    this.words = words
    this.#room = new PlainRoom(words)
    this.#mayUseKernel = usesKernel
  }

  /** The sketch of number `n` starts at `n * words`. Valid until the next `reserve`. */
  get sketches(): Int32Array {
    return this.#room.sketches
  }

  get bytes(): number {
    return this.#room.sketches.byteLength
  }

  /** Makes room for `count` sketches. */
  reserve(count: number): void {
    if (this.#mayUseKernel && count >= KERNEL_FROM && this.#room instanceof PlainRoom) {
      this.#mayUseKernel = false
      const { sketches } = this.#room
      this.#room = KernelRoom.open(this.words) ?? this.#room
      this.#room.reserve(count)
      this.#room.sketches.set(sketches)
    } else this.#room.reserve(count)
  }

  /** Measures the sketches below `end` from up to eight queries, whose sketches are concatenated. */
  measure(queries: Int32Array, end: number): void {
    this.#room.measure(queries, end)
  }

  /** How many sketches have each distance from a query, after `measure`. */
  countByDistance(query: number, end: number): Uint32Array {
    return this.#room.countByDistance(query, end)
  }

  /** The numbers at a distance of at least `inner` and less than `outer`; valid until the next call. */
  within(query: number, end: number, inner: number, outer: number): Uint32Array {
    return this.#room.within(query, end, inner, outer)
  }
}

/** Where sketches and distances are, and the loops over them. */
interface Room {
  readonly sketches: Int32Array
  reserve(count: number): void
  measure(queries: Int32Array, end: number): void
  countByDistance(query: number, end: number): Uint32Array
  within(query: number, end: number, inner: number, outer: number): Uint32Array
}

/** In a memory of WebAssembly: queries, counts, sketches, a list of numbers, distances by query. */
class KernelRoom implements Room {
  sketches = new Int32Array(0)
  readonly #words: number
  readonly #memory: WebAssembly.Memory
  readonly #kernel: SketchKernel
  /** Addresses. */
  readonly #counts: number
  readonly #sketches: number
  #capacity = 0

  /** Returns undefined where there is no WebAssembly. */
  static open(words: number): KernelRoom | undefined {
    if (typeof WebAssembly === 'undefined') return undefined
    try {
      const memory = new WebAssembly.Memory({ initial: 1 })
      const kernel = openKernel(memory)
      return kernel && new KernelRoom(words, memory, kernel)
    } catch {
      // No address space is left.
      return undefined
    }
  }

  constructor(words: number, memory: WebAssembly.Memory, kernel: SketchKernel) {
    this.#words = words
    this.#memory = memory
    this.#kernel = kernel
    this.#counts = MAX_QUERIES * words * BYTES
    this.#sketches = this.#counts + (words * 32 + 8) * BYTES
  }

  get #numbers(): number {
    return this.#sketches + this.#capacity * this.#words * BYTES
  }

  reserve(count: number): void {
    if (count <= this.#capacity) return
    this.#capacity = count
    this.#growTo(this.#distancesOf(1))
  }

  measure(queries: Int32Array, end: number): void {
    const words = this.#words
    const count = queries.length / words
    this.#growTo(this.#distancesOf(count))
    new Int32Array(this.#memory.buffer, 0, queries.length).set(queries)
    new Uint8Array(this.#memory.buffer, this.#distancesOf(0)).fill(0, 0, count * this.#distanceBytes)
    const stride = words * BYTES
    for (let start = 0; start < end; start += BLOCK) {
      const length = Math.min(BLOCK, end - start)
      for (let query = 0; query < count; query++) {
        const distances = this.#distancesOf(query) + 2 * start
        for (let group = 0; group < stride; group += GROUP)
          this.#kernel.addDistances(
            this.#sketches + start * stride + group,
            stride,
            length,
            query * stride + group,
            distances,
          )
      }
    }
  }

  countByDistance(query: number, end: number): Uint32Array {
    const counts = new Uint32Array(this.#memory.buffer, this.#counts, this.#words * 32 + 1)
    counts.fill(0)
    this.#kernel.countDistances(this.#distancesOf(query), end, this.#counts)
    return counts
  }

  within(query: number, end: number, inner: number, outer: number): Uint32Array {
    const count = this.#kernel.collect(this.#distancesOf(query), end, inner, outer, this.#numbers)
    return new Uint32Array(this.#memory.buffer, this.#numbers, count)
  }

  get #distanceBytes(): number {
    return (2 * this.#capacity + 7) & ~7
  }

  #distancesOf(query: number): number {
    // One number more than there are: the kernel writes past the last one before it decides.
    return this.#numbers + ((this.#capacity + 2) & ~1) * BYTES + query * this.#distanceBytes
  }

  #growTo(bytes: number): void {
    const missing = bytes - this.#memory.buffer.byteLength
    if (missing > 0) this.#memory.grow(Math.ceil(missing / 65_536))
    this.sketches = new Int32Array(this.#memory.buffer, this.#sketches, this.#capacity * this.#words)
  }
}

/** In JavaScript, for small indexes and where there is no WebAssembly. */
class PlainRoom implements Room {
  sketches = new Int32Array(0)
  readonly #words: number
  readonly #distances: Uint16Array[] = []

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

  measure(queries: Int32Array, end: number): void {
    const words = this.#words
    for (let query = 0; query * words < queries.length; query++) {
      const sketch = queries.subarray(query * words, (query + 1) * words)
      const distances = this.#distancesOf(query)
      distances.fill(0, 0, end)
      for (let word = 0; word < words; word += 8)
        addDistances(this.sketches, sketch.subarray(word), distances, end, word, words)
    }
  }

  countByDistance(query: number, end: number): Uint32Array {
    return countedByDistance(this.#distancesOf(query), end, this.#words * 32)
  }

  within(query: number, end: number, inner: number, outer: number): Uint32Array {
    return numbersWithin(this.#distancesOf(query), end, inner, outer)
  }

  #distancesOf(query: number): Uint16Array {
    const room = this.sketches.length / this.#words
    const known = this.#distances[query]
    if (known !== undefined && known.length >= room) return known
    const distances = new Uint16Array(room)
    this.#distances[query] = distances
    return distances
  }
}

/**
 * How many numbers there are at each distance. A separate function, like the loops below, since it compiles better.
 */
function countedByDistance(distances: Uint16Array, end: number, farthest: number): Uint32Array {
  const counts = new Uint32Array(farthest + 1)
  for (let number = 0; number < end; number++) {
    const distance = distances[number] as number
    counts[distance] = (counts[distance] as number) + 1
  }
  return counts
}

function numbersWithin(distances: Uint16Array, end: number, inner: number, outer: number): Uint32Array {
  const numbers: number[] = []
  for (let number = 0; number < end; number++) {
    const distance = distances[number] as number
    if (distance < outer && distance >= inner) numbers.push(number)
  }
  return Uint32Array.from(numbers)
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
