import type { Searcher } from '../../search/searcher.ts'
import { isVectorSearcher, type VectorSearcher } from '../../search/vectors/vector-searcher.ts'
import type { Schedule } from '../../time.ts'
import { waitAtMost } from '../../time.ts'
import type { CatalogueCache } from './catalogue-cache.ts'

/** How long vectors are gathered before they are written. */
const SAVE_AFTER_MS = 2_000
/** How long writing them may hold up the end. */
const CLOSE_MS = 1_000

/**
 * The vectors of a searcher, kept with the catalogues that they were made of: a known catalogue is not embedded again.
 * They are written in a moment whenever new ones were made. What cannot be read or written is done without.
 */
export class KeptVectors {
  /** Resolves once all that was kept is known to the searcher. Never rejects. */
  readonly loaded: Promise<void>
  readonly #searcher: VectorSearcher
  readonly #cache: IndexCache
  readonly #schedule: Schedule
  readonly #stopListening: () => void
  #cancelSave: (() => void) | undefined

  constructor(searcher: VectorSearcher, cache: IndexCache, schedule: Schedule) {
    this.#searcher = searcher
    this.#cache = cache
    this.#schedule = schedule
    this.loaded = this.#load().catch(ignore)
    this.#stopListening = searcher.onEmbedded(() => {
      this.#cancelSave ??= schedule(SAVE_AFTER_MS, () => void this.#save())
    })
  }

  /** Writes what has not been written, unless that takes too long, and listens no more. */
  async close(): Promise<void> {
    this.#stopListening()
    if (this.#cancelSave !== undefined) await waitAtMost(CLOSE_MS, [this.#save()], this.#schedule)
  }

  async #load(): Promise<void> {
    const bytes = await this.#cache.loadIndex(this.#searcher.embedderName)
    if (bytes !== undefined) this.#searcher.importVectors(bytes)
  }

  async #save(): Promise<void> {
    this.#cancelSave?.()
    this.#cancelSave = undefined
    await this.#cache.saveIndex(this.#searcher.embedderName, this.#searcher.exportVectors()).catch(ignore)
  }
}

/** Undefined when the searcher has no vectors, or the cache keeps none. */
export function keepVectors(
  searcher: Searcher | undefined,
  cache: CatalogueCache | undefined,
  schedule: Schedule,
): KeptVectors | undefined {
  if (searcher === undefined || !isVectorSearcher(searcher)) return undefined
  return cache !== undefined && keepsIndexes(cache) ? new KeptVectors(searcher, cache, schedule) : undefined
}

type IndexCache = Required<Pick<CatalogueCache, 'loadIndex' | 'saveIndex'>>

function keepsIndexes(cache: CatalogueCache): cache is CatalogueCache & IndexCache {
  return cache.loadIndex !== undefined && cache.saveIndex !== undefined
}

function ignore(): void {}
