import type { Listing } from '../../tool.ts'
import { compareNames } from '../top-matches.ts'
import { FIELDS } from './listing-terms.ts'
import { IMPACT_MASK, LISTING_SHIFT, type PostingLists, SATURATION } from './posting-lists.ts'
import type { QueryTerm, Term, WeightedWord } from './vocabulary.ts'

const LAST_TURN = 0xffffffff

/**
 * The scores of one query, by listing number. The arrays are reused between queries: each term gets a new turn
 * number, and older values have older turns, so nothing needs clearing.
 */
export class Scoreboard {
  scores = new Float64Array(0)
  /** How much of the query each listing covers. */
  covers = new Float64Array(0)
  /** Listings with a score; the first `touchedCount` entries. */
  touched = new Uint32Array(0)
  touchedCount = 0
  /** By listing: the turn of the last term that matched it. */
  #turns = new Uint32Array(0)
  /** By listing: 1 / (1 - saturation) of the last term, which is additive where saturations are not. */
  #openness = new Float64Array(0)
  /** By listing: its position among the requested ones, counted from 1. */
  #places = new Uint16Array(0)
  #firstTurn = 1
  #turn = 0

  /** Starts a query over listings below `count`. */
  begin(count: number): void {
    this.touchedCount = 0
    this.#firstTurn = this.#turn + 1
    if (this.#turn > LAST_TURN / 2) {
      this.#turns.fill(0)
      this.#turn = 0
      this.#firstTurn = 1
    }
    if (count <= this.scores.length) return
    const room = count + (count >>> 2) + 64
    this.scores = new Float64Array(room)
    this.covers = new Float64Array(room)
    this.touched = new Uint32Array(room)
    this.#turns = new Uint32Array(room)
    this.#openness = new Float64Array(room)
    this.#places = new Uint16Array(room)
  }

  /** Adds a term. Words with the same stem saturate together. */
  add({ weight, cover, forms }: Term, { values, starts, lengths }: PostingLists): void {
    const turn = ++this.#turn
    const firstTurn = this.#firstTurn
    const turns = this.#turns
    const openness = this.#openness
    const { scores, covers, touched } = this
    let touchedCount = this.touchedCount
    for (const form of forms) {
      const start = starts[form.list] as number
      const end = start + (lengths[form.list] as number)
      const whole = weight + form.weight
      for (let at = start; at < end; at++) {
        const posting = values[at] as number
        const listing = posting >>> LISTING_SHIFT
        const saturation = SATURATION[posting & IMPACT_MASK] as number
        const last = turns[listing] as number
        if (last < firstTurn) {
          touched[touchedCount++] = listing
          scores[listing] = whole * saturation
          covers[listing] = cover
        } else if (last < turn) {
          scores[listing] = (scores[listing] as number) + whole * saturation
          covers[listing] = (covers[listing] as number) + cover
        } else {
          const before = openness[listing] as number
          const after = before + 1 / (1 - saturation) - 1
          const gain = weight * (1 / before - 1 / after) + form.weight * saturation
          scores[listing] = (scores[listing] as number) + gain
          openness[listing] = after
          continue
        }
        turns[listing] = turn
        if (forms.length > 1) openness[listing] = 1 / (1 - saturation)
      }
    }
    this.touchedCount = touchedCount
  }

  /** Removes a listing. */
  refuse(listing: number): void {
    this.#turns[listing] = 0
  }

