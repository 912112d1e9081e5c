import { isApproved, sourceKey } from '../names.ts'
import type { Listing, ToolSource } from '../tool.ts'
import { type Fingerprint, Fingerprints, isClone } from './clones.ts'
import { FIRST_PLACES, FirstPlaces } from './first-places.ts'
import { wordsOf } from './lexical/text-words.ts'
import type { Accepts, Query } from './query/query.ts'
import { matchFit, type Ranked, type Ranking, type SearchIndex, type SearchMemory } from './searcher.ts'

/**
 * Extra matches to rank beyond the limit, to replace folded and unready ones: ranking again is far more expensive.
 * Clones and their originals are searched among them.
 */
const SPARE_MATCHES = 17

/** The matches among which the first places are shared: those available when three are requested. */
const SHARED_MATCHES = 3 + SPARE_MATCHES

/** How far apart in the ranking to look for clones. They have similar scores, so they are close together. */
const CLONE_DISTANCE = 50

/** The confidence in the best match of the other sources from which it is known to fit. */
const SURE_FROM = 0.05

/** What to rank, and what to leave out. */
export interface RankedSearchOptions {
  readonly query: Query
  readonly index: SearchIndex
  /** Listings that the query names; they come first. */
  readonly exact: ReadonlySet<Listing>
  readonly clones: CloneFolding
  readonly sources: SourceLedger
  /** Whether a listing may be found. */
  readonly accepts: Accepts
  /** Whether a listing can be used now; called only for listings about to be returned. */
  readonly isReady: Accepts
  readonly memory: SearchMemory | undefined
  /** `fit`: the first places are shared between sources, and no exact name scores below a later match. */
  readonly order: 'fit' | 'fixed'
}

/** The first matches of a search, best first. */
export interface RankedMatches {
  /** How many listings match in total, less the clones and unready tools encountered. */
  readonly total: number
  readonly matches: readonly Ranked[]
  readonly unmatchedTerms: readonly string[]
  /** Misspelt words, and the words of tools that they were read as, if any were. */
  readonly readAs?: Readonly<Record<string, string>>
  /** Why the searcher did only part of its work, if so. */
  readonly failure?: unknown
  /** The probability that the first match is right, if the searcher knows it. */
  readonly confidence?: number
  /** The probability that there is a tool for the request at all, if the searcher knows it. */
  readonly answerable?: number
  /** The cosine between the request and the first match, if the searcher knows it. */
  readonly similarity?: number
  /** The vector of the request without its values, if the searcher has one. */
  readonly vector?: Float32Array
}

/** Ranks one query: exact names first, clones folded, the first places shared between sources. */
export class RankedSearch {
  readonly #options: RankedSearchOptions

  constructor(options: RankedSearchOptions) {
    this.#options = options
  }

