import { sourceKey } from '../names.ts'
import { changedGroups, type ListingGroups, unchangingGroups } from '../registry/snapshot.ts'
import { clamp } from '../text.ts'
import type { Listing } from '../tool.ts'
import { lexical } from './lexical.ts'
import { ExactNames } from './query/exact-names.ts'
import {
  type Accepts,
  filtered,
  holds,
  isOfServer,
  namedListings,
  parseQuery,
  type Query,
  readPart,
} from './query/query.ts'
import { CloneFolding, RankedSearch, SourceLedger } from './ranked-search.ts'
import { regex } from './regex.ts'
import { acceptEvery, type Ranked, type Searcher, type SearchIndex, type SearchMemory } from './searcher.ts'
import { compareNames } from './top-matches.ts'

const DEFAULT_LIMIT = 5
const MAX_LIMIT = 1000

/** Options of `CatalogueSearch.search()`. */
export interface CatalogueSearchOptions {
  /** Maximum matches to return, 1 to 1,000; 5 by default. Names in `select:` are all returned. */
  readonly limit?: number
  readonly offset?: number
  readonly searcher?: Searcher
  /** Only tools of this MCP server. */
  readonly server?: string
  /** What served similar requests of this caller before. */
  readonly memory?: SearchMemory
  /** Whether a listing may be found. A rejected listing has no influence on the result. */
  accepts?(listing: Listing): boolean
  /** Whether a listing can be used now; called only for listings about to be returned. */
  isReady?(listing: Listing): boolean
}

/** What `CatalogueSearch.search()` returns. */
export interface CatalogueFindings {
  /** The query as written. */
  readonly query: string
  readonly kind: Query['kind']
  /** How many listings match in total, less the clones and unready tools encountered. */
  readonly total: number
  readonly ranked: readonly Ranked[]
  /** The first matches of all, if `ranked` is a later page of a ranking. */
  readonly leaders?: readonly Ranked[]
  /** Names in `select:` that no accepted listing has. */
  readonly missing?: readonly string[]
  /** Words that match no accepted listing, as written, in order. */
  readonly unmatchedTerms?: readonly string[]
  /** Misspelt words, and the words of tools that they were read as, if any were. */
  readonly readAs?: Readonly<Record<string, string>>
  /** Why the searcher did only part of its work, if so: its embedder failed, and it ranked by words alone. */
  readonly failure?: unknown
  /** The probability that the first match is right, if the searcher knows it. */
  readonly confidence?: number
  /** The probability that there is a tool for the request at all, if the searcher knows it. */
  readonly answerable?: number
  /** The cosine between the request and the first match, if the searcher knows it. */
  readonly similarity?: number
  /** The vector of the request without its values, if the searcher has one: what `SearchMemory` is asked with. */
  readonly vector?: Float32Array
}

/**
 * Searches a changing catalogue: update it with `sync`, query it with `search`. It parses the query language, puts
 * exact names first, folds clones from other sources and limits each source's share of the first places; a searcher
 * does the ranking.
 *
 * Listings are identified by object identity; names may repeat.
 */
export class CatalogueSearch {
  readonly #defaultSearcher: Searcher
  #patterns: Searcher | undefined
  #groups: ListingGroups = new Map()
  readonly #names: ExactNames
  readonly #sources = new SourceLedger()
  readonly #clones = new CloneFolding(this.#sources)
  readonly #indexes = new WeakMap<Searcher, { index: SearchIndex; groups: ListingGroups }>()

  /** `names` may be shared with an owner that finds listings by name alone. */
  constructor(searcher: Searcher = lexical(), names = new ExactNames()) {
    this.#defaultSearcher = searcher
    this.#names = names
  }

