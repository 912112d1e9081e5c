import { wordsOf } from '../lexical/text-words.ts'
import type { CheckedEmbedder } from '../vectors/embedder.ts'
import type { ListingVectors } from '../vectors/listing-vectors.ts'
import type { Candidate } from './features.ts'
import { byFit, eachPartFirst, type Fitting, rounded } from './fitting.ts'
import { fitOf } from './ranker.ts'

/**
 * A listing that shares no word with the query must reach this share of the nearest listing's similarity, and the
 * nearest one must be related to the query.
 */
const NEAR_THE_NEAREST = 0.45

/**
 * If no listing contains any word of the request, how related the nearest one must be: less if the embedder knows one of
 * the words, since a poor match with a low score is better than none, and more if the request may be gibberish.
 */
const WORDLESS = 0.75
const GIBBERISH = 1.6

/** In a large catalogue many tools are somewhat near to gibberish, and none stands out: its score stays below this. */
const GIBBERISH_BELOW = 0.2

/** Shorter words are in every vocabulary, also those of gibberish. */
const MIN_LETTERS = 3

/** A term describes a tool if they are this many times as similar as texts that are merely related. */
const MEANT_FROM = 1.8

/** What a request says about itself. */
export interface UnknownTerms {
  /** The words that no listing contains, and the vectors of the first of them. */
  readonly unmatchedTerms: readonly string[]
  readonly terms: readonly Float32Array[]
}

/** Decides which candidates are worth considering, and what counts against a listing. */
export class Judge {
  readonly #embedder: CheckedEmbedder
  readonly #vectors: ListingVectors

  constructor(embedder: CheckedEmbedder, vectors: ListingVectors) {
    this.#embedder = embedder
    this.#vectors = vectors
  }

  /** The candidates worth considering, best first. */
  fitting(candidates: readonly Candidate[], { terms, unmatchedTerms }: UnknownTerms): readonly Fitting[] {
    let nearest = 0
    for (const { similarity } of candidates) nearest = Math.max(nearest, similarity)
    const isMentioned =
      candidates.some(({ hasWords }) => hasWords) || this.#areMeant(terms, candidates).includes(true)
    const relatedFrom =
      (isMentioned ? 1 : this.#hasAnyMeaning(unmatchedTerms, terms) ? WORDLESS : GIBBERISH) *
      this.#embedder.relatedFrom
    const from = nearest < relatedFrom ? Number.POSITIVE_INFINITY : NEAR_THE_NEAREST * nearest
    const fitting: Fitting[] = []
    for (const candidate of candidates) {
      const { features, similarity, hasWords, sourceAgreement } = candidate
      if (!hasWords && similarity < from) continue
      fitting.push({ candidate, fit: rounded(sourceAgreement * fitOf(features)) })
    }
    return eachPartFirst(fitting.sort(byFit))
  }

  /**
   * Whether a request consists of words that no tool contains and the embedder does not know, and no candidate stands out.
   * `chance`: the probability of the best one.
   */
  isGibberish(
    candidates: readonly Candidate[],
    { unmatchedTerms, terms }: UnknownTerms,
    chance: number,
  ): boolean {
    if (chance >= GIBBERISH_BELOW || candidates.some(({ hasWords }) => hasWords)) return false
    return this.#embedder.tellsWords && !this.#hasAnyMeaning(unmatchedTerms, terms)
  }

  /** Of the terms that no listing contains, those that describe none of the matches either. */
  notMeant({ unmatchedTerms, terms }: UnknownTerms, matches: readonly Candidate[]): readonly string[] {
    if (unmatchedTerms.length === 0) return unmatchedTerms
    const areMeant = this.#areMeant(terms, matches)
    return unmatchedTerms.filter((_, at) => areMeant[at] !== true)
  }

  /** For each term, whether it describes one of the candidates. */
  #areMeant(terms: readonly Float32Array[], candidates: readonly Candidate[]): boolean[] {
    const from = MEANT_FROM * this.#embedder.relatedFrom
    const numbers = candidates.map(({ number }) => number)
    const similarities = this.#vectors.similarities(terms, numbers)
    return similarities.map((ofTerm) => ofTerm.some((similarity) => similarity >= from))
  }

  /** Gibberish is always somewhat close to something, while a word with a meaning is close for a reason. */
  #hasAnyMeaning(unmatchedTerms: readonly string[], terms: readonly Float32Array[]): boolean {
    return unmatchedTerms.slice(0, terms.length).some((term) => this.#hasMeaning(term))
  }

  #hasMeaning(term: string): boolean {
    return wordsOf(term).some((word) => word.length >= MIN_LETTERS && this.#embedder.knows(word))
  }
}
