import type { Change, Store, StoredValue } from 'toolcrib/stores'

/** A store whose values expire when they are not written for a while. Closing it does not close the store beneath. */
export class ExpiringStore implements Store {
  readonly #store: Store
  readonly #ttlMs: number

  constructor(store: Store, ttlMs: number) {
    this.#store = store
    this.#ttlMs = ttlMs
  }

  get(key: string): Promise<StoredValue | undefined> {
    return this.#store.get(key)
  }

  set(key: string, value: StoredValue): Promise<void> {
    return this.#store.set(key, value, { ttlMs: this.#ttlMs })
  }

  update(key: string, change: Change): Promise<StoredValue | undefined> {
    return this.#store.update(key, change, { ttlMs: this.#ttlMs })
  }

  delete(key: string): Promise<void> {
    return this.#store.delete(key)
  }

  async close(): Promise<void> {}
}
