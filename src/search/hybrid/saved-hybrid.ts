import type { Listing } from '../../tool.ts'
import type { SavedWords } from '../lexical/vocabulary.ts'
import type { LexicalIndex } from '../lexical.ts'
import { digestOfListings, indexRecipe, packSections, type Sections, unpackSections } from '../saved-index.ts'
import type { CheckedEmbedder } from '../vectors/embedder.ts'
import type { ListingVectors } from '../vectors/listing-vectors.ts'

/** The two indexes of `hybrid`. */
export interface HybridIndexes {
  readonly embedder: CheckedEmbedder
  readonly lexical: LexicalIndex
  readonly vectors: ListingVectors
}

/**
 * Bytes from which `SavedHybrid.open` restores both indexes and the mark of each listing, a byte; undefined while vectors
 * are missing.
 */
export function packHybrid(
  { embedder, lexical, vectors }: HybridIndexes,
  markOf: (listing: Listing) => number,
): Uint8Array | undefined {
  const { sources, words } = lexical.pack()
  const listings = sources.flatMap(([, held]) => held)
  const packed = vectors.pack(listings)
  if (packed === undefined) return undefined
  const lines = sources.map(([source, held]) => JSON.stringify([source, held.length, digestOfListings(held)]))
  return packSections(indexRecipe(embedder.name, embedder.dimensions), {
    sources: encoded(lines),
    words: encoded(words.words),
    stems: encoded(words.stems),
    lengths: bytesOf(words.lengths),
    stemListings: bytesOf(words.stemListings),
    postings: bytesOf(words.values),
    notes: words.notes,
    vectors: bytesOf(packed.values),
    scales: bytesOf(packed.scales),
    sketches: bytesOf(packed.sketches),
    keys: bytesOf(packed.keys),
    marks: Uint8Array.from(listings, markOf),
  })
}

interface SavedSource {
  readonly first: number
  readonly count: number
  readonly digest: string
}

/**
 * A restored index whose listings are claimed source by source: a source whose texts are those of the saved index takes
 * its entries over, any other is indexed as usual. What nobody claims is dropped before the first search.
 */
export class SavedHybrid {
  readonly #indexes: HybridIndexes
  readonly #sources: Map<string, SavedSource>
  readonly #marks: Uint8Array

  /**
   * Fills empty indexes. Returns undefined, and leaves them empty, for bytes of another version, embedder or release, and
   * for damaged ones.
   */
  static open(bytes: Uint8Array, indexes: HybridIndexes): SavedHybrid | undefined {
    const { embedder } = indexes
    const sections = unpackSections(bytes, indexRecipe(embedder.name, embedder.dimensions))
    return sections && new SavedHybrid(sections, indexes)
  }

  private constructor(sections: Sections, indexes: HybridIndexes) {
    this.#indexes = indexes
    this.#sources = new Map()
    this.#marks = sections.marks ?? new Uint8Array(0)
    let first = 0
    for (const line of decoded(sections.sources)) {
      const [source, count, digest] = JSON.parse(line) as [string, number, string]
      this.#sources.set(source, { first, count, digest })
      first += count
    }
    const section = (name: string) => (sections[name] ?? new Uint8Array(0)).buffer as ArrayBuffer
    const words: SavedWords = {
      words: decoded(sections.words),
      stems: decoded(sections.stems),
      lengths: new Uint32Array(section('lengths')),
      stemListings: new Uint32Array(section('stemListings')),
      values: new Uint32Array(section('postings')),
      notes: new Uint8Array(section('notes')),
    }
    indexes.lexical.adopt(words, first)
    indexes.vectors.adopt({
      values: new Int8Array(section('vectors')),
      scales: new Float32Array(section('scales')),
      sketches: new Int32Array(section('sketches')),
      keys: new Float64Array(section('keys')),
    })
  }

  /** The marks of a source's listings if they are indexed now. Each source is claimed at most once. */
  claim(source: string, listings: readonly Listing[]): Uint8Array | undefined {
    const saved = this.#sources.get(source)
    if (saved === undefined || saved.count !== listings.length) return undefined
    const { lexical, vectors } = this.#indexes
    if (new Set(listings).size < listings.length || listings.some((listing) => vectors.has(listing)))
      return undefined
    if (digestOfListings(listings) !== saved.digest) return undefined
    this.#sources.delete(source)
    lexical.claim(source, listings, saved.first)
    vectors.claim(source, listings, saved.first)
    return this.#marks.subarray(saved.first, saved.first + saved.count)
  }

  /** Drops what nobody claimed. */
  settle(): void {
    const { lexical, vectors } = this.#indexes
    const numbers = [...this.#sources.values()].flatMap(({ first, count }) =>
      Array.from({ length: count }, (_, at) => first + at),
    )
    this.#sources.clear()
    lexical.drop(numbers)
    vectors.drop(numbers)
  }
}

function encoded(lines: readonly string[]): Uint8Array {
  return new TextEncoder().encode(lines.join('\n'))
}

function decoded(bytes: Uint8Array | undefined): string[] {
  const text = new TextDecoder().decode(bytes)
  return text === '' ? [] : text.split('\n')
}

function bytesOf(numbers: ArrayBufferView): Uint8Array {
  return new Uint8Array(numbers.buffer, numbers.byteOffset, numbers.byteLength)
}
