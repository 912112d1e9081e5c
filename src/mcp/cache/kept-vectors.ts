import { describeError } from '../../errors.ts'
import type { Emit } from '../../events.ts'
import type { Searcher } from '../../search/searcher.ts'
import { isVectorSearcher, type VectorSearcher } from '../../search/vectors/vector-searcher.ts'
import type { Schedule } from '../../time.ts'
import { waitAtMost, within } from '../../time.ts'
import type { CatalogueCache } from './catalogue-cache.ts'

/** How long startup waits for vectors; if the store hangs, they are only computed again. */
const LOAD_MS = 1_000
/** How long vectors are collected before they are saved. */
const SAVE_AFTER_MS = 2_000
const SAVE_MS = 10_000
/** How long saving may delay closing. */
const CLOSE_MS = 1_000

/**
 * Stores a searcher's vectors with the catalogues, so that a known catalogue is not embedded again. New vectors are
 * saved after a short delay. Read and write errors are reported, and the next change tries again.
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
      this.#cancelSave ??= schedule(SAVE_AFTER_MS, () => void this.#save())
    })
  }

  /** Saves what is unsaved, unless that takes too long, and stops listening. */
  async close(): Promise<void> {
    this.#stopListening()
    if (this.#cancelSave !== undefined) await waitAtMost(CLOSE_MS, [this.#save()], this.#schedule)
  }

  async #load(): Promise<void> {
    try {
      const loading = this.#cache.loadVectors(this.#searcher.embedderName)
      const bytes = await within(LOAD_MS, loading, this.#schedule)
      if (bytes !== undefined) this.#searcher.importVectors(bytes)
    } catch (error) {
      this.#failed('load-failed', error)
    }
  }

  async #save(): Promise<void> {
    this.#cancelSave?.()
    this.#cancelSave = undefined
    try {
      const bytes = this.#searcher.exportVectors()
      const saving = this.#cache.saveVectors(this.#searcher.embedderName, bytes)
      await within(SAVE_MS, saving, this.#schedule)
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
