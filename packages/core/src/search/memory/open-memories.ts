/** Something that can drop what it has read, and read it again. */
export interface Reopenable {
  /** Drops what was read. */
  release(): void
}

/**
 * The memories that are kept open, by owner. Those that were not used the longest are released when there are too many,
 * or when together they take too many bytes; they read their store again when they are used.
 */
export class OpenMemories<Memory extends Reopenable> {
  readonly #maxOpen: number
  readonly #maxBytes: number
  /** The one that was used last is the last one. */
  readonly #open = new Map<string, { readonly memory: Memory; readonly bytes: number }>()
  #bytes = 0

  constructor({ maxOpen, maxBytes }: { readonly maxOpen: number; readonly maxBytes: number }) {
    this.#maxOpen = maxOpen
    this.#maxBytes = maxBytes
  }

  get(owner: string): Memory | undefined {
    return this.#open.get(owner)?.memory
  }

  /** Notes a use, and how many bytes the memory takes if that changed. The used memory itself stays. */
  used(owner: string, memory: Memory, bytes = this.#bytesOf(owner, memory)): void {
    const before = this.#open.get(owner)
    // One that was released before, and that somebody still has.
    if (before && before.memory !== memory) before.memory.release()
    this.#bytes += bytes - (before?.bytes ?? 0)
    this.#open.delete(owner)
    this.#open.set(owner, { memory, bytes })
    for (const [oldest, { memory: unused, bytes: freed }] of this.#open) {
      const isWithin = this.#open.size <= this.#maxOpen && this.#bytes <= this.#maxBytes
      if (isWithin || oldest === owner) break
      this.#open.delete(oldest)
      this.#bytes -= freed
      unused.release()
    }
  }

  #bytesOf(owner: string, memory: Memory): number {
    const known = this.#open.get(owner)
    return known?.memory === memory ? known.bytes : 0
  }
}
