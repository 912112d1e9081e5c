import type { StorageSpace } from './space.ts'

/** Spaces in memory, which last as long as the process. */
export class MemorySpaces {
  readonly #spaces = new Map<string, MemorySpace>()

  open(name: string): StorageSpace {
    const space = this.#spaces.get(name) ?? new MemorySpace()
    this.#spaces.set(name, space)
    return space
  }
}

class MemorySpace implements StorageSpace {
  readonly #values = new Map<string, string>()

  async get(key: string): Promise<string | undefined> {
    return this.#values.get(key)
  }

  async set(key: string, value: string): Promise<void> {
    this.#values.set(key, value)
  }

  async delete(key: string): Promise<void> {
    this.#values.delete(key)
  }

  async keys(): Promise<string[]> {
    return [...this.#values.keys()]
  }

  async count(): Promise<number> {
    return this.#values.size
  }
}
