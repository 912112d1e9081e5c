import { indexRecipe, readSections, type Sections } from '../saved-index.ts'
import type { Searcher, SearchIndex } from '../searcher.ts'
import type { CheckedEmbedder } from './embedder.ts'
import { ListingVectors } from './listing-vectors.ts'
import { packVectors, type SavedVector, type TextKey, unpackVectors } from './saved-vectors.ts'

/** A searcher whose vectors can be saved, so that a known catalogue need not be embedded again. */
export interface VectorSearcher extends Searcher {
  /** The model that made its vectors. */
  readonly embedderName: string
  /**
   * The vectors of all listings in its indexes, keyed by a hash of their text, plus a limited number of imported
   * ones.
   */
  exportVectors(): Uint8Array
  /**
   * Imports the output of `exportVectors` for listings added from now on; returns how many vectors it had. Vectors of
   * another embedder are ignored. Throws `config-invalid` for other bytes.
   */
  importVectors(bytes: Uint8Array): number
  /**
   * The whole index, words and vectors, so that a known catalogue need not be read again: the one with which it was
   * opened first. Undefined if there is none, if its vectors are not there yet, if two sources have the same listing, before
   * the first search of an index that started from a saved one, and for searchers that save only vectors.
   */
  exportIndex(): Uint8Array | undefined
  /**
   * Lets the next index that is opened start from the output of `exportIndex`. Sources that have changed since are indexed
   * as usual, and what is not there when the first search begins is dropped. Returns 'ready'; bytes of another release or embedder ('outdated'), and damaged ones and those that were cut
   * short ('damaged') are ignored.
   */
  importIndex(bytes: Uint8Array): 'ready' | 'outdated' | 'damaged'
  /** Calls the listener whenever listings were embedded, not imported. Returns a function that removes it. */
  onEmbedded(listener: () => void): () => void
}

/** An index that can be saved as a whole. */
export interface SavableIndex extends SearchIndex {
  pack(): Uint8Array | undefined
  adopt(sections: Sections): void
}

function isSavable(index: SearchIndex | undefined): index is SavableIndex {
  return index !== undefined && 'pack' in index && 'adopt' in index
}

export function isVectorSearcher(searcher: Searcher): searcher is VectorSearcher {
  return 'exportVectors' in searcher && 'importVectors' in searcher && 'onEmbedded' in searcher
}

/** Vectors of removed listings are kept in case they return, up to this limit. */
const MAX_EXPORTED = 50_000

/** Creates a searcher on vectors; `openIndex` defines how its indexes rank. */
export function vectorSearcher(
  name: string,
  embedder: CheckedEmbedder,
  openIndex: (vectors: ListingVectors) => SearchIndex,
): VectorSearcher {
  const saved = new Map<TextKey, SavedVector>()
  const listeners = new Set<() => void>()
  // Weak references, so that an export does not keep closed indexes alive.
  let opened: WeakRef<ListingVectors>[] = []
  let first: WeakRef<SearchIndex> | undefined
  let savedIndex: Sections | undefined
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
      const index = openIndex(vectors)
      if (first?.deref() === undefined) first = new WeakRef(index)
      if (savedIndex !== undefined && isSavable(index)) index.adopt(savedIndex)
      savedIndex = undefined
      return index
    },
    exportIndex() {
      const index = first?.deref()
      return isSavable(index) ? index.pack() : undefined
    },
    importIndex(bytes) {
      const read = readSections(bytes, indexRecipe(embedder.name, embedder.dimensions))
      if (read.state === 'ready') savedIndex = read.sections
      return read.state
    },
    exportVectors() {
      const held = new Map<TextKey, SavedVector>()
      for (const reference of opened) reference.deref()?.save(held)
      // Vectors in use come last, so that the longest unused are dropped first.
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