  /** Replaces the listings of all sources. A source whose array is the same object as before costs nothing. */
  sync(groups: ListingGroups): void {
    const previous = this.#groups
    this.#groups = unchangingGroups(groups)
    this.#names.sync(this.#groups)
    for (const [, before, after] of changedGroups(previous, this.#groups)) this.#sources.record(before, after)
  }

  /** Throws `query-invalid` for a query without search terms, `pattern-invalid` for an unusable pattern. */
  async search(text: string, options: CatalogueSearchOptions = {}): Promise<CatalogueFindings> {
    const searcher = options.searcher ?? this.#defaultSearcher
    const query = this.#withoutValues(parseQuery(text, { as: searcher.reads ?? 'words' }), options)
    if (query.kind === 'select') return this.#select(query, options)
    if (query.kind === 'keyword' && query.words.length === 0) return this.#list(query, options)

    const chosen = query.kind === 'regex' ? this.#patternSearcher() : searcher
    const found = await this.#rank(query, chosen, options)
    if (found.total > 0) return found
    const isReadAsWords = hasWordsBesidePhrases(query) || query.phrases.some(isSentence)
    if (!isReadAsWords) return this.#withUnmatched(found, query, chosen, options)

    // No listing contains the phrase. Its words may still match, and the result says that the phrase was dropped.
    const retried = await this.#rank({ ...query, phrases: [] }, chosen, options)
    const phrases = query.phrases.map((phrase) => `"${phrase}"`)
    const words = (retried.unmatchedTerms ?? []).filter((word) => !query.phrases.includes(word))
    return { ...retried, unmatchedTerms: asWritten(query, [...phrases, ...words]) }
  }

  /**
   * Beside other words, a quoted text filters only if the catalogue at large speaks that way. A file name, an address or
   * the text of a message does not say what a tool does, and what only one unapproved source contains may be there to be
   * found: such words are ranked, and filter nothing.
   */
  #withoutValues(query: Query, { accepts = acceptEvery }: CatalogueSearchOptions): Query {
    if (!hasWordsBesidePhrases(query) || this.#groups.size < 2) return query
    const phrases = query.phrases.filter((phrase) => {
      const isHeld = holds(phrase)
      const sources = new Set<string>()
      for (const listings of this.#groups.values()) {
        const held = listings.find((listing) => accepts(listing) && isHeld(listing))
        if (held === undefined) continue
        if (LOOKS_LIKE_VALUE.test(phrase)) return false
        sources.add(sourceKey(held.source))
        if (held.trust > 0 || held.source.kind !== 'mcp' || sources.size > 1) return true
      }
      // What no tool contains stays, so that the result says so.
      return sources.size === 0
    })
    return phrases.length === query.phrases.length ? query : { ...query, phrases }
  }

  #select(query: Query, options: CatalogueSearchOptions): CatalogueFindings {
    const { isReady } = options
    const accepts = acceptsOf(query, options)
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

  /** All listings that pass the filters, sorted by name. */
  #list(query: Query, options: CatalogueSearchOptions): CatalogueFindings {
    const { offset, limit } = pageOf(options)
    const fitting = this.#passing(acceptsOf(query, options))
    const { page, unready } = pageThrough(fitting, offset, limit, options.isReady)
    const reasons = filtersOf(query)
    const ranked = page.map((listing): Ranked => ({ listing, score: 1, reasons }))
    const findings = { query: query.text, kind: query.kind, total: fitting.length - unready, ranked }
    if (fitting.length > 0) return findings
    const unmatchedTerms = this.#unmatchedFilters(query, options)
    return unmatchedTerms.length === 0 ? findings : { ...findings, unmatchedTerms }
  }

  async #rank(query: Query, searcher: Searcher, options: CatalogueSearchOptions): Promise<CatalogueFindings> {
    const { offset, limit } = pageOf(options)
    const accepts = acceptsOf(query, options)
    const exact = namedListings(query, this.#names, accepts)
    const index = this.#index(searcher)
    const search = new RankedSearch({
      query,
      index,
      exact,
      clones: this.#clones,
      sources: this.#sources,
      accepts,
      isReady: rememberAnswers(options.isReady),
      memory: options.memory,
      order: searcher.order ?? 'fit',
    })
    const { matches, unmatchedTerms, total, ...about } = await search.first(offset + limit)
    const found: CatalogueFindings = {
      query: query.text,
      kind: query.kind,
      total,
      ranked: matches.slice(offset, offset + limit),
      ...(offset === 0 ? {} : { leaders: matches.slice(0, DEFAULT_LIMIT) }),
      ...(unmatchedTerms.length === 0 ? {} : { unmatchedTerms }),
      ...about,
    }
    if (query.kind === 'regex' || query.required.length === 0) return found
    return await this.#withUnranked(found, query, index, exact, options)
  }

  /** `+word` keeps everything that passes it: listings that match no other word follow last, sorted by name. */
  async #withUnranked(
    found: CatalogueFindings,
    query: Query,
    index: SearchIndex,
    exact: ReadonlySet<Listing>,
    options: CatalogueSearchOptions,
  ): Promise<CatalogueFindings> {
    const { offset, limit } = pageOf(options)
    const accepts = acceptsOf(query, options)
    const passing = this.#passing(accepts)
    if (passing.length === 0) return found
    const { matches } = await index.rank(query, { limit: passing.length, accepts })
    const fitting = new Set([...matches.map(({ listing }) => listing), ...exact])
    const unranked = passing.filter((listing) => !fitting.has(listing))
    const start = Math.max(0, offset - found.total)
    const { page, unready } = pageThrough(unranked, start, limit - found.ranked.length, options.isReady)
    const reasons = filtersOf(query)
    return {
      ...found,
      total: found.total + unranked.length - unready,
      ranked: [...found.ranked, ...page.map((listing): Ranked => ({ listing, score: 0, reasons }))],
    }
  }

