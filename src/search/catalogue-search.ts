import { clamp } from '../text.ts'
import type { Listing } from '../tool.ts'
import { CloneFolding } from './clone-folding.ts'
import { wordsOf } from './lexical/text-words.ts'
import { lexical } from './lexical.ts'
import { ExactNames } from './query/exact-names.ts'
import { parseQuery, type Query } from './query/query.ts'
import { filtered, holds, isOfServer } from './query/query-filters.ts'
import { regex } from './regex.ts'
import { acceptEvery, type Ranked, type Searcher, type SearchIndex } from './searcher.ts'
import { compareNames } from './top-matches.ts'

const DEFAULT_LIMIT = 5
const MAX_LIMIT = 1000

/** Matches fetched beyond what is asked for, to take the place of those that are folded or not ready. */
const SPARE_MATCHES = 3

/** Matches ranked beyond those, looked at only when too few are left: ranking anew costs far more. */
const MATCHES_AT_HAND = 14

/** How far apart in the ranking clones are looked for. They score alike, so they stand close together. */
const CLONE_DISTANCE = 50

export interface CatalogueSearchOptions {
  /** How many to return: 5 unless told, 1 to 1,000. Names asked for by `select:` are all returned. */
  readonly limit?: number
  readonly offset?: number
  readonly searcher?: Searcher
  /** Only tools of this MCP server. */
  readonly server?: string
  /** Whether a listing may be found; one it refuses leaves no trace. */
  accepts?(listing: Listing): boolean
  /** Whether a listing can be used now; asked only of those about to be returned. */
  isReady?(listing: Listing): boolean
}

export interface CatalogueFindings {
  /** The query as it was written. */
  readonly query: string
  readonly kind: Query['kind']
  /** How many fit in all. Clones and unready tools are taken off as far as they were met. */
  readonly total: number
  readonly ranked: readonly Ranked[]
  /** Names asked for by `select:` that nothing accepted bears. */
  readonly missing?: readonly string[]
  /** Words that fit no accepted listing, as written, in order. */
  readonly unmatchedTerms?: readonly string[]
}

/**
 * Searches a catalogue that changes: feed it with `sync`, ask it with `search`. It reads the query language, puts an
 * exact name first, folds what another source offers alike, and leaves the ranking to a searcher.
 *
 * Listings are told apart by identity; their names may repeat.
 */
export class CatalogueSearch {
  readonly #defaultSearcher: Searcher
  readonly #patterns = regex()
  #groups: ReadonlyMap<string, readonly Listing[]> = new Map()
  readonly #names = new ExactNames()
  readonly #clones = new CloneFolding()
  readonly #indexes = new WeakMap<
    Searcher,
    { index: SearchIndex; groups: ReadonlyMap<string, readonly Listing[]> }
  >()

  constructor(searcher: Searcher = lexical()) {
    this.#defaultSearcher = searcher
  }

  /** Takes over the listings of all sources. A source whose array is the same object as before costs nothing. */
  sync(groups: ReadonlyMap<string, readonly Listing[]>): void {
    const previous = this.#groups
    // A copy, since the caller may go on changing its map.
    this.#groups = new Map(groups)
    for (const [, before, after] of changes(previous, this.#groups)) {
      this.#clones.see(before, after)
      const kept = new Set(after)
      const known = new Set(before)
      for (const listing of before) if (!kept.has(listing)) this.#names.remove(listing)
      for (const listing of after) if (!known.has(listing)) this.#names.add(listing)
    }
  }

  /** Throws `query-invalid` for a query that asks for nothing, `pattern-invalid` for a pattern that cannot be used. */
  async search(text: string, options: CatalogueSearchOptions = {}): Promise<CatalogueFindings> {
    const searcher = options.searcher ?? this.#defaultSearcher
    const query = parseQuery(text, { as: searcher.reads ?? 'words' })
    const accepts = filtered(query, options.accepts ?? acceptEvery, options.server)
    if (query.kind === 'select') return this.#select(query, accepts, options)
    if (query.kind === 'keyword' && query.words.length === 0) return this.#list(query, accepts, options)

    const index = this.#index(query.kind === 'regex' ? this.#patterns : searcher)
    const found = await this.#rank(query, index, accepts, options)
    if (found.total > 0) return found
    if (!hasWordsBesidePhrases(query)) return this.#withUnmatched(found, query, index, options)

    // Nothing holds the phrase. Its words may still tell what is meant, and the answer says that it was dropped.
    const loose: Query = { ...query, phrases: [] }
    const retried = await this.#rank(
      loose,
      index,
      filtered(loose, options.accepts ?? acceptEvery, options.server),
      options,
    )
    const phrases = query.phrases.map((phrase) => `"${phrase}"`)
    return { ...retried, unmatchedTerms: asWritten(query, [...phrases, ...(retried.unmatchedTerms ?? [])]) }
  }

