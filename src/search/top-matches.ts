import type { Listing } from '../tool.ts'

/** A listing with its score, before anyone asked for reasons. */
export interface Scored {
  readonly listing: Listing
  readonly score: number
}

/** The best first, ties by name, `limit` at most. */
export function topMatches<Match extends Scored>(matches: readonly Match[], limit: number): Match[] {
  return matches.toSorted(byScoreThenName).slice(0, limit)
}

function byScoreThenName(a: Scored, b: Scored): number {
  return b.score - a.score || compareNames(a.listing.name, b.listing.name)
}

/** Order of names by code unit: the same on every machine, whatever its locale. */
export function compareNames(a: string, b: string): number {
  if (a === b) return 0
  return a < b ? -1 : 1
}