  /**
   * The filters may have caused a miss: then report the filters that match nothing instead of words that would match.
   */
  async #withUnmatched(
    found: CatalogueFindings,
    query: Query,
    searcher: Searcher,
    options: CatalogueSearchOptions,
  ): Promise<CatalogueFindings> {
    if (query.required.length + query.servers.length + query.phrases.length === 0) return found
    const accepts = options.accepts ?? acceptEvery
    const { unmatchedTerms } = await this.#index(searcher).rank(query, { limit: 1, accepts })
    const unmatched = [...unmatchedTerms, ...this.#unmatchedFilters(query, options)]
    const { unmatchedTerms: _, ...rest } = found
    return unmatched.length === 0 ? rest : { ...rest, unmatchedTerms: asWritten(query, unmatched) }
  }

  /** The query's filters that no listing passes, as written. */
  #unmatchedFilters(query: Query, { accepts = acceptEvery }: CatalogueSearchOptions): string[] {
    const fitsNone = (filter: Accepts) =>
      ![...this.#groups.values()].some((listings) => listings.some((one) => accepts(one) && filter(one)))
    const servers = query.servers.filter((server) => fitsNone(isOfServer([server])))
    return [
      ...query.required.filter((word) => fitsNone(holds(word))),
      ...query.phrases.filter((phrase) => fitsNone(holds(phrase))).map((phrase) => `"${phrase}"`),
      ...servers.map((server) => `server:${server}`),
    ]
  }

  /** All accepted listings, sorted by name. */
  #passing(accepts: Accepts): Listing[] {
    const passing = [...this.#groups.values()].flatMap((listings) => listings.filter(accepts))
    return passing.sort((a, b) => compareNames(a.name, b.name))
  }

  #patternSearcher(): Searcher {
    this.#patterns ??= regex()
    return this.#patterns
  }

  /** A searcher's index, opened on first use and brought up to date. */
  #index(searcher: Searcher): SearchIndex {
    const opened = this.#indexes.get(searcher)
    if (opened?.groups === this.#groups) return opened.index
    const index = opened?.index ?? searcher.open()
    for (const [key, , listings] of changedGroups(opened?.groups ?? new Map(), this.#groups))
      index.update(key, listings)
    this.#indexes.set(searcher, { index, groups: this.#groups })
    return index
  }
}

/** A digit, an address, a path or a file name. */
const LOOKS_LIKE_VALUE = /\d|@|[/\\]|\w\.\w/

function acceptsOf(query: Query, { accepts = acceptEvery, server }: CatalogueSearchOptions): Accepts {
  return filtered(query, accepts, server)
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

/** One page of the listings that are ready, and how many unready ones were skipped. */
function pageThrough(
  listings: readonly Listing[],
  offset: number,
  limit: number,
  isReady: Accepts = acceptEvery,
): { page: Listing[]; unready: number } {
  const page: Listing[] = []
  let unready = 0
  let toSkip = offset
  for (const listing of listings) {
    if (page.length >= limit) break
    if (!isReady(listing)) unready++
    else if (toSkip > 0) toSkip--
    else page.push(listing)
  }
  return { page, unready }
}

/** The filters that a listing passed, as reasons. */
function filtersOf({ required, servers }: Query): string[] {
  const words = required.map((word) => `passes +${word}`)
  return servers.length === 0 ? words : [...words, `server:${servers.join(',')}`]
}

/** Terms in query order, without duplicates. */
function asWritten(query: Query, terms: readonly string[]): string[] {
  const text = readPart(query.text)
  const places = new Map(terms.map((term) => [term, text.indexOf(term)]))
  return [...places.keys()].sort((a, b) => (places.get(a) ?? 0) - (places.get(b) ?? 0))
}

function hasWordsBesidePhrases(query: Query): boolean {
  if (query.phrases.length === 0) return false
  return query.words.length > query.phrases.join(' ').split(/\s+/).length
}

/** Words that few names of things contain: "create an issue" is a request in quotes. */
const OF_SENTENCES = /\b(?:an?|the|my|your|our|me|is|are|what|how|please)\b/i

function isSentence(phrase: string): boolean {
  return OF_SENTENCES.test(phrase)
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