  /** A miss may be the filters' doing: then it names the filters that fit nothing, and not words that would. */
  async #withUnmatched(
    found: CatalogueFindings,
    query: Query,
    index: SearchIndex,
    options: CatalogueSearchOptions,
  ): Promise<CatalogueFindings> {
    const accepts = options.accepts ?? acceptEvery
    if (query.required.length + query.servers.length + query.phrases.length === 0) return found
    const { unmatchedTerms } = await index.rank(query, { limit: 1, accepts })
    const fitsNone = (filter: Accepts) =>
      ![...this.#groups.values()].some((listings) => listings.some((one) => accepts(one) && filter(one)))
    const words = query.required.filter((word) => fitsNone(holds(word)))
    const phrases = query.phrases.filter((phrase) => fitsNone(holds(phrase))).map((phrase) => `"${phrase}"`)
    const servers = query.servers.filter((server) => fitsNone(isOfServer([server])))
    const unmatched = [
      ...unmatchedTerms,
      ...words,
      ...phrases,
      ...servers.map((server) => `server:${server}`),
    ]
    const { unmatchedTerms: _, ...rest } = found
    return unmatched.length === 0 ? rest : { ...rest, unmatchedTerms: asWritten(query, unmatched) }
  }

  /** The accepted listing that a name means, however it is written; undefined when none does, or several do. */
  findByName(name: string, accepts: (listing: Listing) => boolean): Listing | undefined {
    const found = this.#names.find(name, accepts)
    return found.length === 1 ? found[0] : undefined
  }

  #select(query: Query, accepts: Accepts, options: CatalogueSearchOptions): CatalogueFindings {
    const { isReady } = options
    const ranked = new Map<Listing, Ranked>()
    const missing: string[] = []
    for (const name of query.names) {
      const ready = this.#names.find(name, accepts).filter((listing) => isReady?.(listing) ?? true)
      if (ready.length === 0) missing.push(name)
      for (const listing of ready) ranked.set(listing, { listing, score: 1, reasons: ['exact name'] })
    }
    const page = [...ranked.values()].slice(pageOf(options).offset)
    const findings = { query: query.text, kind: query.kind, total: ranked.size, ranked: page }
    return missing.length === 0 ? findings : { ...findings, missing }
  }

  /** All that the filters leave, by name. */
  #list(query: Query, accepts: Accepts, options: CatalogueSearchOptions): CatalogueFindings {
    const { offset, limit } = pageOf(options)
    const fitting = [...this.#groups.values()].flatMap((listings) => listings.filter(accepts))
    fitting.sort((a, b) => compareNames(a.name, b.name))
    const ranked: Ranked[] = []
    let total = fitting.length
    let toSkip = offset
    for (const listing of fitting) {
      if (ranked.length === limit) break
      if (options.isReady?.(listing) === false) total--
      else if (toSkip > 0) toSkip--
      else ranked.push({ listing, score: 1, reasons: [`server:${query.servers.join(',')}`] })
    }
    return { query: query.text, kind: query.kind, total, ranked }
  }

  async #rank(
    query: Query,
    index: SearchIndex,
    accepts: Accepts,
    options: CatalogueSearchOptions,
  ): Promise<CatalogueFindings> {
    const { offset, limit } = pageOf(options)
    const exact = this.#exactNames(query, accepts)
    const isReady = rememberAnswers(options.isReady)
    let window = offset + limit + SPARE_MATCHES
    let atHand = window + MATCHES_AT_HAND
    let ranking = await index.rank(query, { limit: atHand, accepts })
    for (;;) {
      const candidates = withExactFirst(ranking.matches.slice(0, window), exact)
      const { kept, dropped } = this.#pick(candidates, query, exact, isReady, offset + limit)
      const isWhole = ranking.matches.length < window
      if (kept.length < offset + limit && !isWhole) {
        if (window < atHand) window = atHand
        else {
          window *= 4
          atHand = window
          ranking = await index.rank(query, { limit: window, accepts })
        }
        continue
      }
      const total = Math.max(ranking.total, isWhole ? candidates.length : 0) - dropped
      const unmatchedTerms = ranking.unmatchedTerms.filter((term) => !this.#isPartOf(exact, term))
      const findings = {
        query: query.text,
        kind: query.kind,
        total,
        ranked: kept.slice(offset, offset + limit),
      }
      return unmatchedTerms.length === 0 ? findings : { ...findings, unmatchedTerms }
    }
  }

  /** Listings that the query names: as a whole, as a list with commas, or by a word that can only be a name. */
  #exactNames(query: Query, accepts: Accepts): ReadonlySet<Listing> {
    // A pattern says itself what fits.
    if (query.kind === 'regex') return new Set()
    const exact = new Set(this.#names.find(query.words.join(' '), accepts))
    if (query.text.includes(',')) {
      const pieces = query.text.split(',').map((piece) => piece.trim())
      const found = pieces.map((piece) => this.#names.find(piece, accepts))
      if (found.every((listings) => listings.length > 0))
        for (const listing of found.flat()) exact.add(listing)
    }
    if (!/[_./]/.test(query.text)) return exact
    for (const word of query.words) {
      if (!/\p{L}[_./]+\p{L}/u.test(word)) continue
      for (const listing of this.#names.find(word, accepts)) exact.add(listing)
    }
    return exact
  }

  #isPartOf(exact: ReadonlySet<Listing>, term: string): boolean {
    if (exact.size === 0) return false
    const words = wordsOf(term)
    return [...exact].some(({ name }) => {
      const parts = wordsOf(name)
      return words.every((word) => parts.includes(word))
    })
  }

  /** The first `count` candidates that are ready and are no clone of a senior one; how many of the others were met. */
  #pick(
    candidates: readonly Ranked[],
    query: Query,
    exact: ReadonlySet<Listing>,
    isReady: Accepts,
    count: number,
  ): { kept: Ranked[]; dropped: number } {
    const kept: Ranked[] = []
    let dropped = 0
    for (let at = 0; at < candidates.length && kept.length < count; at++) {
      const candidate = candidates[at] as Ranked
      const isExact = exact.has(candidate.listing)
      const isFolded = !isExact && this.#hasSenior(candidates, at, query, isReady)
      if (isFolded || !isReady(candidate.listing)) dropped++
      else kept.push(candidate)
    }
    return { kept, dropped }
  }

  #hasSenior(candidates: readonly Ranked[], at: number, query: Query, isReady: Accepts): boolean {
    const { listing } = candidates[at] as Ranked
    const end = Math.min(candidates.length, at + CLONE_DISTANCE)
    for (let near = Math.max(0, at - CLONE_DISTANCE); near < end; near++) {
      const other = (candidates[near] as Ranked).listing
      if (this.#clones.isFolded(listing, other, query) && isReady(other)) return true
    }
    return false
  }

  /** The index of a searcher, opened on first use and brought up to date. */
  #index(searcher: Searcher): SearchIndex {
    const opened = this.#indexes.get(searcher)
    if (opened?.groups === this.#groups) return opened.index
    const index = opened?.index ?? searcher.open()
    for (const [key, , listings] of changes(opened?.groups ?? new Map(), this.#groups))
      index.update(key, listings)
    this.#indexes.set(searcher, { index, groups: this.#groups })
    return index
  }
}

type Accepts = (listing: Listing) => boolean
type Change = readonly [key: string, before: readonly Listing[], after: readonly Listing[]]

function* changes(
  before: ReadonlyMap<string, readonly Listing[]>,
  after: ReadonlyMap<string, readonly Listing[]>,
): Generator<Change> {
  for (const [key, listings] of before) if (!after.has(key)) yield [key, listings, []]
  for (const [key, listings] of after) {
    const known = before.get(key)
    if (known !== listings) yield [key, known ?? [], listings]
  }
}

function pageOf({ limit = DEFAULT_LIMIT, offset = 0 }: CatalogueSearchOptions): {
  limit: number
  offset: number
} {
  return {
    limit: clamp(limit, { min: 1, max: MAX_LIMIT, otherwise: DEFAULT_LIMIT }),
    offset: clamp(offset, { min: 0, max: Number.MAX_SAFE_INTEGER, otherwise: 0 }),
  }
}

/** Terms in the order in which the query names them, each once. */
function asWritten({ text }: Query, terms: readonly string[]): string[] {
  return [...new Set(terms)].sort((a, b) => text.indexOf(a) - text.indexOf(b))
}

function hasWordsBesidePhrases(query: Query): boolean {
  if (query.phrases.length === 0) return false
  return query.words.length > query.phrases.join(' ').split(/\s+/).length
}

function rememberAnswers(isReady: Accepts | undefined): Accepts {
  if (isReady === undefined) return acceptEvery
  const answers = new Map<Listing, boolean>()
  return (listing) => {
    const answer = answers.get(listing) ?? isReady(listing)
    answers.set(listing, answer)
    return answer
  }
}

function withExactFirst(matches: readonly Ranked[], exact: ReadonlySet<Listing>): readonly Ranked[] {
  if (exact.size === 0) return matches
  const best = matches[0]?.score ?? 1
  const byListing = new Map(matches.map((match) => [match.listing, match]))
  const first = [...exact].map((listing): Ranked => {
    const match = byListing.get(listing)
    return {
      listing,
      score: match?.score ?? best,
      reasons: ['exact name', ...(match?.reasons ?? [])],
    }
  })
  return [...first, ...matches.filter(({ listing }) => !exact.has(listing))]
}
