import type { Searcher, SearchIndex } from '../searcher.ts'
import type { CheckedEmbedder } from './embedder.ts'
import { ListingVectors } from './listing-vectors.ts'
import { packVectors, type SavedVector, type TextKey, unpackVectors } from './saved-vectors.ts'

/** A searcher whose vectors can be kept, so that a known catalogue need not be embedded again. */
export interface VectorSearcher extends Searcher {
  /** The model that its vectors are of. */
  readonly embedderName: string
  /**
   * The vectors of all listings in its indexes, keyed by a hash of their text, and of what was imported as much as is
   * worth keeping.
   */
  exportVectors(): Uint8Array
  /**
   * Takes back what `exportVectors` returned, for listings that come from now on; returns how many there were. Those of
   * another embedder are ignored. Throws `config-invalid` for other bytes.
   */
  importVectors(bytes: Uint8Array): number
  /** Calls a listener whenever listings were embedded, imported ones aside. Returns how to stop it. */
  onEmbedded(listener: () => void): () => void
}

export function isVectorSearcher(searcher: Searcher): searcher is VectorSearcher {
  return 'exportVectors' in searcher && 'importVectors' in searcher && 'onEmbedded' in searcher
}

/** Vectors of listings that went are kept for their return, but not for ever. */
const MAX_EXPORTED = 50_000

/** Makes a searcher on vectors; `openIndex` says how its indexes rank. */
export function vectorSearcher(
  name: string,
  embedder: CheckedEmbedder,
  openIndex: (vectors: ListingVectors) => SearchIndex,
): VectorSearcher {
  const saved = new Map<TextKey, SavedVector>()
  const listeners = new Set<() => void>()
  // Indexes belong to whoever opened them: they are not kept alive for an export.
  let opened: WeakRef<ListingVectors>[] = []
  return {
    name,
    embedderName: embedder.name,
    open() {
      const vectors = new ListingVectors(embedder, {
        saved,
        onEmbedded: () => {
          for (const listener of listeners) listener()
        },
      })
      opened = [...opened.filter((reference) => reference.deref() !== undefined), new WeakRef(vectors)]
      return openIndex(vectors)
    },
    exportVectors() {
      const held = new Map<TextKey, SavedVector>()
      for (const reference of opened) reference.deref()?.save(held)
      // What is in use goes last, so that the longest unused is the first to be dropped.
      const unused = [...saved].filter(([key]) => !held.has(key))
      const kept = [...unused, ...held].slice(-Math.max(MAX_EXPORTED, held.size))
      return packVectors(embedder.name, embedder.dimensions, new Map(kept))
    },
    importVectors(bytes) {
      const vectors = unpackVectors(bytes, embedder.name, embedder.dimensions)
      for (const [key, vector] of vectors) saved.set(key, vector)
      return vectors.size
    },
    onEmbedded(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
  }
}
