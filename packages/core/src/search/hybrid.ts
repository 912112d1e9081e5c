import { anyObject, checkOptions, type OptionRules, objectWith, required } from '../check-options.ts'
import type { Listing } from '../tool.ts'
import { answerableChance, calibratedScores } from './hybrid/calibration.ts'
import { CandidateFinder } from './hybrid/candidates.ts'
import { relatedFromMiddle } from './hybrid/centre.ts'
import type { Candidate, CandidatePool } from './hybrid/features.ts'
import { type Fitting, liftedBy, toRanked } from './hybrid/fitting.ts'
import { Judge, type UnknownTerms } from './hybrid/judge.ts'
import { type HybridIndexes, packHybrid, SavedHybrid, updateIndexes } from './hybrid/saved-hybrid.ts'
import { type RequestVectors, SourceMeans } from './hybrid/source-means.ts'
import type { WordScan } from './lexical/word-scan.ts'
import { LexicalIndex } from './lexical.ts'
import type { Query } from './query/query.ts'
import { mayBeMisspelt, type Request, readRequest, respelt } from './query/request.ts'
import { Spelling } from './query/spelling.ts'
import type { Sections } from './saved-index.ts'
import type { Lift, Ranking, RankOptions, SearchIndex, SearchMemory } from './searcher.ts'
import { CheckedEmbedder, type Embedder } from './vectors/embedder.ts'
import { DEADLINE_RULES, type DeadlineOptions, EmbedderDeadline } from './vectors/embedder-deadline.ts'
import type { ListingVectors } from './vectors/listing-vectors.ts'
import { type VectorSearcher, vectorSearcher } from './vectors/vector-searcher.ts'

