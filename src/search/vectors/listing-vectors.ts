import type { Listing } from '../../tool.ts'
import type { CheckedEmbedder } from './embedder.ts'
import { listingText } from './listing-text.ts'
import { type SavedVector, type TextKey, textKey } from './saved-vectors.ts'
import { VectorIndex } from './vector-index.ts'

/** Texts given to an embedder at once. */
const BATCH_SIZE = 256

/** A listing and how alike it is to what was asked: a cosine. */
export interface Likeness {
  readonly listing: Listing
  readonly similarity: number
}

export interface ListingVectorsOptions {
  /** Vectors by the text they stand for: what is among them is not embedded. */
  readonly saved: ReadonlyMap<TextKey, SavedVector>
  /** Called when vectors were made. */
  onEmbedded(): void
}

interface Waiting {
  readonly number: number
  readonly listing: Listing
  readonly text: string
}

/**
 * The vectors of listings that come and go by source. An embedder that returns vectors at once is done when
 * `update` returns; `ready` waits for one that returns a promise.
 */
export class ListingVectors {
  readonly #embedder: CheckedEmbedder
  readonly #options: ListingVectorsOptions
  readonly #vectors: VectorIndex
  readonly #listings: (Listing | undefined)[] = []
  readonly #keys: TextKey[] = []
  readonly #numbers = new Map<Listing, number>()
  /** By number: how many sources hold the listing. */
  readonly #holders: number[] = []
  readonly #freeNumbers: number[] = []
  readonly #sources = new Map<string, ReadonlySet<Listing>>()
  readonly #waiting: Waiting[] = []
  #running: Promise<void> | undefined

  constructor(embedder: CheckedEmbedder, options: ListingVectorsOptions) {
    this.#embedder = embedder
    this.#options = options
    this.#vectors = new VectorIndex(embedder.dimensions)
  }

  /** Replaces all listings of one source; those already held (the same objects) cost nothing. */
  update(source: string, listings: readonly Listing[]): void {
    const before = this.#sources.get(source) ?? NONE
    const wanted = new Set(listings)
    for (const listing of wanted) if (!before.has(listing)) this.#hold(listing)
    for (const listing of before) if (!wanted.has(listing)) this.#release(listing)
    if (wanted.size === 0) this.#sources.delete(source)
    else this.#sources.set(source, wanted)
    // A failure reaches whoever asks next, when it is tried again.
    this.ready()?.catch(() => {})
  }

  /** Undefined when every vector is there; else a promise of it, rejected when the embedder fails. */
  ready(): Promise<void> | undefined {
    try {
      return this.#work()
    } catch (failure) {
      return Promise.reject(failure)
    }
  }

  /** At least the `count` accepted listings most alike to a vector, as far as there are so many; in no order. */
  nearest(vector: Float32Array, count: number, accepts?: (listing: Listing) => boolean): Likeness[] {
    const isAccepted = accepts && ((number: number) => this.#isAccepted(number, accepts))
    const likenesses: Likeness[] = []
    for (const number of this.#vectors.nearest(vector, count, isAccepted)) {
      const listing = this.#listings[number]
      if (listing !== undefined)
        likenesses.push({ listing, similarity: this.#vectors.similarity(vector, number) })
    }
    return likenesses
  }

  similarity(vector: Float32Array, listing: Listing): number {
    const number = this.#numbers.get(listing)
    return number === undefined ? 0 : this.#vectors.similarity(vector, number)
  }

  /** Adds the vectors held here to a collection. */
  save(into: Map<TextKey, SavedVector>): void {
    for (const number of this.#numbers.values()) {
      const vector = this.#vectors.get(number)
      const key = this.#keys[number]
      if (vector !== undefined && key !== undefined) into.set(key, vector)
    }
  }

  #isAccepted(number: number, accepts: (listing: Listing) => boolean): boolean {
    const listing = this.#listings[number]
    return listing !== undefined && accepts(listing)
  }

  #hold(listing: Listing): void {
    const number = this.#numbers.get(listing)
    if (number === undefined) this.#add(listing)
    else this.#holders[number] = (this.#holders[number] ?? 0) + 1
  }

  #add(listing: Listing): void {
    const number = this.#freeNumbers.pop() ?? this.#listings.length
    const text = listingText(listing)
    const key = textKey(text)
    this.#listings[number] = listing
    this.#numbers.set(listing, number)
    this.#holders[number] = 1
    this.#keys[number] = key
    const saved = this.#options.saved.get(key)
    if (saved === undefined) this.#waiting.push({ number, listing, text })
    else this.#vectors.restore(number, saved)
  }

  #release(listing: Listing): void {
    const number = this.#numbers.get(listing)
    if (number === undefined) return
    const holders = (this.#holders[number] ?? 1) - 1
    this.#holders[number] = holders
    if (holders > 0) return
    this.#numbers.delete(listing)
    this.#listings[number] = undefined
    this.#vectors.delete(number)
    this.#freeNumbers.push(number)
  }

  /** Embeds what waits: at once when the embedder does, else one batch after the other. */
  #work(): Promise<void> | undefined {
    if (this.#running !== undefined) return this.#running
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.splice(0, BATCH_SIZE).filter((waiting) => this.#isHeld(waiting))
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
      if (vector !== undefined && this.#isHeld(waiting)) this.#vectors.set(waiting.number, vector)
    }
    this.#options.onEmbedded()
  }

  /** Whether a number still belongs to the listing that it was given to. */
  #isHeld({ number, listing }: Waiting): boolean {
    return this.#listings[number] === listing
  }
}

const NONE: ReadonlySet<Listing> = new Set()
