import type { Listing } from '../tool.ts'
import { STOP_WORDS } from './lexical/text-words.ts'
import { lexical } from './lexical.ts'
import type { Query } from './query/query.ts'
import { requestParts } from './query/request-parts.ts'
import { isWordList } from './query/word-list.ts'
import { acceptEvery, type Ranked, type Ranking, type RankOptions, type SearchIndex } from './searcher.ts'
import { meaningReason } from './semantic.ts'
import { compareNames } from './top-matches.ts'
import { CheckedEmbedder, type Embedder, queryText } from './vectors/embedder.ts'
import type { ListingVectors } from './vectors/listing-vectors.ts'
import { type VectorSearcher, vectorSearcher } from './vectors/vector-searcher.ts'

/**
 * The weight of words; meaning gets the rest. A long request has a vague vector, while its words stay exact. The
 * weight grows linearly between the two lengths, not counting stop words. Tuned on sets that the embedder was not
 * trained on (bench/recall.ts); recall is flat around these values.
 */
const WORDS_WEIGHT = { short: 0.25, long: 0.5 }
const SHORT_REQUEST = 4
const LONG_REQUEST = 16

/** The weight of the best-matching part of a request; the whole request gets the rest. */
const PART_WEIGHT = 0.4

/** Minimum candidates from each kind of ranking; more would only change the tail. */
const WORD_CANDIDATES = 48
const MEANING_CANDIDATES = 96
const PART_CANDIDATES = 48

/**
 * A listing that shares no word with the query must reach this share of the nearest listing's similarity, and the
 * nearest one must be related to the query.
 */
const NEAR_THE_NEAREST = 0.45

/**
 * Words get full weight above this share of the nearest similarity: a tool's words may be chosen only to be found.
 */
const WORDS_AGREE_FROM = 0.7

/** Factor for a listing that is a mere list of words. */
const WORD_LIST_WEIGHT = 0.7

/** The cosine of a certain match. The best tool for a request is seldom below it, an unrelated one seldom above. */
const SURE_FROM = 0.6

/** Below this confidence the best match is reported as weak. */
const WEAK_BELOW = 0.3

/** A term describes a tool if they are this many times as similar as texts that are merely related. */
const MEANT_FROM = 1.8

/** Maximum terms to look up by meaning when the catalogue contains no such word. */
const MAX_TERMS_BY_MEANING = 8

export interface HybridOptions {
  readonly embedder: Embedder
}

/**
 * Ranks by words and meaning together: exact terms and names through the lexical index, other wordings through
 * vectors. A request for several things is also ranked part by part, so that each part finds its tool. Scores range
 * from 0 to 1 and express confidence. If the embedder fails, it ranks by words alone and reports the reason in
 * `failure`.
 */
export function hybrid({ embedder }: HybridOptions): VectorSearcher {
  const checked = new CheckedEmbedder(embedder)
  return vectorSearcher('hybrid', checked, (vectors) => new HybridIndex(checked, vectors))
}

class HybridIndex implements SearchIndex {
  readonly #embedder: CheckedEmbedder
  readonly #vectors: ListingVectors
  readonly #relatedFrom: number
  readonly #lexical = lexical().open()
  readonly #wordLists = new WeakSet<Listing>()

  constructor(embedder: CheckedEmbedder, vectors: ListingVectors) {
    this.#embedder = embedder
    this.#relatedFrom = embedder.relatedFrom
    this.#vectors = vectors
  }

  update(source: string, listings: readonly Listing[]): void {
    this.#lexical.update(source, listings)
    this.#vectors.update(source, listings)
    for (const listing of listings) if (isWordList(listing)) this.#wordLists.add(listing)
  }

