import type { Schedule, Searcher, VectorSearcher } from '@toolcrib/core'
import type { Emit } from '@toolcrib/core/internal'
import { countVectors, describeError, isVectorSearcher, waitAtMost, within } from '@toolcrib/core/internal'
import type { CatalogueCache } from './catalogue-cache.ts'

/** How long startup waits for vectors; if the store hangs, they are only computed again. */
const LOAD_MS = 1_000
/** How long vectors are collected before they are saved. */
const SAVE_AFTER_MS = 2_000
const SAVE_MS = 10_000
/** How long saving may delay closing. */
const CLOSE_MS = 1_000

/** From this many vectors on, the whole index is stored too. Smaller ones are rebuilt quickly. */
const INDEX_FROM = 2_000

/**
 * Stores a searcher's vectors with the catalogues, so that a known catalogue is not embedded again, and the whole index of
 * a large one, so that it is not built again. New vectors are saved after a short delay. Read and write errors are
 * reported, and the next change tries again.
 */
export class KeptVectors {
  /** Resolves once the searcher has the stored vectors, or loading takes too long. Never rejects. */
  readonly loaded: Promise<void>
  readonly #searcher: VectorSearcher
  readonly #cache: CatalogueCache
  readonly #schedule: Schedule
  readonly #emit: Emit
  readonly #stopListening: () => void
  #cancelSave: (() => void) | undefined
  #isLarge = false
  /** The state of the stored index. A stale one is still used, except for the sources that changed. */
  #index: 'none' | 'stale' | 'current' = 'none'

  constructor(
    searcher: VectorSearcher,
    cache: CatalogueCache,
    { schedule, emit }: { readonly schedule: Schedule; readonly emit: Emit },
  ) {
    this.#searcher = searcher
    this.#cache = cache
    this.#schedule = schedule
    this.#emit = emit
    this.loaded = this.#load()
    this.#stopListening = searcher.onEmbedded(() => {
      this.#cancelSave ??= schedule(SAVE_AFTER_MS, () => void this.#save({ isLast: false }))
    })
  }

  /** Saves what is unsaved, unless that takes too long, and stops listening. */
  async close(): Promise<void> {
    this.#stopListening()
    if (this.#cancelSave === undefined && !(this.#isLarge && this.#index !== 'current')) return
    await waitAtMost(CLOSE_MS, [this.#save({ isLast: true })], this.#schedule)
  }

  async #load(): Promise<void> {
    try {
      const loading = this.#cache.loadVectors(this.#searcher.embedderName)
      const bytes = await within(LOAD_MS, loading, this.#schedule)
      const count = bytes === undefined ? 0 : this.#searcher.importVectors(bytes)
      this.#isLarge = count >= INDEX_FROM
      if (this.#isLarge) await this.#loadIndex()
    } catch (error) {
      this.#failed('load-failed', error)
    }
  }

  async #loadIndex(): Promise<void> {
    const loading = this.#cache.loadIndex(this.#searcher.embedderName)
    const bytes = await within(LOAD_MS, loading, this.#schedule)
    const state = bytes && this.#searcher.importIndex(bytes)
    if (state === 'ready') this.#index = 'current'
    if (state === 'damaged')
      this.#emit({ type: 'load-failed', error: 'the index of a searcher: damaged; it is built again' })
  }

  /** Packing an index blocks the process longer than packing vectors, so only the last change does so. */
  async #save({ isLast }: { readonly isLast: boolean }): Promise<void> {
    this.#cancelSave?.()
    this.#cancelSave = undefined
    const { embedderName } = this.#searcher
    try {
      const bytes = this.#searcher.exportVectors()
      this.#isLarge = countVectors(bytes) >= INDEX_FROM
      const index = this.#isLarge && isLast ? this.#searcher.exportIndex() : undefined
      if (index === undefined && this.#index === 'current') this.#index = 'stale'
      await within(SAVE_MS, this.#cache.saveVectors(embedderName, bytes), this.#schedule)
      if (index === undefined) return
      await within(SAVE_MS, this.#cache.saveIndex(embedderName, index), this.#schedule)
      this.#index = 'current'
    } catch (error) {
      this.#failed('save-failed', error)
    }
  }

  #failed(type: 'load-failed' | 'save-failed', error: unknown): void {
    this.#emit({ type, error: `the vectors of a searcher: ${describeError(error)}` })
  }
}

/** Returns undefined when the searcher has no vectors. */
export function keepVectors(
  searcher: Searcher | undefined,
  cache: CatalogueCache,
  around: { readonly schedule: Schedule; readonly emit: Emit },
): KeptVectors | undefined {
  if (searcher === undefined || !isVectorSearcher(searcher)) return undefined
  return new KeptVectors(searcher, cache, around)
}
