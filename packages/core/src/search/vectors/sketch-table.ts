import { KernelBuffer, PlainBuffer, type SketchBuffer } from './sketch-buffers.ts'

/** From this many sketches on, a kernel is worth its memory: 64 KB at least, and as much again for products of vectors. */
export const KERNEL_FROM = 2_048

/** Sketches that are compared with one query after the other: they fit in the fastest cache. */
const BLOCK = 1_024

/** The first block is small: once it is sorted out, those after it are only searched for what is closer. */
const FIRST_BLOCK = 256

/** One wanted list of the sketches closest to a query. */
export interface SketchQuery {
  readonly sketch: Int32Array
  /** How many are wanted at least. */
  readonly count: number
}

/**
 * Sketches by number. A search compares all of them with its queries, which are read once for all queries, and keeps
 * the closest.
 */
export class SketchTable {
  /** Numbers per sketch. */
  readonly words: number
  #room: SketchBuffer
  #mayUseKernel: boolean

  /** `usesKernel: false` keeps to JavaScript. */
  constructor(words: number, { usesKernel = true }: { readonly usesKernel?: boolean } = {}) {
    this.words = words
    this.#room = new PlainBuffer(words)
    this.#mayUseKernel = usesKernel
  }

  /** The sketch of number `n` starts at `n * words`. Valid until the next `reserve` or search. */
  get sketches(): Int32Array {
    return this.#room.sketches
  }

  get bytes(): number {
    return this.#room.sketches.byteLength
  }

  /** Makes room for `count` sketches. */
  reserve(count: number): void {
    if (!this.#mayUseKernel || count < KERNEL_FROM) {
      this.#room.reserve(count)
      return
    }
    this.#mayUseKernel = false
    const { sketches } = this.#room
    this.#room = KernelBuffer.open(this.words) ?? this.#room
    this.#room.reserve(count)
    this.#room.sketches.set(sketches)
  }

  /**
   * For each query, the numbers below `end` of the closest accepted sketches, unordered: more than `count` if sketches
   * tie, all if there are fewer.
   */
  closest(
    queries: readonly SketchQuery[],
    end: number,
    accepts: (number: number) => boolean,
  ): readonly number[][] {
    const room = this.#room
    const closest = queries.map((query, at) => new Closest(query.count, at, room, accepts, 32 * this.words))
    room.load(
      queries.map(({ sketch }) => sketch),
      Math.max(0, ...closest.map(({ room }) => room)),
    )
    for (let start = 0, block = FIRST_BLOCK; start < end; start += block) {
      if (start > 0) block = Math.min(BLOCK, start)
      for (const one of closest) one.read(start, Math.min(end, start + block))
    }
    return closest.map((one) => one.numbers())
  }
}

/** Found sketches are sorted out once there are twice as many as wanted, and at least this many. */
const LEAST_FOUND = 128

/**
 * The closest sketches of one query so far. Once enough are found, only closer ones are of interest, so that almost none of
 * the later sketches is found.
 */
class Closest {
  /** How many pairs the room has to keep for it. */
  readonly room: number
  readonly #count: number
  readonly #query: number
  readonly #rooms: SketchBuffer
  readonly #accepts: (number: number) => boolean
  readonly #farthest: number
  #full: number
  /** Only sketches that differ in fewer signs are of interest. */
  #limit: number
  #found = 0
  /** How many of the found ones are accepted; the others were not asked about yet. */
  #accepted = 0

  constructor(
    count: number,
    query: number,
    rooms: SketchBuffer,
    accepts: (number: number) => boolean,
    farthest: number,
  ) {
    this.#count = count
    this.#query = query
    this.#rooms = rooms
    this.#accepts = accepts
    this.#farthest = farthest
    this.#limit = farthest + 1
    this.#full = Math.max(2 * count, LEAST_FOUND)
    this.room = this.#full + BLOCK + 1
  }

  read(start: number, end: number): void {
    this.#found = this.#rooms.find(this.#query, start, end, this.#limit, this.#found)
    if (this.#found > this.#full) this.#sortOut()
  }

  numbers(): number[] {
    this.#sortOut()
    const pairs = this.#rooms.found(this.#query)
    const numbers: number[] = []
    for (let at = 0; at < this.#found; at++) numbers.push(pairs[2 * at] as number)
    return numbers
  }

  /** Drops what is rejected or too far away, and lowers the limit. */
  #sortOut(): void {
    const pairs = this.#rooms.found(this.#query)
    const byDistance = new Uint32Array(this.#farthest + 1)
    let kept = this.#accepted
    for (let at = this.#accepted; at < this.#found; at++) {
      const number = pairs[2 * at] as number
      if (!this.#accepts(number)) continue
      pairs[2 * kept] = number
      pairs[2 * kept + 1] = pairs[2 * at + 1] as number
      kept++
    }
    for (let at = 0; at < kept; at++) {
      const distance = pairs[2 * at + 1] as number
      byDistance[distance] = (byDistance[distance] as number) + 1
    }
    if (kept >= this.#count) this.#limit = Math.min(this.#limit, distanceOf(this.#count, byDistance))
    this.#found = 0
    for (let at = 0; at < kept; at++) {
      const distance = pairs[2 * at + 1] as number
      if (distance >= this.#limit) continue
      pairs[2 * this.#found] = pairs[2 * at] as number
      pairs[2 * this.#found + 1] = distance
      this.#found++
    }
    this.#accepted = this.#found
    if (this.#found <= this.#full) return
    // Ties may be any number.
    this.#full = 2 * this.#found
    this.#rooms.makeRoom(this.#full + BLOCK + 1)
  }
}

/** The distance below which there are `wanted`; past the last if there are fewer. */
function distanceOf(wanted: number, byDistance: Uint32Array): number {
  let distance = 0
  for (let seen = 0; seen < wanted && distance < byDistance.length; distance++)
    seen += byDistance[distance] as number
  return distance
}