  /** The first `count` matches. */
  async first(count: number): Promise<RankedMatches> {
    for (let limit = count + SPARE_MATCHES; ; limit *= 4) {
      const ranking = await this.#rank(limit, this.#options.accepts)
      const candidates = this.#withExactFirst(ranking.matches, ranking)
      const { kept, dropped } = this.#pick(candidates, count)
      const isWhole = ranking.matches.length < limit
      if (kept.length < count && !isWhole) continue
      const matches = (await this.#shared(kept, ranking)).slice(0, count)
      return {
        total: Math.max(ranking.total, isWhole ? candidates.length : 0) - dropped,
        matches,
        unmatchedTerms: ranking.unmatchedTerms.filter((term) => !this.#isPartOfExact(term)),
        ...(ranking.readAs === undefined ? {} : { readAs: ranking.readAs }),
        ...(ranking.failure === undefined ? {} : { failure: ranking.failure }),
        ...(ranking.confidence === undefined ? {} : { confidence: confidenceIn(matches, ranking) }),
        ...(ranking.answerable === undefined
          ? {}
          : { answerable: this.#options.exact.size > 0 ? 1 : ranking.answerable }),
        ...(ranking.similarity === undefined ? {} : { similarity: ranking.similarity }),
        ...(ranking.vector === undefined ? {} : { vector: ranking.vector }),
      }
    }
  }

  #rank(limit: number, accepts: Accepts, countsAll = true): Ranking | Promise<Ranking> {
    const { query, index, memory } = this.#options
    const options = { limit, accepts, countsAll }
    return index.rank(query, memory === undefined ? options : { ...options, memory })
  }

  /** Shares the first places if a source has more than its share. */
  async #shared(kept: readonly Ranked[], ranking: Ranking): Promise<readonly Ranked[]> {
    const { order, sources, query, exact } = this.#options
    if (order === 'fixed' || sources.size === 1) return kept
    const places = new FirstPlaces(query, exact, sources)
    const crowding = places.crowding(kept)
    if (!places.canBeShared(kept, crowding)) return kept
    const candidates = this.#withExactFirst(ranking.matches.slice(0, SHARED_MATCHES), ranking)
    const pool = this.#pick(candidates, SHARED_MATCHES).kept
    const { matches, isSure } = await this.#othersThan(crowding, pool, ranking)
    const alone = new Map(isSure ? matches.map((match) => [match.listing, matchFit(match)]) : [])
    const first = places.share([...pool, ...unranked(matches, pool)], alone)
    const placed = new Set(first.map(({ listing }) => listing))
    return [...first, ...kept.filter(({ listing }) => !placed.has(listing))]
  }

  /**
   * The best matches of other sources, ranked as if the crowding ones were not there: their words and meanings, made to
   * fit the request, would make every honest match look poor. `isSure`: the best of them is not just the best of a poor lot.
   */
  async #othersThan(
    crowding: ReadonlySet<string>,
    known: readonly Ranked[],
    ranking: Ranking,
  ): Promise<{ readonly matches: readonly Ranked[]; readonly isSure: boolean }> {
    // A searcher without a confidence scores each match by itself, so the others that are known will do.
    const others = known.filter(({ listing }) => !crowding.has(sourceKey(listing.source)))
    const isWhole = ranking.matches.length < SHARED_MATCHES || others.length >= FIRST_PLACES
    if (ranking.confidence === undefined && isWhole) return { matches: others, isSure: false }
    const servers = new Set(known.map(({ listing }) => crowdingServer(listing, crowding)))
    // Called for every listing with a word of the query, so it makes no source keys.
    const accepts = (listing: Listing) =>
      (listing.source.kind !== 'mcp' || !servers.has(listing.source.server)) && this.#options.accepts(listing)
    const { matches, confidence = 0 } =
      this.#options.index.rankAgain?.(ranking, { limit: SHARED_MATCHES, accepts }) ??
      (await this.#rank(SHARED_MATCHES, accepts, false))
    return {
      matches: this.#pick(matches, SHARED_MATCHES).kept,
      isSure: confidence >= SURE_FROM,
    }
  }

  /** The first `count` candidates that are ready and not clones, and how many others were skipped. */
  #pick(candidates: readonly Ranked[], count: number): { kept: Ranked[]; dropped: number } {
    const { exact, isReady, clones } = this.#options
    const ages = candidates.map(({ listing }) => clones.ageOf(listing))
    const kept: Ranked[] = []
    let dropped = 0
    for (let at = 0; at < candidates.length && kept.length < count; at++) {
      const candidate = candidates[at] as Ranked
      const isFolded = !exact.has(candidate.listing) && this.#hasSenior(ages, at)
      if (isFolded || !isReady(candidate.listing)) dropped++
      else kept.push(candidate)
    }
    return { kept, dropped }
  }

  #hasSenior(ages: readonly Aged[], at: number): boolean {
    const { clones, query, isReady } = this.#options
    const end = Math.min(ages.length, at + CLONE_DISTANCE)
    for (let near = Math.max(0, at - CLONE_DISTANCE); near < end; near++) {
      const other = ages[near] as Aged
      if (clones.isFolded(ages[at] as Aged, other, query) && isReady(other.listing)) return true
    }
    return false
  }

  /** Whether a term is part of an exact name that was found. */
  #isPartOfExact(term: string): boolean {
    const { exact } = this.#options
    if (exact.size === 0) return false
    const words = wordsOf(term)
    return [...exact].some(({ name }) => {
      const parts = wordsOf(name)
      return words.every((word) => parts.includes(word))
    })
  }

  #withExactFirst(matches: readonly Ranked[], { confidence }: Ranking): readonly Ranked[] {
    const { exact, order } = this.#options
    if (exact.size === 0) return matches
    // A name leaves no doubt. Scores without a scale only need to be as high as the best.
    const best = confidence === undefined ? (matches[0]?.score ?? 1) : 1
    const byListing = new Map(matches.map((match) => [match.listing, match]))
    const first = [...exact].map((listing): Ranked => {
      const match = byListing.get(listing)
      return {
        listing,
        score: order === 'fixed' ? (match?.score ?? best) : best,
        reasons: ['exact name', ...(match?.reasons ?? [])],
      }
    })
    return [...first, ...matches.filter(({ listing }) => !exact.has(listing))]
  }
}

/** The probability that the first of these is right: clones, unready tools and exact names may have changed which it is. */
function confidenceIn([first]: readonly Ranked[], { matches, confidence = 0 }: Ranking): number {
  return first === undefined || first === matches[0] ? confidence : first.score
}