/** Maximum terms to look up by meaning, and by their spelling, when the catalogue contains no such word. */
const MAX_TERMS_BY_MEANING = 8
const MAX_TERMS_BY_SPELLING = 8

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
  readonly #sources: SourceMeans
  readonly #finder: CandidateFinder
  readonly #judge: Judge
  readonly #deadline: EmbedderDeadline
  /** How many updates there were: what was read before one is outdated after it. */
  #updates = 0
  /** What was found for a ranking, until the next update. */
  #ranked = new WeakMap<Ranking, { readonly pool: CandidatePool; readonly asked: LiftedRequest }>()
  #saved: SavedHybrid | undefined
  /** The words of the catalogue, from the first request with an unknown word until the next update. */
  #spelling: Spelling | undefined

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
    this.#sources = new SourceMeans(vectors, embedder.dimensions)
    this.#finder = new CandidateFinder(this.#lexical, vectors, this.#sources)
    this.#judge = new Judge(embedder, vectors)
  }

  update(source: string, listings: readonly Listing[]): void {
    this.#updates++
    this.#ranked = new WeakMap()
    this.#spelling = undefined
    if (this.#saved !== undefined) this.#saved.update(source, listings)
    else updateIndexes(this.#indexes, source, listings)
  }

  /** A saved index is claimed source by source. */
  get takesWholeSources(): boolean {
    return this.#saved !== undefined
  }

  /** The whole index in bytes; undefined while vectors are missing, and before the first search of a restored index. */
  pack(): Uint8Array | undefined {
    if (this.#saved !== undefined) return undefined
    return packHybrid(this.#indexes)
  }

  /** Starts from the sections of `pack`, before the first update. */
  adopt(sections: Sections): void {
    this.#saved = new SavedHybrid(sections, this.#indexes)
  }

  get #indexes(): HybridIndexes {
    return {
      embedder: this.#embedder,
      lexical: this.#lexical,
      vectors: this.#vectors,
    }
  }

  /** Once a search begins, all sources that are still there have claimed their part of a saved index. */
  #settle(): void {
    this.#saved?.restore()
    this.#saved = undefined
  }

  async rank(query: Query, options: RankOptions): Promise<Ranking> {
    this.#settle()
    const read = this.#read(query, options.accepts)
    const { request, unmatchedTerms } = read
    const readAs = read.readAs.size === 0 ? {} : { readAs: Object.fromEntries(read.readAs) }
    const updates = this.#updates
    const unknown = unmatchedTerms.slice(0, MAX_TERMS_BY_MEANING)
    const embedded = await this.#embed(request, unknown)
    const currentScan = () =>
      updates === this.#updates ? read.scan : this.#lexical.scan(request.words, options.accepts)
    if ('failure' in embedded)
      return {
        ...rankByWords(currentScan(), options.limit),
        unmatchedTerms,
        ...readAs,
        failure: embedded.failure,
      }
    const { vectors, terms } = embedded

    const memory = options.memory ?? this.#options.memory
    const lifts = memory === undefined ? [] : await memory.lifts(vectors.plain)
    const asked = { unmatchedTerms, terms, lifts }
    const found = this.#finder.find(request, currentScan(), vectors, options)
    const ranking = { ...this.#rankFound(found, asked, options), ...readAs }
    // Some vectors of what was updated meanwhile may still be missing.
    if (updates !== this.#updates) this.#sources.clear()
    this.#ranked.set(ranking, { pool: found, asked })
    return ranking
  }

  #rankFound(found: CandidatePool, asked: LiftedRequest, options: RankOptions): Ranking {
    const { lifts } = asked
    const candidates = this.#finder.describe(found)
    const judged = this.#judge.fitting(candidates, asked)
    const lifted = lifts.length === 0 ? judged : this.#lifted(judged, lifts, options)
    const relatedFrom = this.#relatedFrom(found)
    const chances = calibratedScores(lifted, relatedFrom)
    const isGibberish = lifts.length === 0 && this.#judge.isGibberish(candidates, asked, chances[0] ?? 0)
    const [fitting, scores] = isGibberish ? [[], []] : [lifted, chances]
    const shown = fitting.slice(0, options.limit)
    const listed = shown.map(({ candidate }) => candidate)
    const reasons = found.scan.reasonsOf(listed)
    return {
      total: Math.max(options.countsAll === false ? 0 : found.scan.countAll(), fitting.length),
      matches: shown.map((match, at) => toRanked(match, scores[at] ?? 0, reasons[at] ?? [])),
      unmatchedTerms: this.#judge.notMeant(asked, listed),
      confidence: scores[0] ?? 0,
      answerable: answerableChance(fitting, relatedFrom),
      similarity: listed[0]?.similarity ?? 0,
      vector: found.vectors.plain,
    }
  }

  /** The cosine from which a match is related to a request, on the scale of its features. */
  #relatedFrom({ parts }: CandidatePool): number {
    const { relatedFrom } = this.#embedder
    return parts.length > 0 ? relatedFrom : relatedFromMiddle(relatedFrom, this.#vectors.centre.count)
  }

  rankAgain(ranking: Ranking, options: Pick<RankOptions, 'limit' | 'accepts'>): Ranking | undefined {
    const ranked = this.#ranked.get(ranking)
    const left = ranked && this.#finder.among(ranked.pool, options.accepts)
    return left && this.#rankFound(left, ranked.asked, { ...options, countsAll: false })
  }

  /** The candidates of a query with their features, for training; undefined if the embedder fails. */
  async candidates(query: Query, options: RankOptions): Promise<readonly Candidate[] | undefined> {
    this.#settle()
    const { request } = this.#read(query, options.accepts)
    const embedded = await this.#embed(request, [])
    if ('failure' in embedded) return undefined
    const scan = this.#lexical.scan(request.words, options.accepts)
    return this.#finder.describe(this.#finder.find(request, scan, embedded.vectors, options))
  }

  /** Reads a query; misspelt words are read as words of the catalogue. */
  #read(query: Query, accepts: RankOptions['accepts']): ReadQuery {
    const written = readRequest(query, (word) => this.#lexical.holders(word))
    const scan = this.#lexical.scan(written.words, accepts)
    const unmatchedTerms = scan.unmatchedWords()
    const meant = new Map<string, string>()
    for (const term of mayBeMisspelt(written, unmatchedTerms).slice(0, MAX_TERMS_BY_SPELLING)) {
      const word = this.#meantBy(term, accepts)
      if (word !== undefined) meant.set(term, word)
    }
    if (meant.size === 0) return { request: written, scan, unmatchedTerms, readAs: meant }
    const request = respelt(written, meant)
    return {
      request,
      scan: this.#lexical.scan(request.words, accepts),
      unmatchedTerms: unmatchedTerms.filter((term) => !meant.has(term)),
      readAs: meant,
    }
  }

  /**
   * The word of the catalogue that an unknown word is a misspelling of; the most frequent one of several. Both are judged by
   * the embedder: the one is not a word that it knows, and the other is.
   */
  #meantBy(term: string, accepts: RankOptions['accepts']): string | undefined {
    const word = term.toLowerCase()
    if (!this.#embedder.tellsWords || this.#embedder.knows(word)) return undefined
    this.#spelling ??= new Spelling([...this.#lexical.words()].filter((one) => this.#embedder.knows(one)))
    const near = this.#spelling.near(word, (one) => this.#isHeld(one, accepts))
    const holders = (one: string) => this.#lexical.holders(one)
    return near.toSorted((a, b) => holders(b) - holders(a) || b.length - a.length || (a < b ? -1 : 1))[0]
  }

  #isHeld(text: string, accepts: RankOptions['accepts']): boolean {
    return this.#lexical.scan([{ text, weight: 1 }], accepts).unmatchedWords().length === 0
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

  #lifted(fitting: readonly Fitting[], lifts: readonly Lift[], { accepts }: RankOptions): readonly Fitting[] {
    return liftedBy(lifts, fitting, (name) => {
      const listing = this.#vectors.numbers.listings.find((one) => one?.name === name)
      return listing !== undefined && accepts(listing) ? this.#finder.remembered(listing) : undefined
    })
  }
}

interface ReadQuery {
  readonly request: Request
  readonly scan: WordScan
  /** The words that no listing contains, without misspelt ones that were recognised. */
  readonly unmatchedTerms: readonly string[]
  /** The misspelt words that were recognised, and what they were read as. */
  readonly readAs: ReadonlyMap<string, string>
}

/** What a request says, and what memory knows about it. */
interface LiftedRequest extends UnknownTerms {
  readonly lifts: readonly Lift[]
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
