import { fieldsOf, IMPACT_MASK, LISTING_SHIFT, SATURATION } from './posting.ts'
import type { PostingLists } from './posting-lists.ts'

/** One stem of a query. */
export interface Term {
  /** What a listing gains by holding it fully, and how much of the query that covers. */
  readonly weight: number
  readonly cover: number
  /** Its words in the index, with what a listing gains on top by holding the very word of the query. */
  readonly forms: readonly { readonly list: number; readonly weight: number }[]
}

/** The sums of one query, by number of listing. Its arrays are used again by the next query. */
export class Scoreboard {
  scores = new Float64Array(0)
  /** How much of the query a listing covers. */
  covers = new Float64Array(0)
  /** Listings with a score, in the order they were met. */
  touched = new Uint32Array(0)
  touchedCount = 0
  /** By listing: the last term that met it, counted from 1. */
  #lastTerm = new Uint16Array(0)
  /** By listing: 1 / (1 - saturation) of the last term, which adds up where saturations do not. */
  #openness = new Float64Array(0)

  /** Makes room for listings below `count`. */
  reserve(count: number): void {
    if (count <= this.scores.length) return
    const room = count + (count >>> 2) + 64
    this.scores = new Float64Array(room)
    this.covers = new Float64Array(room)
    this.touched = new Uint32Array(room)
    this.#lastTerm = new Uint16Array(room)
    this.#openness = new Float64Array(room)
  }

  /** Adds a term, the `turn`th of its query. Several words of one stem saturate together. */
  add({ weight, cover, forms }: Term, turn: number, { values, starts, lengths }: PostingLists): void {
    const { scores, covers, touched } = this
    const lastTerm = this.#lastTerm
    const openness = this.#openness
    for (const form of forms) {
      const start = starts[form.list] ?? 0
      const end = start + (lengths[form.list] ?? 0)
      const formWeight = form.weight
      for (let at = start; at < end; at++) {
        const posting = values[at] as number
        const listing = posting >>> LISTING_SHIFT
        const saturation = SATURATION[posting & IMPACT_MASK] as number
        const last = lastTerm[listing] as number
        if (last === turn) {
          const before = openness[listing] as number
          const after = before + 1 / (1 - saturation) - 1
          openness[listing] = after
          scores[listing] =
            (scores[listing] as number) + weight * (1 / before - 1 / after) + formWeight * saturation
          continue
        }
        if (last === 0) touched[this.touchedCount++] = listing
        lastTerm[listing] = turn
        openness[listing] = 1 / (1 - saturation)
        scores[listing] = (scores[listing] as number) + (weight + formWeight) * saturation
        covers[listing] = (covers[listing] as number) + cover
      }
    }
  }

  /** Wipes what the query touched. */
  clear(): void {
    for (let at = 0; at < this.touchedCount; at++) {
      const listing = this.touched[at] as number
      this.scores[listing] = 0
      this.covers[listing] = 0
      this.#lastTerm[listing] = 0
    }
    this.touchedCount = 0
  }
}

/** For each of some listings, the fields in which it holds the term, as bits. */
export function fieldsByListing(
  term: Term,
  listings: readonly number[],
  { values, starts, lengths }: PostingLists,
): number[] {
  const fields = listings.map(() => 0)
  for (const { list } of term.forms) {
    const start = starts[list] ?? 0
    const end = start + (lengths[list] ?? 0)
    for (let at = start; at < end; at++) {
      const posting = values[at] as number
      const place = listings.indexOf(posting >>> LISTING_SHIFT)
      if (place >= 0) fields[place] = (fields[place] ?? 0) | fieldsOf(posting)
    }
  }
  return fields
}
