import type { Listing } from '../../tool.ts'
import type { WordScan } from '../lexical/word-scan.ts'
import type { LexicalIndex } from '../lexical.ts'
import type { Request } from '../query/request.ts'
import { acceptEvery, type RankOptions } from '../searcher.ts'
import { highestRows } from '../top-matches.ts'
import type { ListingVectors } from '../vectors/listing-vectors.ts'
import {
  type Candidate,
  type CandidatePool,
  describeCandidates,
  type PartView,
  rememberedCandidate,
} from './features.ts'
import { ParameterCounts } from './parameter-counts.ts'
import type { RequestVectors, SourceMeans } from './source-means.ts'

/** How many candidates each kind of ranking puts forward at least; more would only change the tail. */
const BY_WORDS = 64
const BY_MEANING = 48

/** The same for a request for several things: most of its candidates come from its parts. */
const BY_WORDS_OF_ALL = 32
const BY_MEANING_OF_ALL = 24
const BY_PART = 10

/** The matches of a part by words that count as such. */
const MATCHES_OF_PART = 12

/** The share of the candidates that must be left for them to be those of a smaller catalogue. */
const ENOUGH_LEFT = 0.5

/** Collects the candidates of a request from both indexes, each with its features. */
export class CandidateFinder {
  readonly #lexical: LexicalIndex
  readonly #vectors: ListingVectors
  readonly #sources: SourceMeans
  readonly #parameters = new ParameterCounts()

  constructor(lexical: LexicalIndex, vectors: ListingVectors, sources: SourceMeans) {
    this.#lexical = lexical
    this.#vectors = vectors
    this.#sources = sources
  }

  /** `scan`: the words of the whole request, read since the last update. */
  find(request: Request, scan: WordScan, vectors: RequestVectors, options: RankOptions): CandidatePool {
    const { limit, accepts, countsAll = true } = options
    const near = this.#nearest(vectors, limit, accepts)
    const parts = request.parts.map(({ text, words }, at) =>
      this.#viewPart(text, words, near.parts[at] ?? [], accepts),
    )
    const others = new Set([...near.whole, ...parts.flatMap(({ candidates }) => candidates)])
    const wanted = Math.max(limit, parts.length === 0 ? BY_WORDS : BY_WORDS_OF_ALL)
    const byWords = scan.best(wanted, { watched: [...others], countsAll })
    const numbers = [...new Set([...byWords.map(({ number }) => number), ...others])]
    return { request, vectors, numbers, topScore: byWords[0]?.score || 1, scan, parts }
  }

  /**
   * What would have been found if there were only the listings that `accepts` accepts too. Undefined if so few candidates
   * are left that others might be among the best, or none that contains a word of the request.
   */
  among(found: CandidatePool, accepts: RankOptions['accepts']): CandidatePool | undefined {
    const { listings } = this.#vectors.numbers
    const numbers = found.numbers.filter((number) => {
      const listing = listings[number]
      return listing !== undefined && accepts(listing)
    })
    if (numbers.length < ENOUGH_LEFT * found.numbers.length) return undefined
    const left = new Set(numbers)
    const scoreOf = (number: number) => found.scan.rate(number).score
    const topScore = numbers.reduce((top, number) => Math.max(top, scoreOf(number)), 0)
    // Then other words are unmatched, which only a new scan can tell.
    if (topScore === 0 && found.numbers.some((number) => scoreOf(number) > 0)) return undefined
    const parts = found.parts.map((part) => ({ ...part, scores: onlyOf(part.scores, left) }))
    return { ...found, numbers, topScore: topScore || 1, parts }
  }

  /** The candidates with their features. */
  describe(found: CandidatePool): Candidate[] {
    return describeCandidates(found, this.#vectors, this.#parameters, this.#sources)
  }

  /** A listing that no ranking put forward. */
  remembered(listing: Listing): Candidate {
    return rememberedCandidate(listing, this.#numberOf(listing), this.#parameters.of(listing))
  }

  #numberOf(listing: Listing): number {
    return this.#vectors.numbers.numberOf(listing) ?? -1
  }

  #viewPart(
    text: string,
    words: Request['words'],
    near: readonly number[],
    accepts: RankOptions['accepts'],
  ): PartView {
    const best = this.#lexical.scan(words, accepts).best(MATCHES_OF_PART)
    const top = best[0]?.score ?? 1
    const scores = new Map(best.map(({ number, score }) => [number, score / top]))
    const candidates = [...best.slice(0, BY_PART).map(({ number }) => number), ...near]
    return { text, scores, candidates }
  }

  /** The listings nearest to each vector of a request, by number, from one scan. */
  #nearest({ plain, parts }: RequestVectors, limit: number, accepts: RankOptions['accepts']) {
    const count = Math.max(limit, parts.length === 0 ? BY_MEANING : BY_MEANING_OF_ALL)
    // Values say nothing about which tool is meant.
    const queries = [{ vector: plain, count }, ...parts.map((vector) => ({ vector, count: BY_PART }))]
    // Sketches are approximate: the best of twice as many are almost always the nearest.
    const near = this.#vectors.nearest(
      queries.map((query) => ({ ...query, count: 2 * query.count })),
      accepts === acceptEvery ? undefined : accepts,
    )
    const nearest = near.map(({ numbers, similarities }, at) =>
      highestRows(similarities, queries[at]?.count ?? 0).map((row) => numbers[row] as number),
    )
    const [whole = [], ...ofParts] = nearest
    return { whole, parts: ofParts }
  }
}

/** The scores of these listings, relative to the best of them. */
function onlyOf(scores: ReadonlyMap<number, number>, left: ReadonlySet<number>): Map<number, number> {
  const kept = [...scores].filter(([number]) => left.has(number))
  const top = kept.reduce((best, [, score]) => Math.max(best, score), 0)
  return new Map(kept.map(([number, score]) => [number, score / top]))
}
