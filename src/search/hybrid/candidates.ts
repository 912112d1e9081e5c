import type { Listing } from '../../tool.ts'
import type { WordScan } from '../lexical/word-scan.ts'
import type { LexicalIndex } from '../lexical.ts'
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
    const { limit, accepts, countsAll = true } = options
    const near = this.#nearest(vectors, limit, accepts)
    const partViews = request.parts.map(({ text, words }, at) =>
      this.#viewPart(text, words, vectors.parts[at], near.parts[at] ?? [], accepts),
    )
    const others = new Set([
      ...near.whole,
      ...near.plain,
      ...partViews.flatMap(({ candidates }) => candidates),
    ])
    const numbered = Array.from(others, (listing) => [listing, this.#numberOf(listing)] as const)
    const scan = this.#lexical.scan(request.words, accepts)
    const watched = numbered.map(([, number]) => number)
    const byWords = scan.best(Math.max(limit, BY_WORDS), { watched, countsAll })
    const numbers = new Map([
      ...byWords.map(({ listing, number }) => [listing, number] as const),
      ...numbered,
    ])
    const found = { request, vectors, numbers, byWords, scan, parts: partViews }
    return { candidates: describeCandidates(found, this.#vectors), scan }
  }

  /** A listing that no ranking put forward. */
  remembered(listing: Listing): Candidate {
    return rememberedCandidate(listing, this.#numberOf(listing))
  }

  #numberOf(listing: Listing): number {
    return this.#vectors.numbers.numberOf(listing) ?? -1
  }

  #viewPart(
    text: string,
    words: Request['words'],
    vector: Float32Array | undefined,
    near: readonly Listing[],
    accepts: RankOptions['accepts'],
  ): PartView {
    const best = this.#lexical.scan(words, accepts).best(PART_WORDS)
    const top = best[0]?.score ?? 1
    const scores = new Map(best.map(({ listing, score }) => [listing, score / top]))
    const candidates = [...best.slice(0, BY_PART).map(({ listing }) => listing), ...near]
    return { text, vector, scores, candidates }
  }

  /** The listings nearest to each vector of a request, from one scan. */
  #nearest({ whole, plain, parts }: RequestVectors, limit: number, accepts: RankOptions['accepts']) {
    const count = Math.max(limit, BY_MEANING)
    const wholes = plain === whole ? [whole] : [whole, plain]
    const queries = [
      ...wholes.map((vector) => ({ vector, count })),
      ...parts.map((vector) => ({ vector, count: BY_PART })),
    ]
    // Sketches are approximate: the best of twice as many are almost always the nearest.
    const near = this.#vectors.nearest(
      queries.map((query) => ({ ...query, count: 2 * query.count })),
      accepts === acceptEvery ? undefined : accepts,
    )
    const listings = queries.map((query, at) =>
      (near[at] ?? [])
        .sort((a, b) => b.similarity - a.similarity)
        .slice(0, query.count)
        .map(({ listing }) => listing),
    )
    return {
      whole: listings[0] ?? [],
      plain: plain === whole ? [] : (listings[1] ?? []),
      parts: listings.slice(wholes.length),
    }
  }
}