  async rank(query: Query, options: RankOptions): Promise<Ranking> {
    const parts = hasFilters(query) ? [] : requestParts(query.text)
    const byWords = await this.#lexical.rank(query, pool(options, WORD_CANDIDATES))
    const unknown = byWords.unmatchedTerms.slice(0, MAX_TERMS_BY_MEANING)
    const { vectors, failure } = await this.#embed([queryText(query), ...parts, ...unknown])
    const nothing = new Float32Array(this.#embedder.dimensions)
    const [whole = nothing, ...others] = vectors
    const weightOf = failure === undefined ? wordsWeightOf : () => 1

    const wholeView = this.#look(whole, weightOf(query.words), byWords, pool(options, MEANING_CANDIDATES))
    const partViews: PartView[] = []
    for (const [at, text] of parts.entries()) {
      const words = text.split(/\s+/)
      const partByWords = await this.#lexical.rank({ ...query, words }, pool(options, PART_CANDIDATES))
      const vector = others[at] ?? nothing
      const view = this.#look(vector, weightOf(words), partByWords, pool(options, PART_CANDIDATES))
      partViews.push({ text, view })
    }
    const candidates = this.#judge(wholeView, partViews)
    const best = candidates.sort(byFit).slice(0, options.limit)
    const unmatchedTerms = byWords.unmatchedTerms.filter((_, at) => {
      const vector = others[parts.length + at]
      return vector === undefined || !this.#isMeant(vector, best)
    })
    const confidence = confidenceOf(best[0], query, this.#relatedFrom / 2)
    return {
      total: Math.max(byWords.total, candidates.length),
      matches: best.map((candidate, place) => toRanked(candidate, confidence, place)),
      unmatchedTerms,
      ...(failure === undefined ? {} : { failure }),
    }
  }

  /** Embeds texts once all listings have vectors; returns no vectors if the embedder fails. */
  async #embed(texts: readonly string[]): Promise<{ vectors: readonly Float32Array[]; failure?: unknown }> {
    try {
      const vectors = await this.#embedder.embed(texts)
      await this.#vectors.ready()
      return { vectors }
    } catch (failure) {
      return { vectors: [], failure: failure ?? new Error('the embedder failed') }
    }
  }

  /**
   * The candidates of words and meaning for one text. Each is scored relative to its best, so no common scale is
   * needed.
   */
  #look(vector: Float32Array, wordsWeight: number, byWords: Ranking, { limit, accepts }: RankOptions): View {
    const seen = new Map<Listing, Seen>()
    const filter = accepts === acceptEvery ? undefined : accepts
    let nearest = 0
    for (const { listing, score, reasons } of byWords.matches) {
      const similarity = this.#vectors.similarity(vector, listing)
      nearest = Math.max(nearest, similarity)
      seen.set(listing, { words: score, similarity, reasons })
    }
    const near = this.#vectors.nearest(vector, limit, filter)
    for (const { similarity } of near) nearest = Math.max(nearest, similarity)
    const from = nearest < this.#relatedFrom ? Number.POSITIVE_INFINITY : NEAR_THE_NEAREST * nearest
    for (const { listing, similarity } of near)
      if (similarity >= from && !seen.has(listing))
        seen.set(listing, { words: 0, similarity, reasons: NO_REASONS })
    return {
      vector,
      seen,
      wordsUnit: wordsWeight / (byWords.matches[0]?.score ?? 1),
      meaningUnit: (1 - wordsWeight) / Math.max(nearest, this.#relatedFrom),
      agreesFrom: WORDS_AGREE_FROM * nearest,
    }
  }

  /** All candidates, scored by the whole request and by the part they match best. */
  #judge(whole: View, parts: readonly PartView[]): Candidate[] {
    const listings = new Set(whole.seen.keys())
    for (const { view } of parts) for (const listing of view.seen.keys()) listings.add(listing)
    return Array.from(listings, (listing) => {
      const seen = this.#see(listing, whole)
      const wholeFit = this.#fit(listing, seen, whole)
      if (parts.length === 0) return { listing, ...seen, fit: rounded(wholeFit), part: undefined }
      let { reasons } = seen
      let partFit = 0
      let part: string | undefined
      for (const { text, view } of parts) {
        const seenHere = view.seen.get(listing)
        if (seenHere === undefined) continue
        const fit = this.#fit(listing, seenHere, view)
        if (fit <= partFit) continue
        partFit = fit
        part = text
        if (seen.reasons.length === 0) reasons = seenHere.reasons
      }
      const fit = (1 - PART_WEIGHT) * wholeFit + PART_WEIGHT * partFit
      return { listing, similarity: seen.similarity, reasons, fit: rounded(fit), part }
    })
  }

