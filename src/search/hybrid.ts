import { anyObject, checkOptions, type OptionRules, objectWith, required } from '../check-options.ts'
import type { Listing } from '../tool.ts'
import { CandidateFinder } from './hybrid/candidates.ts'
import type { Candidate, RequestVectors } from './hybrid/features.ts'
import { byFit, eachPartFirst, type Fitting, liftedBy, rounded, toRanked } from './hybrid/fitting.ts'
import { NamedListings } from './hybrid/named-listings.ts'
import { calibratedScores, fitOf } from './hybrid/ranker.ts'
import { packHybrid, SavedHybrid } from './hybrid/saved-hybrid.ts'
import { wordsOf } from './lexical/text-words.ts'
import type { WordScan } from './lexical/word-scan.ts'
import { LexicalIndex } from './lexical.ts'
import { asksForDeprecated, isDeprecated } from './query/deprecated.ts'
import type { Query } from './query/query.ts'
import { type Request, readRequest } from './query/request.ts'
import { isWordList } from './query/word-list.ts'
import type { Sections } from './saved-index.ts'
import type { Lift, Ranking, RankOptions, SearchIndex, SearchMemory } from './searcher.ts'
import { CheckedEmbedder, type Embedder } from './vectors/embedder.ts'
import { DEADLINE_RULES, type DeadlineOptions, EmbedderDeadline } from './vectors/embedder-deadline.ts'
import type { ListingVectors } from './vectors/listing-vectors.ts'
import { type VectorSearcher, vectorSearcher } from './vectors/vector-searcher.ts'

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
const GIBBERISH_BELOW = 0.08

/** Shorter words are in every vocabulary, also those of gibberish. */
const MIN_LETTERS = 3

/** Factor for a listing that is a mere list of words. */
const WORD_LIST_WEIGHT = 0.7

/** Factor for a listing that says of itself that it is deprecated: below others that do the same, above the unrelated. */
const DEPRECATED_WEIGHT = 0.75

/** A term describes a tool if they are this many times as similar as texts that are merely related. */
const MEANT_FROM = 1.8

/** Maximum terms to look up by meaning when the catalogue contains no such word. */
const MAX_TERMS_BY_MEANING = 8

/** Options of `hybrid()`. */
export interface HybridOptions extends DeadlineOptions {
  readonly embedder: Embedder
  /** What served similar requests before. None by default; a search may bring its own. */
  readonly memory?: SearchMemory
}

const OPTIONS: OptionRules<HybridOptions> = {
  ...DEADLINE_RULES,
  embedder: required(anyObject),
  memory: objectWith('lifts'),
}

/**
 * Ranks by words and meaning together: exact terms and names through the lexical index, other wordings through
 * vectors. Each proposes candidates, and a small linear model trained on labelled requests orders them
 * (hybrid/ranker.ts). A request for several things is also ranked part by part, so that each part finds its tool. A
 * score of 0.7 means that seven of ten such matches are right.
 *
 * If the embedder fails or takes too long, it ranks by words alone and reports the reason in `failure`.
 */
export function hybrid(options: HybridOptions): VectorSearcher {
  checkOptions('hybrid()', options, OPTIONS)
  const embedder = new CheckedEmbedder(options.embedder)
  return vectorSearcher('hybrid', embedder, (vectors) => new HybridIndex(embedder, vectors, options))
}

export class HybridIndex implements SearchIndex {
  readonly #embedder: CheckedEmbedder
  readonly #vectors: ListingVectors
  readonly #options: Omit<HybridOptions, 'embedder'>
  readonly #lexical: LexicalIndex
  readonly #finder: CandidateFinder
  readonly #wordLists = new WeakSet<Listing>()
  readonly #deprecated = new WeakSet<Listing>()
  readonly #named = new NamedListings()
  readonly #deadline: EmbedderDeadline
  #saved: SavedHybrid | undefined

  constructor(
    embedder: CheckedEmbedder,
    vectors: ListingVectors,
    options: Omit<HybridOptions, 'embedder'> = {},
  ) {
    this.#embedder = embedder
    this.#vectors = vectors
    this.#options = options
    this.#deadline = new EmbedderDeadline(embedder.name, options)
    this.#lexical = new LexicalIndex(vectors.numbers)
    this.#finder = new CandidateFinder(this.#lexical, vectors)
  }

