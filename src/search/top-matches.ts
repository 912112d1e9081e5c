import type { Listing } from '../tool.ts'

/** A listing with its score, without reasons. */
export interface Scored {
  readonly listing: Listing
  readonly score: number
}

/** The best matches first, ties by name, at most `limit`. */
export function topMatches<Match extends Scored>(matches: readonly Match[], limit: number): Match[] {
  return matches.toSorted(byScoreThenName).slice(0, limit)
}

function byScoreThenName(a: Scored, b: Scored): number {
  return b.score - a.score || compareNames(a.listing.name, b.listing.name)
}

/** Compares names by code unit, so that the order is the same in every locale. */
export function compareNames(a: string, b: string): number {
  if (a === b) return 0
  return a < b ? -1 : 1
}

/** The rows of some values, from the highest value to the lowest; of equal ones the earlier row first. */
export function bestRows(values: Float64Array): number[] {
  const rows = Array.from(values, (_, row) => row)
  return rows.sort((a, b) => (values[b] as number) - (values[a] as number))
}
