import type { Listing } from '../tool.ts'
import type { Query } from './query/query.ts'

/** Ranks listings. `open()` returns an empty index; the caller owns and updates it. */
export interface Searcher {
  readonly name: string
  /** How this searcher reads plain text: as words (the default), or as a pattern even without slashes. */
  readonly reads?: 'words' | 'pattern'
  /**
   * `fit` (the default): an unapproved source's matches may move down, so that it cannot crowd out the others.
   * `fixed`: matches keep their ranked order.
   */
  readonly order?: 'fit' | 'fixed'
  /** The model that makes its vectors, if it has any. What a memory learned with one is not used with another. */
  readonly embedderName?: string | undefined
  open(): SearchIndex
}

/** The index of one searcher over one catalogue. */
export interface SearchIndex {
  /**
   * Replaces all listings of one source; an empty list removes the source. Listings already indexed (the same
   * objects) cost nothing.
   */
  update(source: string, listings: readonly Listing[]): void
  /** True while an update must have all listings of its source; otherwise a large source may be updated step by step. */
  readonly takesWholeSources?: boolean
  /**
   * Ranks the listings that match the query's free words. Filters (`+word`, `-word`, `server:`) are part of
   * `accepts`.
   */
  rank(query: Query, options: RankOptions): Ranking | Promise<Ranking>
  /**
   * Ranks the query of one of its rankings again, among those of its listings that `accepts` accepts too, and leaves `total` open.
   * For indexes in which it is cheaper than another `rank`; undefined if too little was found to tell.
   */
  rankAgain?(ranking: Ranking, options: Pick<RankOptions, 'limit' | 'accepts'>): Ranking | undefined
}

/** What a search asks of an index beside its query. */
export interface RankOptions {
  /** Maximum matches to return; `total` counts them all. */
  readonly limit: number
  /**
   * Whether a listing may be found. A rejected listing has no influence on the ranking. An index may skip the call if
   * this is `acceptEvery`.
   */
  accepts(listing: Listing): boolean
  /** What served similar requests of this caller before; `hybrid` uses it. */
  readonly memory?: SearchMemory
  /** False if the caller does not read `total`: with a filter, counting can take longer than ranking. */
  readonly countsAll?: boolean
}

/** Knows which tools served similar requests before. */
export interface SearchMemory {
  /**
   * Returns how much to lift tools, by their full names, on the scale of `Ranked.fit`. The vector is that of the
   * request without its values (quotations, paths, numbers), as in `Ranking.vector`.
   */
  lifts(vector: Float32Array): readonly Lift[] | PromiseLike<readonly Lift[]>
}

/** How much one tool is lifted by a memory. */
export interface Lift {
  readonly id: string
  readonly lift: number
}

/** Accepts every listing. */
export function acceptEvery(): boolean {
  return true
}

/** What a search says about its matches as a whole. */
export interface SearchVerdict {
  /** Words that match no accepted listing, as written, in order. */
  readonly unmatchedTerms?: readonly string[]
  /** The service that the request begins with, if no listing mentions it. */
  readonly absentService?: string
  /** Misspelt words, and the words of tools that they were read as, if any were. */
  readonly readAs?: Readonly<Record<string, string>>
  /** The probability that the first match is right, from searchers that know it. */
  readonly confidence?: number
  /** The probability that there is a tool for the request at all, from searchers that know it. */
  readonly answerable?: number
}

/** The same for whoever ranks further or remembers: a result is sent to models and printed without it. */
export interface RankingVerdict extends SearchVerdict {
  /** Why part of the work failed, if so: an embedder, say. The matches come from the rest. */
  readonly failure?: unknown
  /** The cosine between the request and the first match, from searchers that know it. */
  readonly similarity?: number
  /** The vector of the request without its values, from searchers that have one: what `SearchMemory` is asked with. */
  readonly vector?: Float32Array
}

/** What an index found. */
export interface Ranking extends RankingVerdict {
  readonly total: number
  /** Best first; ties by name. */
  readonly matches: readonly Ranked[]
  readonly unmatchedTerms: readonly string[]
}

/** A listing with its score and human-readable reasons. */
export interface Ranked {
  readonly listing: Listing
  readonly score: number
  /** How well it matches, to compare it with the others of the same search; the score by default. */
  readonly fit?: number
  readonly reasons: readonly string[]
}

/** How well a match fits, to compare it with the others of the same search. */
export function matchFit({ fit, score }: Pick<Ranked, 'fit' | 'score'>): number {
  return fit ?? score
}
