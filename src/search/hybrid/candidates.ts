import type { Listing } from '../../tool.ts'
import type { LexicalIndex, WordScan } from '../lexical.ts'
import type { Request } from '../query/request.ts'
import { acceptEvery, type RankOptions } from '../searcher.ts'
import type { ListingVectors } from '../vectors/listing-vectors.ts'
import {
  type Candidate,
  describeCandidates,
  type PartView,
  type RequestVectors,
  rememberedCandidate,
} from './features.ts'

/** How many candidates each kind of ranking puts forward at least; more would only change the tail. */
const BY_WORDS = 100
const BY_MEANING = 48
const BY_PART = 15

/** The matches of a part by words that count as such. */
const PART_WORDS = 48

/** Collects the candidates of a request from both indexes, each with its features. */
export class CandidateFinder {
  readonly #lexical: LexicalIndex
  readonly #vectors: ListingVectors

  constructor(lexical: LexicalIndex, vectors: ListingVectors) {
    this.#lexical = lexical
    this.#vectors = vectors
  }

  find(
    request: Request,
    vectors: RequestVectors,
    options: RankOptions,
  ): { candidates: Candidate[]; scan: WordScan } {
    const { limit, accepts } = options
    const partViews = request.parts.map(({ text, words }, at) =>
      this.#viewPart(text, words, vectors.parts[at], accepts),
    )
    // Last, since a scan is valid until the next one.
    const scan = this.#lexical.scan(request.words, accepts)
    const byWords = scan.best(Math.max(limit, BY_WORDS))
    const numbers = new Map<Listing, number>()
    for (const { listing, number } of byWords) numbers.set(listing, number)
    const add = (listing: Listing) => {
      if (!numbers.has(listing)) numbers.set(listing, this.#lexical.numberOf(listing) ?? -1)
    }
    const near = this.#nearest(vectors.whole, Math.max(limit, BY_MEANING), accepts)
    for (const listing of near) add(listing)
    if (vectors.plain !== vectors.whole)
      for (const listing of this.#nearest(vectors.plain, Math.max(limit, BY_MEANING), accepts)) add(listing)
    for (const { candidates } of partViews) for (const listing of candidates) add(listing)
    const found = { request, vectors, numbers, byWords, scan, parts: partViews }
    return { candidates: describeCandidates(found, this.#vectors), scan }
  }

  /** A listing that no ranking put forward. */
  remembered(listing: Listing): Candidate {
    return rememberedCandidate(listing, this.#lexical.numberOf(listing) ?? -1)
  }

  #viewPart(
    text: string,
    words: Request['words'],
    vector: Float32Array | undefined,
    accepts: RankOptions['accepts'],
  ): PartView {
    const best = this.#lexical.scan(words, accepts).best(PART_WORDS)
    const top = best[0]?.score ?? 1
    const scores = new Map(best.map(({ listing, score }) => [listing, score / top]))
    const candidates = best.slice(0, BY_PART).map(({ listing }) => listing)
    if (vector !== undefined) candidates.push(...this.#nearest(vector, BY_PART, accepts))
    return { text, vector, scores, candidates }
  }

  #nearest(vector: Float32Array, count: number, accepts: RankOptions['accepts']): Listing[] {
    const filter = accepts === acceptEvery ? undefined : accepts
    // Sketches are approximate: the best of twice as many are almost always the nearest.
    const near = this.#vectors.nearest(vector, 2 * count, filter)
    return near
      .sort((a, b) => b.similarity - a.similarity)
      .slice(0, count)
      .map(({ listing }) => listing)
  }
}
