import type { Embedder } from './embedder.ts'
import { ListingVectors } from './listing-vectors.ts'
import { packVectors, type SavedVector, type TextKey, unpackVectors } from './saved-vectors.ts'
import type { Searcher, SearchIndex } from './searcher.ts'

/** A searcher whose vectors can be kept, so that a known catalogue need not be embedded again. */
export interface VectorSearcher extends Searcher {
  /** The vectors of all listings in its indexes, keyed by a hash of their text. */
  exportVectors(): Uint8Array
  /**
   * Takes back what `exportVectors` gave, for listings that come from now on; how many there were. Those of another
   * embedder are ignored. Throws `config-invalid` for other bytes.
   */
  importVectors(bytes: Uint8Array): number
}

/** Makes a searcher on vectors; `openIndex` says how its indexes rank. */
export function vectorSearcher(
  name: string,
  embedder: Embedder,
  openIndex: (vectors: ListingVectors) => SearchIndex,
): VectorSearcher {
  const saved = new Map<TextKey, SavedVector>()
  // Indexes belong to whoever opened them: they are not kept alive for an export.
  let opened: WeakRef<ListingVectors>[] = []
  return {
    name,
    open() {
      const vectors = new ListingVectors(embedder, saved)
      opened = [...opened.filter((reference) => reference.deref() !== undefined), new WeakRef(vectors)]
      return openIndex(vectors)
    },
    exportVectors() {
      const held = new Map(saved)
      for (const reference of opened) reference.deref()?.save(held)
      return packVectors(embedder.name, embedder.dimensions, held)
    },
    importVectors(bytes) {
      const vectors = unpackVectors(bytes, embedder.name, embedder.dimensions)
      for (const [key, vector] of vectors) saved.set(key, vector)
      return vectors.size
    },
  }
}