  #see(listing: Listing, { vector, seen }: View): Seen {
    const known = seen.get(listing)
    if (known !== undefined) return known
    return { words: 0, similarity: this.#vectors.similarity(vector, listing), reasons: NO_REASONS }
  }

  #fit(listing: Listing, { words, similarity }: Seen, { wordsUnit, meaningUnit, agreesFrom }: View): number {
    const meaning = Math.max(0, similarity)
    const agreement = meaning < agreesFrom ? meaning / agreesFrom : 1
    const fit = words * wordsUnit * agreement + meaning * meaningUnit
    return this.#wordLists.has(listing) ? WORD_LIST_WEIGHT * fit : fit
  }

  /** Whether a term that no listing contains describes one of the matches. */
  #isMeant(vector: Float32Array, best: readonly Candidate[]): boolean {
    const from = MEANT_FROM * this.#relatedFrom
    return best.some(({ listing }) => this.#vectors.similarity(vector, listing) >= from)
  }
}

/** One text, the whole request or a part of it, and its view of the listings. */
interface View {
  readonly vector: Float32Array
  readonly seen: ReadonlyMap<Listing, Seen>
  /** The value of the best match of each kind of ranking. */
  readonly wordsUnit: number
  readonly meaningUnit: number
  readonly agreesFrom: number
}

interface PartView {
  readonly text: string
  readonly view: View
}

/** One view's data about a listing. */
interface Seen {
  readonly words: number
  readonly similarity: number
  readonly reasons: readonly string[]
}

interface Candidate {
  readonly listing: Listing
  /** Similarity to the whole request. */
  readonly similarity: number
  readonly reasons: readonly string[]
  readonly fit: number
  /** The best-matching part of the request, if it has several. */
  readonly part: string | undefined
}

const NO_REASONS: readonly string[] = []

function hasFilters({ required, excluded, servers, phrases }: Query): boolean {
  return required.length + excluded.length + servers.length + phrases.length > 0
}

function pool({ limit, accepts }: RankOptions, count: number): RankOptions {
  return { limit: Math.max(limit, count), accepts }
}

function wordsWeightOf(words: readonly string[]): number {
  const length = (tellingWords(words) - SHORT_REQUEST) / (LONG_REQUEST - SHORT_REQUEST)
  return WORDS_WEIGHT.short + (WORDS_WEIGHT.long - WORDS_WEIGHT.short) * Math.min(1, Math.max(0, length))
}

function tellingWords(words: readonly string[]): number {
  let count = 0
  for (const word of words) if (!STOP_WORDS.has(word.toLowerCase())) count++
  return count
}

/** Rounds away tiny differences, so that names break near-ties. */
function rounded(fit: number): number {
  return Math.round(1_000 * Math.min(1, fit)) / 1_000
}

function byFit(a: Candidate, b: Candidate): number {
  if (a.fit !== b.fit) return b.fit - a.fit
  return b.listing.trust - a.listing.trust || compareNames(a.listing.name, b.listing.name)
}

/** Confidence in the best match, 0 to 1: it has the meaning of the request, or contains its words. */
function confidenceOf(best: Candidate | undefined, { words }: Query, doubtfulAt: number): number {
  if (best === undefined) return 0
  const coverage = best.reasons.length / Math.max(1, tellingWords(words))
  const meaning = (best.similarity - doubtfulAt) / (SURE_FROM - doubtfulAt)
  return Math.min(1, Math.max(0, meaning, coverage))
}

function toRanked(
  { listing, fit, similarity, reasons, part }: Candidate,
  confidence: number,
  place: number,
): Ranked {
  const told = [...reasons]
  if (similarity > 0) told.push(meaningReason(similarity))
  if (part !== undefined) told.push(`matches the part "${part}"`)
  if (place === 0 && confidence < WEAK_BELOW) told.push('weak: no tool matches the request well')
  return { listing, score: Math.round(10_000 * fit * confidence) / 10_000, reasons: told }
}
