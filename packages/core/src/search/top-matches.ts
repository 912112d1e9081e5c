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

/** The place of each value among all, from 1, the highest. Equal values share a place. */
export function placesOf(values: Float64Array): Uint32Array {
  const ascending = values.toSorted()
  const places = new Uint32Array(values.length)
  for (let row = 0; row < values.length; row++)
    places[row] = values.length - lastPlace(ascending, values[row] as number)
  return places
}

/** The index of the last of these numbers, in ascending order, that is not higher than `value`. */
function lastPlace(ascending: Float64Array, value: number): number {
  let low = 0
  let high = ascending.length - 1
  while (low < high) {
    const middle = (low + high + 1) >>> 1
    if ((ascending[middle] as number) <= value) low = middle
    else high = middle - 1
  }
  return low
}

/** The rows of the `count` highest values, and of those that equal the last of them; in ascending order. */
export function highestRows(values: Float64Array, count: number): number[] {
  const least = values.toSorted()[Math.max(0, values.length - count)] as number
  const rows: number[] = []
  for (let row = 0; row < values.length; row++) if ((values[row] as number) >= least) rows.push(row)
  return rows
}
