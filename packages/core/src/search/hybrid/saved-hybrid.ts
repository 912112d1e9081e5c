import type { Listing } from '../../tool.ts'
import type { SavedWords } from '../lexical/vocabulary.ts'
import type { LexicalIndex } from '../lexical.ts'
import { digestOfListings, indexRecipe, packSections, type Sections } from '../saved-index.ts'
import type { CheckedEmbedder } from '../vectors/embedder.ts'
import type { ListingVectors } from '../vectors/listing-vectors.ts'
import type { SavedVectors } from '../vectors/vector-index.ts'

/** The indexes of `hybrid`, which share the numbers of the listings. */
export interface HybridIndexes {
  readonly embedder: CheckedEmbedder
  readonly lexical: LexicalIndex
  readonly vectors: ListingVectors
}

/** Replaces all listings of one source in each index. */
export function updateIndexes(
  { lexical, vectors }: HybridIndexes,
  source: string,
  listings: readonly Listing[],
): void {
  const change = vectors.numbers.update(source, listings)
  lexical.change(change)
  vectors.change(change)
}

/**
 * Bytes from which `SavedHybrid` restores the indexes; undefined while vectors are missing, and if two sources have the
 * same listing. The listings are numbered source by source.
 */
export function packHybrid({ embedder, lexical, vectors }: HybridIndexes): Uint8Array | undefined {
  const { numbers } = vectors
  const listings = [...numbers.sources.values()].flat()
  // A listing that two sources have would need two numbers.
  const packed = listings.length === numbers.size ? vectors.pack(listings) : undefined
  if (packed === undefined) return undefined
  const renumbered = new Uint32Array(numbers.listings.length)
  for (const [at, listing] of listings.entries()) renumbered[numbers.numberOf(listing) ?? 0] = at
  const words = lexical.pack(renumbered)
  const lines = Array.from(numbers.sources, ([source, held]) =>
    JSON.stringify([source, held.length, digestOfListings(held)]),
  )
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
    sum: bytesOf(packed.sum),
    keys: bytesOf(packed.keys),
  })
}

interface SavedSource {
  readonly first: number
  readonly count: number
  readonly digest: string
}

/**
 * A saved index whose listings are claimed source by source: a source whose texts are those of the saved index takes its
 * entries over, any other is indexed as usual. Vectors are there at once; `restore` fills in the words of what was claimed.
 */
export class SavedHybrid {
  readonly #indexes: HybridIndexes
  readonly #sections: Sections
  readonly #sources = new Map<string, SavedSource>()
  readonly #count: number
  /** What is to be indexed as usual: the newest listings of a source. */
  readonly #changed = new Map<string, readonly Listing[]>()

  /** The indexes must be empty. */
  constructor(sections: Sections, indexes: HybridIndexes) {
    this.#indexes = indexes
    this.#sections = sections
    let first = 0
    for (const line of decoded(sections.sources)) {
      const [source, count, digest] = JSON.parse(line) as [string, number, string]
      this.#sources.set(source, { first, count, digest })
      first += count
    }
    this.#count = first
    indexes.vectors.numbers.reserve(first)
    indexes.vectors.adopt(this.#vectors())
  }

  /** Takes the listings of a source. */
  update(source: string, listings: readonly Listing[]): void {
    const saved = this.#sources.get(source)
    const { numbers } = this.#indexes.vectors
    if (saved === undefined || !isSame(saved, listings) || !numbers.claim(source, listings, saved.first)) {
      this.#changed.set(source, listings)
      return
    }
    this.#sources.delete(source)
    this.#changed.delete(source)
  }

  /** Fills the indexes: with what was claimed, then with the sources that have changed since. */
  restore(): void {
    const { lexical, vectors } = this.#indexes
    const gone = [...this.#sources.values()].flatMap(({ first, count }) =>
      Array.from({ length: count }, (_, at) => first + at),
    )
    lexical.adopt(this.#words(), gone.length === 0 ? undefined : marked(gone, this.#count))
    vectors.drop(gone)
    vectors.numbers.free(gone)
    for (const [source, listings] of this.#changed) updateIndexes(this.#indexes, source, listings)
  }

  #words(): SavedWords {
    const { words, stems, lengths, stemListings, postings, notes } = this.#sections
    return {
      words: decoded(words),
      stems: decoded(stems),
      lengths: new Uint32Array(...placeOf(lengths, 4)),
      stemListings: new Uint32Array(...placeOf(stemListings, 4)),
      values: new Uint32Array(...placeOf(postings, 4)),
      notes: notes ?? new Uint8Array(0),
    }
  }

  /** Copies, which the index will change. */
  #vectors(): SavedVectors & { readonly keys: Float64Array } {
    const { vectors, scales, sketches, sum, keys } = this.#sections
    return {
      values: new Int8Array(...placeOf(vectors, 1)).slice(),
      scales: new Float32Array(...placeOf(scales, 4)).slice(),
      sketches: new Int32Array(...placeOf(sketches, 4)),
      sum: new Float64Array(...placeOf(sum, 8)),
      keys: new Float64Array(...placeOf(keys, 8)).slice(),
    }
  }
}

function isSame({ count, digest }: SavedSource, listings: readonly Listing[]): boolean {
  return count === listings.length && digestOfListings(listings) === digest
}

function marked(numbers: readonly number[], count: number): Uint8Array {
  const marks = new Uint8Array(count)
  for (const number of numbers) marks[number] = 1
  return marks
}

/** Where numbers of this size are, as the constructors of typed arrays take it. */
function placeOf(bytes: Uint8Array | undefined, size: number): [ArrayBufferLike, number, number] {
  const { buffer, byteOffset, byteLength } = bytes ?? new Uint8Array(0)
  return [buffer, byteOffset, byteLength / size]
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
