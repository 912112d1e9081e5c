/**
 * Many growing lists of postings, each with a byte beside it, in two typed arrays. A list is sorted by listing, so that one
 * posting is found without reading the others. Block sizes are powers of two; a list that outgrows its
 * block moves to one twice as large, and the old block is reused by the next list of its size. So ten thousand small
 * lists cost little more than their postings, and endless updates do not grow the memory.
 */
export class PostingLists {
  /** The postings of list `id` are `values[starts[id] .. starts[id] + lengths[id]]`. Read-only; replaced on growth. */
  values = new Uint32Array(1024)
  /** The bytes beside the postings. */
  notes = new Uint8Array(1024)
  starts = new Uint32Array(256)
  lengths = new Uint32Array(256)
  /** By list: no posting has a higher impact. */
  peaks = new Uint8Array(256)
  /** Log2 of each list's block size. */
  #sizes = new Uint32Array(256)
  #lists = 0
  #end = 0
  #live = 0
  readonly #freeLists: number[] = []
  #freeBlocks: number[][] = []

  /** Creates an empty list. Ids of released lists are reused. */
  create(): number {
    const id = this.#freeLists.pop() ?? this.#lists++
    this.starts = resizedTo(this.starts, id)
    this.lengths = resizedTo(this.lengths, id)
    this.#sizes = resizedTo(this.#sizes, id)
    this.starts[id] = this.#takeBlock(0)
    this.lengths[id] = 0
    if (id >= this.peaks.length) this.peaks = copied(this.peaks, this.lengths.length)
    this.peaks[id] = 0
    this.#sizes[id] = 0
    return id
  }

  /** Adds the posting of a listing that the list does not contain. Cheapest if its number is the highest. */
  insert(id: number, posting: number, note = 0): void {
    const length = this.lengths[id] ?? 0
    const size = this.#sizes[id] ?? 0
    if (length === 1 << size) this.#move(id, size, length)
    const start = this.starts[id] as number
    const end = start + length
    const isLast = length === 0 || (this.values[end - 1] as number) < posting
    const at = isLast ? end : firstFrom(this.values, start, end, posting >>> LISTING_SHIFT)
    if (at < end) {
      this.values.copyWithin(at + 1, at, end)
      this.notes.copyWithin(at + 1, at, end)
    }
    this.values[at] = posting
    this.notes[at] = note
    this.peaks[id] = Math.max(this.peaks[id] as number, posting & IMPACT_MASK)
    this.lengths[id] = length + 1
    this.#live++
  }

  /** Where a listing's posting is in `values`; -1 if the list does not contain it. */
  find(id: number, listing: number): number {
    const start = this.starts[id] as number
    const end = start + (this.lengths[id] as number)
    const at = firstFrom(this.values, start, end, listing)
    return at < end && (this.values[at] as number) >>> LISTING_SHIFT === listing ? at : -1
  }

  /** Visits the postings of these listings, which are sorted: the place in `values`, and that among the listings. */
  findAll(id: number, listings: Uint32Array, visit: (at: number, place: number) => void): void {
    const { values } = this
    let at = this.starts[id] as number
    const end = at + (this.lengths[id] as number)
    // A short list is read from end to end.
    for (let place = 0; end - at < SHORT_LIST && at < end; at++) {
      const listing = (values[at] as number) >>> LISTING_SHIFT
      while (place < listings.length && (listings[place] as number) < listing) place++
      if (listings[place] === listing) visit(at, place)
    }
    for (let place = 0; place < listings.length && at < end; place++) {
      const listing = listings[place] as number
      // Ever longer steps find a near one quickly, and a far one too.
      let step = 1
      while (at + step < end && (values[at + step] as number) >>> LISTING_SHIFT < listing) step *= 2
      at = firstFrom(values, at + (step >>> 1), Math.min(end, at + step + 1), listing)
      if (at < end && (values[at] as number) >>> LISTING_SHIFT === listing) visit(at, place)
    }
  }

  /** Removes the posting of a listing; returns whether there was one. */
  remove(id: number, listing: number): boolean {
    const at = this.find(id, listing)
    if (at < 0) return false
    const end = (this.starts[id] as number) + (this.lengths[id] as number)
    this.values.copyWithin(at, at + 1, end)
    this.notes.copyWithin(at, at + 1, end)
    this.lengths[id] = (this.lengths[id] as number) - 1
    this.#live--
    return true
  }

  /** Makes room for this many postings. */
  reserve(count: number): void {
    if (count <= this.values.length) return
    const { values } = this
    this.values = new Uint32Array(count)
    this.values.set(values)
    this.notes = copied(this.notes, count)
  }

  /** Gives an empty list its postings, sorted by listing. */
  fill(id: number, values: Uint32Array, notes: Uint8Array): void {
    const size = values.length <= 1 ? 0 : 32 - Math.clz32(values.length - 1)
    this.#freeBlock(this.starts[id] ?? 0, this.#sizes[id] ?? 0)
    const block = this.#takeBlock(size)
    this.values.set(values, block)
    this.notes.set(notes, block)
    this.starts[id] = block
    this.lengths[id] = values.length
    this.#sizes[id] = size
    this.#live += values.length
    this.peaks[id] = highestImpact(values)
  }

