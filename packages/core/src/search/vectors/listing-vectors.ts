import type { Listing } from '../../tool.ts'
import { type IdChange, ListingIds, type Numbered } from '../listing-ids.ts'
import type { CheckedEmbedder } from './embedder.ts'
import { listingText } from './listing-text.ts'
import { type SavedVector, type TextKey, textKey } from './saved-vectors.ts'
import { type NearestQuery, type SavedVectors, VectorIndex } from './vector-index.ts'

/** Maximum texts per call of an embedder. */
const BATCH_SIZE = 256

/** Numbers of listings near to a vector, and their cosine similarities to it. */
export interface Nearness {
  readonly numbers: readonly number[]
  readonly similarities: Float64Array
}

export interface ListingVectorsOptions {
  /** Saved vectors by text; these texts are not embedded again. */
  readonly saved: ReadonlyMap<TextKey, SavedVector>
  /** Called after new vectors were made. */
  onEmbedded(): void
}

interface Waiting extends Numbered {
  readonly text: string
}

/**
 * The vectors of listings that are added and removed by source. With a synchronous embedder, `update` finishes the
 * work; otherwise wait for `ready`.
 */
export class ListingVectors {
  readonly #embedder: CheckedEmbedder
  /** May be shared with another index: whoever changes them passes the change on. */
  readonly numbers = new ListingIds()
  readonly #options: ListingVectorsOptions
  readonly #vectors: VectorIndex
  /** By number. */
  #keys: Float64Array = new Float64Array(0)
  readonly #waiting: Waiting[] = []
  #running: Promise<void> | undefined

  constructor(embedder: CheckedEmbedder, options: ListingVectorsOptions) {
    this.#embedder = embedder
    this.#options = options
    this.#vectors = new VectorIndex(embedder.dimensions)
  }

  /** Replaces all listings of one source; those already present (the same objects) cost nothing. */
  update(source: string, listings: readonly Listing[]): void {
    this.change(this.numbers.update(source, listings))
  }

  /** Applies a change of the numbers. */
  change({ removed, added }: IdChange): void {
    for (const { number } of removed) this.#vectors.delete(number)
    for (const numbered of added) this.#add(numbered)
    // The next caller retries and receives the failure.
    this.ready()?.catch(() => {})
  }

  /** Undefined if every vector is there; otherwise a promise that rejects if the embedder fails. */
  ready(): Promise<void> | undefined {
    try {
      return this.#work()
    } catch (failure) {
      return Promise.reject(failure)
    }
  }

  /**
   * For each query, at least the `count` accepted listings nearest to its vector, or all if there are fewer; unordered.
   * All queries share one scan.
   */
  nearest(queries: readonly NearestQuery[], accepts?: (listing: Listing) => boolean): Nearness[] {
    const isAccepted = accepts && ((number: number) => this.#isAccepted(number, accepts))
    const found = this.#vectors.nearest(queries, isAccepted)
    return found.map((near, at) => {
      const numbers = near.filter((number) => this.numbers.listings[number] !== undefined)
      const vector = (queries[at] as NearestQuery).vector
      const [similarities = new Float64Array(0)] = this.#vectors.similarities([vector], numbers)
      return { numbers, similarities }
    })
  }

  /** The similarities of some vectors to some listings, by their numbers: by vector, then by listing. */
  similarities(vectors: readonly Float32Array[], numbers: readonly number[]): readonly Float64Array[] {
    return this.#vectors.similarities(vectors, numbers)
  }

  /** How many listings have a vector, and the mean of these vectors. */
  get centre(): { readonly count: number; readonly mean: Float32Array } {
    return { count: this.#vectors.count, mean: this.#vectors.mean }
  }

  /** The sum of the vectors of these listings, and how many have one. */
  sum(listings: readonly Listing[]): { readonly vector: Float32Array; readonly count: number } {
    const sum = new Float32Array(this.#vectors.dimensions)
    let count = 0
    for (const listing of listings) {
      const vector = this.#vectors.get(this.numbers.numberOf(listing) ?? -1)
      if (vector === undefined) continue
      count++
      const { values, scale } = vector
      for (let at = 0; at < sum.length; at++) sum[at] = (sum[at] as number) + scale * (values[at] as number)
    }
    return { vector: sum, count }
  }

  /** The vectors of these listings and the keys of their texts; undefined if some are still missing. */
  pack(listings: readonly Listing[]): (SavedVectors & { readonly keys: Float64Array }) | undefined {
    if (this.#waiting.length > 0 || this.#running !== undefined) return undefined
    const numbers = listings.map((listing) => this.numbers.numberOf(listing) ?? -1)
    if (numbers.includes(-1)) return undefined
    const keys = Float64Array.from(numbers, (number) => this.#keys[number] ?? 0)
    return { ...this.#vectors.pack(numbers), keys }
  }

  /** Takes over the vectors of `pack`. It must be empty. */
  adopt(saved: SavedVectors & { readonly keys: Float64Array }): void {
    this.#vectors.adopt(saved)
    this.#keys = saved.keys
  }

  /** Removes the vectors of these numbers. */
  drop(numbers: readonly number[]): void {
    for (const number of numbers) this.#vectors.delete(number)
  }

  /** Adds these vectors to a collection. */
  save(into: Map<TextKey, SavedVector>): void {
    for (const [number, listing] of this.numbers.listings.entries()) {
      const vector = listing && this.#vectors.get(number)
      const key = this.#keys[number]
      if (vector !== undefined && key !== undefined) into.set(key, vector)
    }
  }

  #isAccepted(number: number, accepts: (listing: Listing) => boolean): boolean {
    const listing = this.numbers.listings[number]
    return listing !== undefined && accepts(listing)
  }

  #add({ number, listing }: Numbered): void {
    const text = listingText(listing)
    const key = textKey(text)
    if (number >= this.#keys.length) this.#keys = grown(this.#keys, number)
    this.#keys[number] = key
    const saved = this.#options.saved.get(key)
    if (saved === undefined) this.#waiting.push({ number, listing, text })
    else this.#vectors.restore(number, saved)
  }

  /** Embeds waiting texts: immediately if the embedder is synchronous, otherwise batch by batch. */
  #work(): Promise<void> | undefined {
    if (this.#running !== undefined) return this.#running
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.splice(0, BATCH_SIZE).filter((waiting) => this.numbers.isHeld(waiting))
      if (batch.length === 0) continue
      const vectors = this.#embed(batch)
      if (!(vectors instanceof Promise)) {
        this.#place(batch, vectors)
        continue
      }
      this.#running = vectors
        .then(
          (embedded) => this.#place(batch, embedded),
          (failure) => {
            this.#waiting.push(...batch)
            throw failure
          },
        )
        .finally(() => {
          this.#running = undefined
        })
        .then(() => this.#work())
      return this.#running
    }
    return undefined
  }

  #embed(batch: readonly Waiting[]): readonly Float32Array[] | Promise<readonly Float32Array[]> {
    try {
      return this.#embedder.embed(batch.map(({ text }) => text))
    } catch (failure) {
      this.#waiting.push(...batch)
      throw failure
    }
  }

  #place(batch: readonly Waiting[], vectors: readonly Float32Array[]): void {
    for (const [at, waiting] of batch.entries()) {
      const vector = vectors[at]
      if (vector !== undefined && this.numbers.isHeld(waiting)) this.#vectors.set(waiting.number, vector)
    }
    this.#options.onEmbedded()
  }
}

function grown(keys: Float64Array, number: number): Float64Array {
  const larger = new Float64Array(number + (number >>> 2) + 64)
  larger.set(keys)
  return larger
}
