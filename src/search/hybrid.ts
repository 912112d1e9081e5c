import type { Listing } from '../tool.ts'
import { STOP_WORDS } from './lexical/stop-words.ts'
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
 * How much the words count, and the meaning the rest: the vector of a long request is vague, while its words stay exact.
 * Between the two lengths, stop words not counted, it grows steadily. Tuned on sets left out of the embedder
 * (bench/recall.ts); recall is flat around it.
 */
const WORDS_WEIGHT = { short: 0.25, long: 0.5 }
const SHORT_REQUEST = 4
const LONG_REQUEST = 16

/** How much the best-fitting part of a request counts, and the whole request the rest. */
const PART_WEIGHT = 0.4

/** What each way of ranking puts forward at least; more could only change the tail. */
const WORD_CANDIDATES = 48
const MEANING_CANDIDATES = 96
const PART_CANDIDATES = 48

/**
 * A listing that shares no word with the query must come this close to the nearest one in meaning, which in turn must
 * have something to do with it.
 */
const NEAR_THE_NEAREST = 0.45

/** Words count in full when the meaning comes this close to the nearest: words alone may be chosen to be found. */
const WORDS_AGREE_FROM = 0.7

/** What is left of the fit of a listing that is a list of words. */
const WORD_LIST_WEIGHT = 0.7

/** The cosine that leaves no doubt. The best tool for a request is seldom below it, one for another request above. */
const SURE_FROM = 0.6

/** Below this the best match is called weak. */
const WEAK_BELOW = 0.3

/** A single term is what a tool is about when they are this many times as alike as texts that are merely related. */
const MEANT_FROM = 1.8

/** Terms without a word in the catalogue that are looked up by meaning. */
const MAX_TERMS_BY_MEANING = 8

export interface HybridOptions {
  readonly embedder: Embedder
}

/**
 * Ranks by words and by meaning at once: exact terms and names through the lexical index, other wordings through
 * vectors. A request for several things is also ranked part by part, so that each part finds its tool. Scores run from
 * 0 to 1 and say how sure the match is. When the embedder fails, it ranks by words alone and says why in `failure`.
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

  /** The vectors of some texts, once those of all listings are there; none when the embedder fails. */
  async #embed(texts: readonly string[]): Promise<{ vectors: readonly Float32Array[]; failure?: unknown }> {
    try {
      const vectors = await this.#embedder.embed(texts)
      await this.#vectors.ready()
      return { vectors }
    } catch (failure) {
      return { vectors: [], failure: failure ?? new Error('the embedder failed') }
    }
  }

  /** What words and meaning put forward for one text. Each counts in proportion to its best: neither needs a scale. */
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

  /** All that any view put forward, each judged by the whole request and by the part that put it forward best. */
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

  /** Whether a term that no listing holds is what one of the matches is about. */
  #isMeant(vector: Float32Array, best: readonly Candidate[]): boolean {
    const from = MEANT_FROM * this.#relatedFrom
    return best.some(({ listing }) => this.#vectors.similarity(vector, listing) >= from)
  }
}

/** One text, the whole request or a part of it, and how listings look from there. */
interface View {
  readonly vector: Float32Array
  readonly seen: ReadonlyMap<Listing, Seen>
  /** What the best of each way of ranking is worth. */
  readonly wordsUnit: number
  readonly meaningUnit: number
  readonly agreesFrom: number
}

interface PartView {
  readonly text: string
  readonly view: View
}

/** What one view knows of a listing. */
interface Seen {
  readonly words: number
  readonly similarity: number
  readonly reasons: readonly string[]
}

interface Candidate {
  readonly listing: Listing
  /** To the whole request. */
  readonly similarity: number
  readonly reasons: readonly string[]
  readonly fit: number
  /** The part of the request that it fits best, if there are several. */
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

/** What differs by less fits alike: names decide then, and no tool is first by a hair that nobody sees. */
function rounded(fit: number): number {
  return Math.round(1_000 * Math.min(1, fit)) / 1_000
}

function byFit(a: Candidate, b: Candidate): number {
  if (a.fit !== b.fit) return b.fit - a.fit
  return b.listing.trust - a.listing.trust || compareNames(a.listing.name, b.listing.name)
}

/** How sure the best match is, 0 to 1: it means what was asked, or it holds the words. */
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
  if (part !== undefined) told.push(`fits the part "${part}"`)
  if (place === 0 && confidence < WEAK_BELOW) told.push('weak: nothing here fits the request well')
  return { listing, score: Math.round(10_000 * fit * confidence) / 10_000, reasons: told }
}
