import { clamp } from '../text.ts'
import type { Listing } from '../tool.ts'
import type { Accepts, Query } from './query/query.ts'
import {
  acceptEvery,
  type Ranked,
  type RankingVerdict,
  type Searcher,
  type SearchMemory,
} from './searcher.ts'

/** How many matches are returned unless the caller says otherwise. */
export const DEFAULT_LIMIT = 5
const MAX_LIMIT = 1000

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
export interface CatalogueFindings extends RankingVerdict {
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
}

export function pageOf({ limit = DEFAULT_LIMIT, offset = 0 }: CatalogueSearchOptions): {
  limit: number
  offset: number
} {
  return {
    limit: clamp(limit, { min: 1, max: MAX_LIMIT, otherwise: DEFAULT_LIMIT }),
    offset: clamp(offset, { min: 0, max: Number.MAX_SAFE_INTEGER, otherwise: 0 }),
  }
}

/** One page of the listings that are ready, and how many unready ones were skipped. */
export function pageThrough(
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

/** Listings that pass `+word` and match no other word follow last, sorted by name. */
export function withUnranked(
  found: CatalogueFindings,
  unranked: readonly Listing[],
  query: Query,
  options: CatalogueSearchOptions,
): CatalogueFindings {
  const { offset, limit } = pageOf(options)
  const start = Math.max(0, offset - found.total)
  const { page, unready } = pageThrough(unranked, start, limit - found.ranked.length, options.isReady)
  const reasons = filtersOf(query)
  return {
    ...found,
    total: found.total + unranked.length - unready,
    ranked: [...found.ranked, ...page.map((listing): Ranked => ({ listing, score: 0, reasons }))],
  }
}

/** The filters that a listing passed, as reasons. */
export function filtersOf({ required, servers }: Query): string[] {
  const words = required.map((word) => `passes +${word}`)
  return servers.length === 0 ? words : [...words, `server:${servers.join(',')}`]
}
