import {
  anyFunction,
  checkOptions,
  either,
  type OptionRules,
  objectWith,
  wholeNumber,
} from '../check-options.ts'
import { ToolcribError } from '../errors.ts'
import { type Clock, readClock } from '../time.ts'
import type { Change, Store, StoredValue, WriteOptions } from './store.ts'
import { checkKey, decodeValue, type EncodedValue, encodeValue, expiryOf } from './stored-value.ts'

export interface MemoryStoreOptions {
  /** The maximum number of entries. Default: 100,000. */
  readonly maxEntries?: number
  /** The maximum size of all entries, in characters of JSON and bytes. Default: 256 million. */
  readonly maxChars?: number
  /** The clock. Default: `Date`. */
  readonly clock?: Clock
}

/**
 * A store in memory, for one process. When it is full, the least recently used entries are removed.
 */
export function memoryStore(options: MemoryStoreOptions = {}): Store {
  checkOptions('memoryStore()', options, OPTIONS)
  return new MemoryStore(options)
}

const OPTIONS: OptionRules<MemoryStoreOptions> = {
  maxEntries: wholeNumber({ from: 1 }),
  maxChars: wholeNumber({ from: 1 }),
  clock: either(anyFunction, objectWith('now')),
}

interface StoredEntry {
  readonly value: EncodedValue
  readonly expiresAt: number
}

/** How many entries each operation checks for expiry: more than it adds, so that expired ones do not accumulate. */
const SWEPT_AT_ONCE = 2

class MemoryStore implements Store {
  readonly #maxEntries: number
  readonly #maxChars: number
  readonly #now: () => number
  /** The least recently used first. */
  readonly #entries = new Map<string, StoredEntry>()
  #chars = 0
  #sweep = this.#entries.entries()
  #isClosed = false

  constructor({ maxEntries = 100_000, maxChars = 256_000_000, clock = Date }: MemoryStoreOptions) {
    this.#maxEntries = maxEntries
    this.#maxChars = maxChars
    this.#now = readClock(clock)
  }

  async get(key: string): Promise<StoredValue | undefined> {
    this.#begin(key)
    return this.#read(key)
  }

  async set(key: string, value: StoredValue, options: WriteOptions = {}): Promise<void> {
    this.#begin(key)
    this.#write(key, value, options)
  }

  async update(key: string, change: Change, options: WriteOptions = {}): Promise<StoredValue | undefined> {
    this.#begin(key)
    const current = this.#read(key)
    const changed = change(current)
    if (changed === current) return current
    if (changed === undefined) this.#remove(key)
    else this.#write(key, changed, options)
    return this.#read(key)
  }

  async delete(key: string): Promise<void> {
    this.#begin(key)
    this.#remove(key)
  }

  async close(): Promise<void> {
    this.#isClosed = true
    this.#entries.clear()
    this.#chars = 0
  }

  #begin(key: string): void {
    if (this.#isClosed) throw new ToolcribError('store-unavailable', 'the store is closed')
    checkKey(key)
    this.#removeExpired()
  }

  #read(key: string): StoredValue | undefined {
    const entry = this.#entries.get(key)
    if (entry === undefined) return undefined
    if (entry.expiresAt <= this.#now()) {
      this.#remove(key)
      return undefined
    }
    this.#entries.delete(key)
    this.#entries.set(key, entry)
    return decodeValue(entry.value)
  }

  #write(key: string, value: StoredValue, options: WriteOptions): void {
    const entry = { value: encodeValue(value), expiresAt: expiryOf(options, this.#now()) }
    if (entry.value.length > this.#maxChars) {
      throw new ToolcribError(
        'config-invalid',
        `a value of ${entry.value.length} characters does not fit into the ${this.#maxChars} of the store`,
      )
    }
    this.#remove(key)
    this.#entries.set(key, entry)
    this.#chars += entry.value.length
    this.#makeRoom()
  }

  #remove(key: string): void {
    this.#chars -= this.#entries.get(key)?.value.length ?? 0
    this.#entries.delete(key)
  }

  /** Checks the next few entries, so that the cost of cleaning up is spread over all operations. */
  #removeExpired(): void {
    for (let looked = 0; looked < SWEPT_AT_ONCE; looked++) {
      const { value, done } = this.#sweep.next()
      if (done) this.#sweep = this.#entries.entries()
      else if (value[1].expiresAt <= this.#now()) this.#remove(value[0])
    }
  }

  #makeRoom(): void {
    for (const key of this.#entries.keys()) {
      if (this.#entries.size <= this.#maxEntries && this.#chars <= this.#maxChars) return
      this.#remove(key)
    }
  }
}
