/**
 * Many growing lists of 32-bit values in one typed array. Block sizes are powers of two; a list that outgrows its
 * block moves to one twice as large, and the old block is reused by the next list of its size. So ten thousand small
 * lists cost little more than their values, and endless updates do not grow the memory.
 */
export class PostingLists {
  /** The values of list `id` are `values[starts[id] .. starts[id] + lengths[id]]`. Read-only; replaced on growth. */
  values = new Uint32Array(1024)
  starts = new Uint32Array(256)
  lengths = new Uint32Array(256)
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
    this.#sizes[id] = 0
    return id
  }

  append(id: number, value: number): void {
    const length = this.lengths[id] ?? 0
    const size = this.#sizes[id] ?? 0
    if (length === 1 << size) this.#move(id, size, length)
    this.values[(this.starts[id] ?? 0) + length] = value
    this.lengths[id] = length + 1
    this.#live++
  }

  /** Removes the one value that equals `value` above its lowest `shift` bits; returns whether it existed. */
  remove(id: number, value: number, shift: number): boolean {
    const start = this.starts[id] ?? 0
    const last = start + (this.lengths[id] ?? 0) - 1
    for (let at = last; at >= start; at--) {
      if ((this.values[at] ?? 0) >>> shift !== value) continue
      this.values[at] = this.values[last] ?? 0
      this.lengths[id] = last - start
      this.#live--
      return true
    }
    return false
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
    const old = this.values
    this.values = new Uint32Array(this.#live * 2 + 1024)
    this.#end = 0
    this.#freeBlocks = []
    for (let id = 0; id < this.#lists; id++) {
      if (isFree.has(id)) continue
      const start = this.starts[id] ?? 0
      const length = this.lengths[id] ?? 0
      const size = length <= 1 ? 0 : 32 - Math.clz32(length - 1)
      const block = this.#takeBlock(size)
      this.values.set(old.subarray(start, start + length), block)
      this.starts[id] = block
      this.#sizes[id] = size
    }
  }

  get byteLength(): number {
    return this.values.byteLength + this.starts.byteLength + this.lengths.byteLength + this.#sizes.byteLength
  }

  #move(id: number, size: number, length: number): void {
    const from = this.starts[id] ?? 0
    const to = this.#takeBlock(size + 1)
    this.values.copyWithin(to, from, from + length)
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

/** The array itself, or a copy with room for `index` plus a quarter: growth is rare and little space is wasted. */
export function resizedTo(array: Uint32Array<ArrayBuffer>, index: number): Uint32Array<ArrayBuffer> {
  if (index < array.length) return array
  const larger = new Uint32Array(index + (index >>> 2) + 256)
  larger.set(array)
  return larger
}