  update(source: string, listings: readonly Listing[]): void {
    const marks = this.#saved?.update(source, listings)
    if (this.#saved === undefined) {
      const change = this.#vectors.numbers.update(source, listings)
      this.#lexical.change(change)
      this.#vectors.change(change)
    }
    this.#named.update(source, listings)
    for (const [at, listing] of listings.entries()) {
      const mark = marks?.[at] ?? markOf(listing)
      if (mark & MARKS.wordList) this.#wordLists.add(listing)
      if (mark & MARKS.deprecated) this.#deprecated.add(listing)
    }
  }

  /** The whole index in bytes; undefined while vectors are missing, and before the first search of a restored index. */
  pack(): Uint8Array | undefined {
    if (this.#saved !== undefined) return undefined
    return packHybrid(
      this.#indexes,
      (listing) =>
        (this.#wordLists.has(listing) ? MARKS.wordList : 0) |
        (this.#deprecated.has(listing) ? MARKS.deprecated : 0),
    )
  }

  /** Starts from the sections of `pack`, before the first update. */
  adopt(sections: Sections): void {
    this.#saved = new SavedHybrid(sections, this.#indexes)
  }

  get #indexes() {
    return { embedder: this.#embedder, lexical: this.#lexical, vectors: this.#vectors }
  }

  /** Once a search begins, all sources that are still there have claimed their part of a saved index. */
  #settle(): void {
    this.#saved?.restore()
    this.#saved = undefined
  }

  async rank(query: Query, options: RankOptions): Promise<Ranking> {
    this.#settle()
    const request = this.#read(query)
    const unmatchedTerms = this.#lexical.scan(request.words, options.accepts).unmatchedWords()
    const unknown = unmatchedTerms.slice(0, MAX_TERMS_BY_MEANING)
    const embedded = await this.#embed(request, unknown)
    if ('failure' in embedded) {
      const scan = this.#lexical.scan(request.words, options.accepts)
      return { ...rankByWords(scan, options.limit), unmatchedTerms, failure: embedded.failure }
    }
    const { vectors, terms } = embedded

    const memory = options.memory ?? this.#options.memory
    const lifts = memory === undefined ? [] : await memory.lifts(vectors.plain)
    const { candidates, scan } = this.#finder.find(request, vectors, options)
    const judged = this.#judge(candidates, terms, unmatchedTerms, asksForDeprecated(query.words))
    const lifted = lifts.length === 0 ? judged : this.#lifted(judged, lifts, options)
    const chances = calibratedScores(lifted)
    const isPoor = lifts.length === 0 && (chances[0] ?? 0) < GIBBERISH_BELOW
    const isGibberish = isPoor && this.#isGibberish(candidates, unmatchedTerms)
    const [fitting, scores] = isGibberish ? [[], []] : [lifted, chances]
    const shown = fitting.slice(0, options.limit)
    const listed = shown.map(({ candidate }) => candidate)
    const reasons = scan.reasonsOf(listed)
    return {
      total: Math.max(options.countsAll === false ? 0 : scan.countAll(), fitting.length),
      matches: shown.map((match, at) => toRanked(match, scores[at] ?? 0, reasons[at] ?? [])),
      unmatchedTerms: unmatchedTerms.filter((_, at) => !this.#isMeant(terms[at], listed)),
      confidence: scores[0] ?? 0,
      similarity: listed[0]?.similarity ?? 0,
      vector: vectors.plain,
    }
  }

  /** The candidates of a query with their features, for training; undefined if the embedder fails. */
  async candidates(query: Query, options: RankOptions): Promise<readonly Candidate[] | undefined> {
    this.#settle()
    const request = this.#read(query)
    const embedded = await this.#embed(request, [])
    return 'failure' in embedded
      ? undefined
      : this.#finder.find(request, embedded.vectors, options).candidates
  }

  #read(query: Query): Request {
    return readRequest(query, (word) => this.#lexical.holders(word))
  }

  /** The vectors of a request and of single terms; a failure instead if the embedder fails or takes too long. */
  async #embed(
    { text, plainText, parts }: Request,
    unknown: readonly string[],
  ): Promise<Embedded | { readonly failure: unknown }> {
    if (this.#deadline.failure !== undefined) return { failure: this.#deadline.failure }
    const isPlain = plainText === text
    const texts = [text, ...(isPlain ? [] : [plainText]), ...parts.map((part) => part.text), ...unknown]
    try {
      const embedded = this.#embedder.embedRequests(texts)
      const ready = this.#vectors.ready()
      const vectors =
        embedded instanceof Promise || ready !== undefined
          ? await this.#deadline.wait(Promise.all([embedded, ready]).then(([all]) => all))
          : embedded
      const [whole, ...others] = vectors as [Float32Array, ...Float32Array[]]
      const plain = isPlain ? whole : (others.shift() as Float32Array)
      return {
        vectors: { whole, plain, parts: others.slice(0, parts.length) },
        terms: others.slice(parts.length),
      }
    } catch (failure) {
      return { failure: failure ?? new Error('the embedder failed') }
    }
  }

  /** The candidates worth considering, best first. */
  #judge(
    candidates: readonly Candidate[],
    terms: readonly Float32Array[],
    unmatchedTerms: readonly string[],
    allowsDeprecated: boolean,
  ): Fitting[] {
    let nearest = 0
    for (const { similarity } of candidates) nearest = Math.max(nearest, similarity)
    const isMentioned =
      candidates.some(({ hasWords }) => hasWords) || terms.some((vector) => this.#isMeant(vector, candidates))
    const relatedFrom =
      (isMentioned ? 1 : this.#hasAnyMeaning(unmatchedTerms) ? WORDLESS : GIBBERISH) *
      this.#embedder.relatedFrom
    const from = nearest < relatedFrom ? Number.POSITIVE_INFINITY : NEAR_THE_NEAREST * nearest
    const fitting: Fitting[] = []
    for (const candidate of candidates) {
      const { features, similarity, hasWords, listing } = candidate
      if (!hasWords && similarity < from) continue
      const isOutdated = !allowsDeprecated && this.#deprecated.has(listing)
      const weight =
        (this.#wordLists.has(listing) ? WORD_LIST_WEIGHT : 1) * (isOutdated ? DEPRECATED_WEIGHT : 1)
      fitting.push({ candidate, fit: rounded(weight * fitOf(features)), isOutdated })
    }
    return eachPartFirst(fitting.sort(byFit))
  }

  /** Whether a request consists of words that no tool contains and the embedder does not know. */
  #isGibberish(candidates: readonly Candidate[], unmatchedTerms: readonly string[]): boolean {
    const hasWords = candidates.some((candidate) => candidate.hasWords)
    return !hasWords && this.#embedder.tellsWords && !this.#hasAnyMeaning(unmatchedTerms)
  }

  /** Gibberish is always somewhat close to something, while a word with a meaning is close for a reason. */
  #hasAnyMeaning(terms: readonly string[]): boolean {
    return terms.slice(0, MAX_TERMS_BY_MEANING).some((term) => this.#hasMeaning(term))
  }

  #hasMeaning(term: string): boolean {
    return wordsOf(term).some((word) => word.length >= MIN_LETTERS && this.#embedder.knows(word))
  }

  #lifted(fitting: readonly Fitting[], lifts: readonly Lift[], { accepts }: RankOptions): readonly Fitting[] {
    return liftedBy(lifts, fitting, (name) => {
      const listing = this.#named.find(name)
      return listing !== undefined && accepts(listing) ? this.#finder.remembered(listing) : undefined
    })
  }

  /** Whether a term that no listing contains describes one of the matches. */
  #isMeant(vector: Float32Array | undefined, candidates: readonly Candidate[]): boolean {
    if (vector === undefined) return false
    const from = MEANT_FROM * this.#embedder.relatedFrom
    return candidates.some(({ listing }) => this.#vectors.similarity(vector, listing) >= from)
  }
}

/** What is noted about a listing when it is indexed, as bits. */
const MARKS = { wordList: 1, deprecated: 2 }

function markOf(listing: Listing): number {
  return (isWordList(listing) ? MARKS.wordList : 0) | (isDeprecated(listing) ? MARKS.deprecated : 0)
}

interface Embedded {
  readonly vectors: RequestVectors
  readonly terms: readonly Float32Array[]
}

/** Without vectors, the score is the share of the query that the best match covers, times the share of its score. */
function rankByWords(scan: WordScan, limit: number): Pick<Ranking, 'total' | 'matches'> {
  const best = scan.best(limit)
  const unit = (best[0]?.coverage ?? 0) / (best[0]?.score ?? 1)
  const reasons = scan.reasonsOf(best)
  return {
    total: scan.countAll(),
    matches: best.map(({ listing, score }, at) => ({
      listing,
      score: Math.round(10_000 * score * unit) / 10_000,
      reasons: reasons[at] ?? [],
    })),
  }
}
