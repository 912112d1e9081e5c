import type { Store } from '../store/store.ts'

const KEPT_MS = 30 * 24 * 60 * 60_000

/** Keys of a session that can be used once: by anybody who shares its store, or in this object if there is none. */
export class SingleUse {
  readonly newKey: () => string
  readonly #place: { readonly id: string; readonly store: Store | undefined }
  readonly #used = new Set<string>()

  constructor(place: { readonly id: string; readonly store: Store | undefined }, newId: () => string) {
    this.#place = place
    this.newKey = newId
  }

  /** Whether other processes know which keys were used. */
  get isShared(): boolean {
    return this.#place.store !== undefined
  }

  /** False if the key was used before. Rejects with `store-unavailable` if that cannot be known. */
  async use(key: string): Promise<boolean> {
    const { id, store } = this.#place
    if (!store) return !this.#used.has(key) && this.#used.add(key).has(key)
    const mine = this.newKey()
    return (await store.update(`used:${id}:${key}`, (user) => user ?? mine, { ttlMs: KEPT_MS })) === mine
  }
}