/** Those of `others` that the ranking of all sources lacks; none of them is better than its last match. */
function unranked(others: readonly Ranked[], ranked: readonly Ranked[]): Ranked[] {
  const known = new Set(ranked.map(({ listing }) => listing))
  const last = ranked.at(-1)
  return others
    .filter(({ listing }) => !known.has(listing))
    .map((match) =>
      last === undefined
        ? match
        : {
            ...match,
            score: Math.min(match.score, last.score),
            fit: Math.min(matchFit(match), matchFit(last)),
          },
    )
}

/** The server of a listing, if it is one of these sources. Only servers are limited. */
function crowdingServer({ source }: Listing, crowding: ReadonlySet<string>): string | undefined {
  return source.kind === 'mcp' && crowding.has(sourceKey(source)) ? source.server : undefined
}

/** A listing, and when its source came. */
interface Aged {
  readonly listing: Listing
  readonly since: number
  /** Read when it is first compared. */
  fingerprint: Fingerprint | undefined
}

/**
 * Decides which of two clones is shown: the one from the more trusted source, then the one whose source came first.
 * Copying another source's tool gains no second position.
 */
export class CloneFolding {
  readonly #sources: SourceLedger
  readonly #fingerprints = new Fingerprints()

  constructor(sources: SourceLedger) {
    this.#sources = sources
  }

  /** A listing as `isFolded` takes it: each is compared with many others. */
  ageOf(listing: Listing): Aged {
    return { listing, since: this.#sources.since(listing.source), fingerprint: undefined }
  }

  /** Whether the listing of `other` replaces that of `one`. False if the query names the source of `one`. */
  isFolded(one: Aged, other: Aged, query: Query): boolean {
    const isSenior =
      other.listing.trust === one.listing.trust
        ? other.since < one.since
        : other.listing.trust > one.listing.trust
    if (!isSenior) return false
    one.fingerprint ??= this.#fingerprints.of(one.listing)
    other.fingerprint ??= this.#fingerprints.of(other.listing)
    return isClone(one.fingerprint, other.fingerprint) && !isNamed(one.listing, other.listing, query)
  }
}

/** Whether the query contains a word of the listing's source that the other's source lacks. */
function isNamed(listing: Listing, other: Listing, query: Query): boolean {
  const shared = new Set(wordsOf(sourceKey(other.source)))
  const distinctive = wordsOf(sourceKey(listing.source)).filter((word) => !shared.has(word))
  if (distinctive.length === 0) return false
  const asked = new Set(query.words.flatMap(wordsOf))
  return distinctive.some((word) => asked.has(word))
}

/** Records when each source was first seen and how many tools it has. */
export class SourceLedger {
  /** By kind and name, since a search asks thousands of times: a source key would be made each time. */
  readonly #sources: Readonly<Record<ToolSource['kind'], Map<string, KnownSource>>> = {
    builtin: new Map(),
    plugin: new Map(),
    mcp: new Map(),
  }
  #seen = 0
  #approved = 0

  /** Records a source's listings before and after a change. A source that is removed and returns counts as new. */
  record(before: readonly Listing[], after: readonly Listing[]): void {
    for (const { source } of after) this.#count(source, 1)
    for (const { source } of before) this.#count(source, -1)
    const approved = (listings: readonly Listing[]) => listings.filter(isApproved).length
    this.#approved += approved(after) - approved(before)
  }

  /** Whether any listing is from an approved source. */
  get hasApproved(): boolean {
    return this.#approved > 0
  }

  /** The number of sources. */
  get size(): number {
    const { builtin, plugin, mcp } = this.#sources
    return builtin.size + plugin.size + mcp.size
  }

  toolsOf(source: ToolSource): number {
    return this.#find(source)?.tools ?? 0
  }

  /** Whether a source was seen before another. */
  isSenior(source: ToolSource, other: ToolSource): boolean {
    return this.since(source) < this.since(other)
  }

  /** When a source was first seen: later ones have higher numbers. */
  since(source: ToolSource): number {
    return this.#find(source)?.since ?? Number.POSITIVE_INFINITY
  }

  #find(source: ToolSource): KnownSource | undefined {
    return this.#sources[source.kind].get(nameOf(source))
  }

  #count(source: ToolSource, change: 1 | -1): void {
    const sources = this.#sources[source.kind]
    const name = nameOf(source)
    const known = sources.get(name)
    if (known === undefined) sources.set(name, { since: this.#seen++, tools: change })
    else if (known.tools + change === 0) sources.delete(name)
    else known.tools += change
  }
}

interface KnownSource {
  readonly since: number
  tools: number
}

function nameOf(source: ToolSource): string {
  if (source.kind === 'mcp') return source.server
  return source.kind === 'plugin' ? source.plugin : ''
}
