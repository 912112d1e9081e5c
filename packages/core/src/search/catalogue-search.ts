import { sourceKey } from '../names.ts'
import { changedGroups, type ListingGroups, unchangingGroups } from '../registry/snapshot.ts'
import { type Slices, sharedSlices } from '../slices.ts'
import type { Listing } from '../tool.ts'
import {
  type CatalogueFindings,
  type CatalogueSearchOptions,
  DEFAULT_LIMIT,
  filtersOf,
  pageOf,
  pageThrough,
  withUnranked,
} from './findings.ts'
import { lexical } from './lexical.ts'
import { SEARCHERS } from './named-searchers.ts'
import { OpenedIndex, withGroup } from './opened-index.ts'
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
import { CloneFolding, RankedSearch } from './ranked-search.ts'
import { acceptEvery, type Ranked, type Searcher, type SearchIndex } from './searcher.ts'
import { SourceLedger } from './source-ledger.ts'
import { compareNames } from './top-matches.ts'

/**
 * Searches a changing catalogue: update it with `sync`, query it with `search`. It parses the query language, puts
 * exact names first, folds clones from other sources and limits each source's share of the first places; a searcher
 * does the ranking.
 *
 * Listings are identified by object identity; names may repeat.
 */
export class CatalogueSearch {
  readonly #defaultSearcher: Searcher
  readonly #patterns = SEARCHERS.regex()
  #groups: ListingGroups = new Map()
  readonly #names: ExactNames
  readonly #sources = new SourceLedger()
  readonly #clones = new CloneFolding(this.#sources)
  readonly #indexes = new WeakMap<Searcher, OpenedIndex>()
  #preparing: Promise<void> = Promise.resolve()

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

  /**
   * Prepares `sync` and a search in slices: brings the names and a searcher's index up to date. Never rejects: what could not
   * be prepared is done by the search.
   *
   * @example
   * ```ts
   * import { CatalogueSearch } from 'toolcrib'
   *
   * const search = new CatalogueSearch()
   * const groups = new Map()
   * await search.prepare(groups)
   * search.sync(groups)
   * ```
   */
  prepare(
    groups: ListingGroups,
    slices: Slices = sharedSlices,
    searcher = this.#defaultSearcher,
  ): Promise<void> {
    // One after the other, since they change the same index.
    this.#preparing = this.#preparing
      .then(() => this.#prepare(unchangingGroups(groups), slices, searcher))
      .catch(() => {})
    return this.#preparing
  }

  async #prepare(groups: ListingGroups, slices: Slices, searcher: Searcher): Promise<void> {
    for (const [key, , listings] of changedGroups(this.#groups, groups)) {
      if (slices.isOver) await slices.pause()
      this.sync(withGroup(this.#groups, key, listings))
    }
    this.sync(groups)
    await this.#opened(searcher).prepare(groups, slices)
  }

  /** Throws `query-invalid` for a query without search terms, `pattern-invalid` for an unusable pattern. */
  async search(text: string, options: CatalogueSearchOptions = {}): Promise<CatalogueFindings> {
    const searcher = options.searcher ?? this.#defaultSearcher
    const query = this.#withoutValues(parseQuery(text, { as: searcher.reads ?? 'words' }), options)
    if (query.kind === 'select') return this.#select(query, options)
    if (query.kind === 'keyword' && query.words.length === 0) return this.#list(query, options)

    const chosen = query.kind === 'regex' ? this.#patterns : searcher
    if (this.#isPhraseDropped(query, options)) {
      const found = await this.#rank({ ...query, phrases: [] }, chosen, options)
      const phrases = query.phrases.map((phrase) => `"${phrase}"`)
      const words = (found.unmatchedTerms ?? []).filter((word) => !query.phrases.includes(word))
      return { ...found, unmatchedTerms: asWritten(query, [...phrases, ...words]) }
    }
    const found = await this.#rank(query, chosen, options)
    return found.total > 0 ? found : this.#withUnmatched(found, query, chosen, options)
  }

  /** If no listing passes the phrases, their words may still match; the result says that the phrases were dropped. */
  #isPhraseDropped(query: Query, options: CatalogueSearchOptions): boolean {
    if (!hasWordsBesidePhrases(query) && !query.phrases.some(isSentence)) return false
    const accepts = acceptsOf(query, options)
    return ![...this.#groups.values()].some((listings) => listings.some(accepts))
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
    // `+word` keeps everything that passes it.
    const passing = query.kind === 'keyword' && query.required.length > 0 ? this.#passing(accepts) : []
    const first = await search.first(offset + limit, passing.length)
    const { matches, ranked, unmatchedTerms, total, ...verdict } = first
    const found: CatalogueFindings = {
      query: query.text,
      kind: query.kind,
      total,
      ranked: matches.slice(offset, offset + limit),
      ...(offset === 0 ? {} : { leaders: matches.slice(0, DEFAULT_LIMIT) }),
      ...(unmatchedTerms.length === 0
        ? {}
        : { unmatchedTerms, ...(await absentService(query, unmatchedTerms)) }),
      ...verdict,
    }
    if (passing.length === 0) return found
    const fitting = new Set([...ranked.map(({ listing }) => listing), ...exact])
    const unranked = passing.filter((listing) => !fitting.has(listing))
    return withUnranked(found, unranked, query, options)
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

  /** A searcher's index, brought up to date. */
  #index(searcher: Searcher): SearchIndex {
    const opened = this.#opened(searcher)
    opened.update(this.#groups)
    return opened.index
  }

  #opened(searcher: Searcher): OpenedIndex {
    const opened = this.#indexes.get(searcher) ?? new OpenedIndex(searcher.open())
    this.#indexes.set(searcher, opened)
    return opened
  }
}

/** "jira create ticket": a request may begin with a service that no source has. */
async function absentService({ kind, words }: Query, unmatchedTerms: readonly string[]) {
  const [first = '', second = ''] = words
  if (kind !== 'keyword' || !unmatchedTerms.includes(first)) return {}
  const { VERBS } = await import('./query/request-parts.ts')
  return VERBS.has(second.toLowerCase()) ? { absentService: first } : {}
}

/** A digit, an address, a path or a file name. */
const LOOKS_LIKE_VALUE = /\d|@|[/\\]|\w\.\w/

function acceptsOf(query: Query, { accepts = acceptEvery, server }: CatalogueSearchOptions): Accepts {
  return filtered(query, accepts, server)
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