  /** Releases an empty list. */
  release(id: number): void {
    this.#freeBlock(this.starts[id] ?? 0, this.#sizes[id] ?? 0)
    this.lengths[id] = 0
    this.#freeLists.push(id)
  }

  /** Compacts the array when most of it is empty. */
  compactIfSparse(): void {
    if (this.#end < 4096 || this.#live * 4 > this.#end) return
    const isFree = new Set(this.#freeLists)
    const { values, notes } = this
    this.values = new Uint32Array(this.#live * 2 + 1024)
    this.notes = new Uint8Array(this.values.length)
    this.#end = 0
    this.#freeBlocks = []
    for (let id = 0; id < this.#lists; id++) {
      if (isFree.has(id)) continue
      const start = this.starts[id] ?? 0
      const length = this.lengths[id] ?? 0
      const size = length <= 1 ? 0 : 32 - Math.clz32(length - 1)
      const block = this.#takeBlock(size)
      this.values.set(values.subarray(start, start + length), block)
      this.notes.set(notes.subarray(start, start + length), block)
      this.starts[id] = block
      this.#sizes[id] = size
      this.peaks[id] = highestImpact(values.subarray(start, start + length))
    }
  }

  get byteLength(): number {
    const { values, notes, starts, lengths, peaks } = this
    const lists = starts.byteLength + lengths.byteLength + peaks.byteLength + this.#sizes.byteLength
    return values.byteLength + notes.byteLength + lists
  }

  #move(id: number, size: number, length: number): void {
    const from = this.starts[id] ?? 0
    const to = this.#takeBlock(size + 1)
    this.values.copyWithin(to, from, from + length)
    this.notes.copyWithin(to, from, from + length)
    this.#freeBlock(from, size)
    this.starts[id] = to
    this.#sizes[id] = size + 1
  }

  #takeBlock(size: number): number {
    const reused = this.#freeBlocks[size]?.pop()
    if (reused !== undefined) return reused
    const block = this.#end
    this.#end += 1 << size
    this.values = resizedTo(this.values, this.#end)
    if (this.notes.length < this.values.length) this.notes = copied(this.notes, this.values.length)
    return block
  }

  #freeBlock(start: number, size: number): void {
    const blocks = this.#freeBlocks[size]
    if (blocks === undefined) {
      while (this.#freeBlocks.length <= size) this.#freeBlocks.push([])
      this.#freeBlocks[size]?.push(start)
    } else blocks.push(start)
  }
}

function copied(bytes: Uint8Array<ArrayBuffer>, room: number): Uint8Array<ArrayBuffer> {
  const larger = new Uint8Array(room)
  larger.set(bytes)
  return larger
}

function highestImpact(values: Uint32Array): number {
  let highest = 0
  for (let at = 0; at < values.length; at++) highest = Math.max(highest, (values[at] as number) & IMPACT_MASK)
  return highest
}

/** Lists up to about this long are read from end to end faster than searched. */
const SHORT_LIST = 32

/** The first place from `start` on whose posting is of this listing or a later one; `end` if there is none. */
function firstFrom(values: Uint32Array, start: number, end: number, listing: number): number {
  let low = start
  let high = end
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((values[middle] as number) >>> LISTING_SHIFT < listing) low = middle + 1
    else high = middle
  }
  return low
}

/** From this many numbers on, spare room costs more than growing more often. */
const LARGE = 2 ** 22

/**
 * The array itself, or a copy with room for `index` plus a quarter, in a large one plus a sixteenth: growth is rare and
 * little space is wasted.
 */
export function resizedTo(array: Uint32Array<ArrayBuffer>, index: number): Uint32Array<ArrayBuffer> {
  if (index < array.length) return array
  const spare = index < LARGE ? index >>> 2 : index >>> 4
  const larger = new Uint32Array(index + spare + 256)
  larger.set(array)
  return larger
}

/**
 * One posting in 32 bits: a listing's number, and the impact, which is the word's weighted frequency on a saturating
 * scale. The byte beside it has a bit per field that contains the word.
 */
export const LISTING_SHIFT = 8
export const MAX_LISTINGS = 2 ** (32 - LISTING_SHIFT)
export const IMPACT_MASK = (1 << LISTING_SHIFT) - 1

/**
 * The weighted frequency that earns half of a word's maximum. Higher than the usual 1.2 for prose, since a single
 * occurrence in a name already counts 2.5 here.
 */
const HALF_SATURATION = 2

export function toPosting(listing: number, frequency: number): number {
  const saturated = frequency / (frequency + HALF_SATURATION)
  // The square root gives rare words more of the few steps, where they matter.
  const impact = Math.min(IMPACT_MASK, Math.max(1, Math.round(Math.sqrt(saturated) * (IMPACT_MASK + 1))))
  return ((listing << LISTING_SHIFT) | impact) >>> 0
}

/** By impact: the share of a word's maximum, below 1. */
export const SATURATION: Float64Array = Float64Array.from(
  { length: IMPACT_MASK + 1 },
  (_, impact) => (impact / (IMPACT_MASK + 1)) ** 2,
)
