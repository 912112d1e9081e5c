import type { Listing } from '../../tool.ts'
import { parameterTexts } from '../lexical/listing-terms.ts'
import { STOP_WORDS } from '../lexical/text-words.ts'
import type { LexicalIndex, WordMatch, WordScan } from '../lexical.ts'
import { acceptEvery } from '../query/query.ts'
import type { Request } from '../query/request.ts'
import type { RankOptions } from '../searcher.ts'
import type { ListingVectors } from '../vectors/listing-vectors.ts'
import type { Features } from './ranker.ts'

/** How many candidates each kind of ranking puts forward at least; more would only change the tail. */
const BY_WORDS = 100
const BY_MEANING = 48
const BY_PART = 15

/** The matches of a part by words that count as such. */
const PART_WORDS = 48

/** Parameters that count: more of them say nothing, and a server could add any number. */
const MAX_PARAMETERS = 8

/** Cosines below this are noise, so the best one is not taken as a unit below it. */
const LEAST_UNIT = 0.05

/** The lengths, in words besides stop words, between which a request becomes a long one. */
const SHORT_REQUEST = 4
const LONG_REQUEST = 16

/** A listing that may match, and what the ranker knows about it. */
export interface Candidate {
  readonly listing: Listing
  readonly number: number
  readonly features: Features
  /** Similarity to the whole request. */
  readonly similarity: number
  readonly hasWords: boolean
  /** The part of the request that it matches best, if there are several. */
  readonly part: string | undefined
}

/** The vectors of a request's texts. */
export interface RequestVectors {
  readonly whole: Float32Array
  /** Of the request without its values. */
  readonly plain: Float32Array
  readonly parts: readonly Float32Array[]
}

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
    return { candidates: this.#describe(request, vectors, numbers, byWords, scan, partViews), scan }
  }

  /** A listing that no ranking put forward. */
  remembered(listing: Listing): Candidate {
    const features: Features = { ...NO_FEATURES, parameters: parametersOf(listing) }
    return {
      listing,
      number: this.#lexical.numberOf(listing) ?? -1,
      features,
      similarity: 0,
      hasWords: false,
      part: undefined,
    }
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

  #describe(
    request: Request,
    { whole, plain }: RequestVectors,
    numbers: ReadonlyMap<Listing, number>,
    byWords: readonly WordMatch[],
    scan: WordScan,
    parts: readonly PartView[],
  ): Candidate[] {
    const vectors = this.#vectors
    const length = lengthOf(request)
    const topScore = byWords[0]?.score || 1
    const rows = Array.from(numbers, ([listing, number]) => {
      const similarity = vectors.similarity(whole, listing)
      const plainSimilarity = plain === whole ? similarity : vectors.similarity(plain, listing)
      return { listing, number, similarity, plainSimilarity }
    })
    let best = LEAST_UNIT
    let plainBest = LEAST_UNIT
    for (const { similarity, plainSimilarity } of rows) {
      best = Math.max(best, similarity)
      plainBest = Math.max(plainBest, plainSimilarity)
    }
    return rows.map(({ listing, number, similarity, plainSimilarity }): Candidate => {
      // If nothing is similar in meaning, the words are all there is.
      const meaning = Math.max(similarity / best, plainSimilarity / plainBest)
      const agreement = best > LEAST_UNIT ? agreementOf(meaning) : 1
      const score = scan.score(number)
      const words = (agreement * score) / topScore
      let partWords = parts.length === 0 ? words : 0
      let partMeaning = parts.length === 0 ? similarity : 0
      let part: string | undefined
      let partFit = 0
      for (const { text, vector, scores } of parts) {
        const partScore = agreement * (scores.get(listing) ?? 0)
        const cosine = vector === undefined ? 0 : vectors.similarity(vector, listing)
        partWords = Math.max(partWords, partScore)
        partMeaning = Math.max(partMeaning, cosine)
        if (partScore + cosine <= partFit) continue
        partFit = partScore + cosine
        part = text
      }
      return {
        listing,
        number,
        similarity,
        hasWords: score > 0 || partWords > 0,
        part,
        features: {
          coverage: agreement * scan.coverage(number),
          longWords: words * length,
          partWords,
          meaning: similarity / best,
          plainMeaning: plainSimilarity / plainBest,
          partMeaning,
          parameters: parametersOf(listing),
        },
      }
    })
  }
}

const NO_FEATURES: Features = {
  coverage: 0,
  longWords: 0,
  partWords: 0,
  meaning: 0,
  plainMeaning: 0,
  partMeaning: 0,
  parameters: 0,
}

interface PartView {
  readonly text: string
  readonly vector: Float32Array | undefined
  /** By listing: its score by words, relative to the best. */
  readonly scores: ReadonlyMap<Listing, number>
  readonly candidates: readonly Listing[]
}

/** Words count in full from this share of the nearest similarity: a tool's words may be chosen only to be found. */
const WORDS_AGREE_FROM = 0.85

function agreementOf(meaning: number): number {
  return Math.min(1, Math.max(0, meaning / WORDS_AGREE_FROM))
}

/** 0 for a request of up to four words besides stop words, 1 from sixteen on. */
function lengthOf({ words }: Request): number {
  let count = 0
  for (const { text } of words) if (!STOP_WORDS.has(text.toLowerCase())) count++
  return Math.min(1, Math.max(0, (count - SHORT_REQUEST) / (LONG_REQUEST - SHORT_REQUEST)))
}

const PARAMETERS = new WeakMap<Listing, number>()

/** How many parameters a listing has, up to eight, on a logarithmic scale. */
function parametersOf(listing: Listing): number {
  const known = PARAMETERS.get(listing)
  if (known !== undefined) return known
  const count = Math.min(MAX_PARAMETERS, parameterTexts(listing.inputSchema).names.length)
  const parameters = Math.log(1 + count) / Math.log(1 + MAX_PARAMETERS)
  PARAMETERS.set(listing, parameters)
  return parameters
}
