import { type Listing, sourceKey } from '../tool.ts'
import type { CloneFolding } from './clone-folding.ts'
import { FIRST_PLACES, FirstPlaces } from './first-places.ts'
import { wordsOf } from './lexical/text-words.ts'
import type { Query } from './query/query.ts'
import type { Accepts } from './query/query-filters.ts'
import type { Ranked, Ranking, SearchIndex } from './searcher.ts'
import type { SourceLedger } from './source-ledger.ts'

/**
 * Extra matches to rank beyond the limit, to replace folded and unready ones: ranking again is far more expensive.
 * Clones and their originals are searched among them.
 */
const SPARE_MATCHES = 17

/** The matches among which the first places are shared: those available when three are requested. */
const SHARED_MATCHES = 3 + SPARE_MATCHES

/** How far apart in the ranking to look for clones. They have similar scores, so they are close together. */
const CLONE_DISTANCE = 50

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
  /** `fit`: the first places are shared between sources, and no exact name scores below a later match. */
  readonly order: 'fit' | 'fixed'
}

/** The first matches of a search, best first. */
export interface RankedMatches {
  /** How many listings match in total, less the clones and unready tools encountered. */
  readonly total: number
  readonly matches: readonly Ranked[]
  readonly unmatchedTerms: readonly string[]
  /** Why the searcher did only part of its work, if so. */
  readonly failure?: unknown
}

/** Ranks one query: exact names first, clones folded, the first places shared between sources. */
export class RankedSearch {
  readonly #options: RankedSearchOptions
  readonly #places: FirstPlaces

  constructor(options: RankedSearchOptions) {
    this.#options = options
    this.#places = new FirstPlaces(options.query, options.exact, options.sources)
  }

  /** The first `count` matches. */
  async first(count: number): Promise<RankedMatches> {
    const { query, index, accepts } = this.#options
    for (let limit = count + SPARE_MATCHES; ; limit *= 4) {
      const ranking = await index.rank(query, { limit, accepts })
      const candidates = this.#withExactFirst(ranking.matches)
      const { kept, dropped } = this.#pick(candidates, count)
      const isWhole = ranking.matches.length < limit
      if (kept.length < count && !isWhole) continue
      return {
        total: Math.max(ranking.total, isWhole ? candidates.length : 0) - dropped,
        matches: (await this.#shared(kept, ranking)).slice(0, count),
        unmatchedTerms: ranking.unmatchedTerms.filter((term) => !this.#isPartOfExact(term)),
        ...(ranking.failure === undefined ? {} : { failure: ranking.failure }),
      }
    }
  }

  /** Shares the first places if a source has more than its share. */
  async #shared(kept: readonly Ranked[], ranking: Ranking): Promise<readonly Ranked[]> {
    const { order, sources } = this.#options
    if (order === 'fixed' || sources.size === 1) return kept
    const crowding = this.#places.crowding(kept)
    if (crowding.size === 0) return kept
    const candidates = this.#withExactFirst(ranking.matches.slice(0, SHARED_MATCHES))
    const pool = this.#pick(candidates, SHARED_MATCHES).kept
    const others = pool.filter(({ listing }) => !crowding.has(sourceKey(listing.source)))
    if (others.length < Math.min(kept.length, FIRST_PLACES) && ranking.matches.length >= SHARED_MATCHES)
      pool.push(...(await this.#othersThan(crowding, pool)))
    const first = this.#places.share(pool)
    const placed = new Set(first.map(({ listing }) => listing))
    return [...first, ...kept.filter(({ listing }) => !placed.has(listing))]
  }

  /**
   * The best matches of other sources. The best of the crowding sources are ranked with them, so that relative scores
   * stay comparable.
   */
  async #othersThan(crowding: ReadonlySet<string>, known: readonly Ranked[]): Promise<Ranked[]> {
    const { query, index } = this.#options
    const kept = new Set(known.slice(0, FIRST_PLACES / 2).map(({ listing }) => listing))
    const accepts = (listing: Listing) =>
      (!crowding.has(sourceKey(listing.source)) || kept.has(listing)) && this.#options.accepts(listing)
    const { matches } = await index.rank(query, { limit: SHARED_MATCHES, accepts })
    const isKnown = new Set(known.map(({ listing }) => listing))
    const others = this.#pick(matches, SHARED_MATCHES).kept
    return others.filter(({ listing }) => !isKnown.has(listing))
  }

  /** The first `count` candidates that are ready and not clones, and how many others were skipped. */
  #pick(candidates: readonly Ranked[], count: number): { kept: Ranked[]; dropped: number } {
    const { exact, isReady } = this.#options
    const kept: Ranked[] = []
    let dropped = 0
    for (let at = 0; at < candidates.length && kept.length < count; at++) {
      const candidate = candidates[at] as Ranked
      const isFolded = !exact.has(candidate.listing) && this.#hasSenior(candidates, at)
      if (isFolded || !isReady(candidate.listing)) dropped++
      else kept.push(candidate)
    }
    return { kept, dropped }
  }

  #hasSenior(candidates: readonly Ranked[], at: number): boolean {
    const { clones, query, isReady } = this.#options
    const { listing } = candidates[at] as Ranked
    const end = Math.min(candidates.length, at + CLONE_DISTANCE)
    for (let near = Math.max(0, at - CLONE_DISTANCE); near < end; near++) {
      const other = (candidates[near] as Ranked).listing
      if (clones.isFolded(listing, other, query) && isReady(other)) return true
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

  #withExactFirst(matches: readonly Ranked[]): readonly Ranked[] {
    const { exact, order } = this.#options
    if (exact.size === 0) return matches
    const best = matches[0]?.score ?? 1
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