  /** Whether a listing contains any term and was not removed. */
  isTouched(listing: number): boolean {
    return (this.#turns[listing] ?? 0) >= this.#firstTurn
  }

  /** Whether any listing that was not removed contains the term. */
  isHeld({ forms }: Term, { values, starts, lengths }: PostingLists): boolean {
    return forms.some(({ list }) => {
      const start = starts[list] as number
      const end = start + (lengths[list] as number)
      for (let at = start; at < end; at++) {
        if ((this.#turns[(values[at] as number) >>> LISTING_SHIFT] as number) >= this.#firstTurn) return true
      }
      return false
    })
  }

  /** For each term, the fields of each given listing that contain it, as bits. */
  fieldsOf(
    terms: readonly Term[],
    listings: readonly number[],
    { values, notes, starts, lengths }: PostingLists,
  ): number[][] {
    const places = this.#places
    for (let place = 0; place < listings.length; place++) places[listings[place] as number] = place + 1
    const found = terms.map(({ forms }) => {
      const fields = new Array<number>(listings.length).fill(0)
      for (const { list } of forms) {
        const start = starts[list] as number
        const end = start + (lengths[list] as number)
        for (let at = start; at < end; at++) {
          const place = places[(values[at] as number) >>> LISTING_SHIFT] as number
          if (place > 0) fields[place - 1] = (fields[place - 1] as number) | (notes[at] as number)
        }
      }
      return fields
    })
    for (const listing of listings) places[listing] = 0
    return found
  }
}

/** What words say about one listing. */
export interface WordMatch {
  readonly listing: Listing
  readonly number: number
  readonly score: number
  /** The share of the query that the listing covers, weighted by rarity. */
  readonly coverage: number
}

/** The share of a listing's score that is proportional to how much of the query it covers. */
const COVERAGE = 0.5

/** The rounding error of a sum that is computed in another order is far smaller. */
const ALMOST = 1 - 1e-9

interface ScanParts {
  readonly words: readonly WeightedWord[]
  readonly terms: readonly QueryTerm[]
  readonly board: Scoreboard
  readonly postings: PostingLists
  readonly listings: readonly (Listing | undefined)[]
}

/** One query's scoreboard, read as matches: the best, their reasons, and words that no listing contains. */
export class WordScan {
  /** How many listings contain a word of the query. */
  readonly total: number
  readonly #scanned: ScanParts
  readonly #wholeCover: number

  constructor(scanned: ScanParts) {
    this.#scanned = scanned
    this.total = scanned.board.touchedCount
    this.#wholeCover = scanned.terms.reduce((sum, { cover }) => sum + cover, 0)
  }

  /** The listings with the highest scores, best first; ties by trust, then by name. */
  best(limit: number): WordMatch[] {
    const { board, listings } = this.#scanned
    const { touched, touchedCount, scores, covers } = board
    const share = COVERAGE / this.#wholeCover
    const best: WordMatch[] = []
    let leastScore = 0
    for (let at = 0; at < touchedCount; at++) {
      const number = touched[at] as number
      // Covering the whole query would not be enough, so that what it covers need not be read.
      if ((scores[number] as number) < leastScore) continue
      // As in `score`, for listings that are known to be touched.
      const about = (scores[number] as number) * (1 - COVERAGE + share * (covers[number] as number))
      if (about < leastScore) continue
      const score = this.score(number)
      if (score < leastScore) continue
      const listing = listings[number]
      if (listing === undefined) continue
      insert(best, { listing, number, score, coverage: this.coverage(number) }, limit)
      if (best.length === limit) leastScore = (best[limit - 1]?.score ?? 0) * ALMOST
    }
    return best
  }

  /** The score of a listing; 0 if it contains no word of the query. */
  score(number: number): number {
    const { board } = this.#scanned
    if (!board.isTouched(number)) return 0
    return (board.scores[number] as number) * (1 - COVERAGE + COVERAGE * this.coverage(number))
  }

  coverage(number: number): number {
    const { board } = this.#scanned
    return board.isTouched(number) ? (board.covers[number] as number) / this.#wholeCover : 0
  }

  /** For each match, the words it contains and in which fields. */
  reasonsOf(matches: readonly { readonly number: number }[]): string[][] {
    const { board, terms, postings, words } = this.#scanned
    const fields = board.fieldsOf(
      terms,
      matches.map(({ number }) => number),
      postings,
    )
    return matches.map((_, place) => {
      const reasons: string[] = []
      for (let at = 0; at < terms.length; at++) {
        const held = fields[at]?.[place] ?? 0
        if (held > 0) reasons.push(`${quoted(words[terms[at]?.written[0] ?? 0])} in ${FIELD_LABELS[held]}`)
      }
      return reasons
    })
  }

  /** Words that no accepted listing contains, as written. */
  unmatchedWords(): string[] {
    const { board, terms, postings, words } = this.#scanned
    return unmatchedAmong(words, terms, (term) => board.isHeld(term, postings))
  }
}

/** The words of which no term is held, as written. */
export function unmatchedAmong(
  words: readonly WeightedWord[],
  terms: readonly QueryTerm[],
  isHeld: (term: QueryTerm) => boolean,
): string[] {
  const held = terms.filter(isHeld)
  if (held.length === terms.length) return []
  const matched = new Set(held.flatMap((term) => term.written))
  const read = new Set(terms.flatMap((term) => term.written))
  const unmatched = words.filter((_, place) => read.has(place) && !matched.has(place))
  return [...new Set(unmatched.filter(({ isAdded }) => !isAdded).map(({ text, written }) => written ?? text))]
}

function quoted(word: WeightedWord | undefined): string {
  if (word?.written === undefined) return `"${word?.text}"`
  return `"${word.written}" ("${word.text}")`
}

function insert(best: WordMatch[], match: WordMatch, limit: number): void {
  let low = 0
  let high = best.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if (isBefore(match, best[middle])) high = middle
    else low = middle + 1
  }
  if (low >= limit) return
  best.splice(low, 0, match)
  if (best.length > limit) best.pop()
}

function isBefore(a: WordMatch, b: WordMatch | undefined): boolean {
  if (b === undefined || a.score !== b.score) return b === undefined || a.score > b.score
  if (a.listing.trust !== b.listing.trust) return a.listing.trust > b.listing.trust
  return compareNames(a.listing.name, b.listing.name) < 0
}

/** Field names for reasons, indexed by field bits. */
const FIELD_LABELS: readonly string[] = Array.from({ length: 1 << FIELDS.length }, (_, fields) =>
  FIELDS.filter((_, at) => (fields & (1 << at)) !== 0)
    .map(({ label }) => label)
    .join(', '),
)
