import type { Listing } from '../tool.ts'
import type { Query } from './query/query.ts'

/** Ranks listings. `open()` gives an empty index; whoever opened it owns it and feeds it. */
export interface Searcher {
  readonly name: string
  /** What plain text is to this searcher: words (the default), or a pattern even without slashes around it. */
  readonly reads?: 'words' | 'pattern'
  /**
   * `fit` (the default): no source that nobody approved may crowd out the others, so its matches may move down.
   * `fixed`: matches stay in the order in which they were ranked.
   */
  readonly order?: 'fit' | 'fixed'
  open(): SearchIndex
}

export interface SearchIndex {
  /**
   * Replaces all listings of one source; an empty list removes the source. Listings already indexed (the same
   * objects) cost nothing.
   */
  update(source: string, listings: readonly Listing[]): void
  /** Ranks what fits the query's free words. Filters (`+word`, `-word`, `server:`) arrive inside `accepts`. */
  rank(query: Query, options: RankOptions): Ranking | Promise<Ranking>
}

export interface RankOptions {
  /** How many matches to return at most; `total` counts them all. */
  readonly limit: number
  /**
   * Whether a listing may be found at all. A listing it refuses leaves no trace in the ranking. When it is
   * `acceptEvery`, an index need not ask.
   */
  accepts(listing: Listing): boolean
}

/** Accepts every listing. */
export function acceptEvery(): boolean {
  return true
}

export interface Ranking {
  readonly total: number
  /** Best first; ties by name. */
  readonly matches: readonly Ranked[]
  /** Query terms that fit no accepted listing, as written, in order. */
  readonly unmatchedTerms: readonly string[]
  /** Why a part of the work could not be done, if so. The matches are what the rest found. */
  readonly failure?: unknown
}

/** A listing with its score and the reasons for it, in words a person understands. */
export interface Ranked {
  readonly listing: Listing
  readonly score: number
  readonly reasons: readonly string[]
}

/** The searchers that ship with the core, by name. */
export type SearcherName = 'weighted' | 'regex' | 'lexical'
