import { Highest } from './highest.ts'
import { IMPACT_MASK, LISTING_SHIFT, type PostingLists, SATURATION } from './posting-lists.ts'
import type { Term } from './vocabulary.ts'

/** The share of a listing's score that is proportional to how much of the query it covers. */
const COVERAGE = 0.5

/** The score of a listing, from what its words gain and the share of the query that they cover. */
export function scoreOf(gain: number, coverage: number): number {
  return gain * (1 - COVERAGE + COVERAGE * coverage)
}

/**
 * What a listing gains from containing a term: words with the same stem saturate together, and those of the query count
 * more. 0 if it contains none of them.
 */
export function gainOf({ weight, forms }: Term, listing: number, postings: PostingLists): number {
  let openness = 1
  let extra = 0
  for (let at = 0; at < forms.length; at++) {
    const form = forms[at] as Term['forms'][number]
    const found = postings.find(form.list, listing)
    if (found < 0) continue
    const saturation = SATURATION[(postings.values[found] as number) & IMPACT_MASK] as number
    openness += 1 / (1 - saturation) - 1
    extra += form.weight * saturation
  }
  return weight * (1 - 1 / openness) + extra
}

/** What no listing's gain exceeds. */
function highestGain({ weight, forms }: Term, { peaks }: PostingLists): number {
  let openness = 1
  let extra = 0
  for (const form of forms) {
    const saturation = SATURATION[peaks[form.list] as number] as number
    openness += 1 / (1 - saturation) - 1
    extra += form.weight * saturation
  }
  return weight * (1 - 1 / openness) + extra
}

function lengthOf({ forms }: Term, { lengths }: PostingLists): number {
  return forms.reduce((sum, { list }) => sum + (lengths[list] as number), 0)
}

/** A query whose best listings are wanted. */
export interface BoardQuery {
  readonly terms: readonly Term[]
  readonly postings: PostingLists
  /** How many are wanted. */
  readonly limit: number
  /** The numbers of listings are below this. */
  readonly end: number
  isAccepted(listing: number): boolean
}

/** The best listings of a query, unordered and with few others, and how many contain any of its terms, accepted or not. */
export interface Leaders {
  readonly listings: Uint32Array
  readonly total: number
}

/** Numbers per listing on the board: its gain, what it covers, its openness, and the turn of the last term it contains. */
const GAIN = 0
const COVER = 1
const OPENNESS = 2
const TURN = 3
const CELL = 4

/** Turns are counted in floating-point numbers of 32 bits. */
const LAST_TURN = 2 ** 23

/** Sums on the board are a little inexact. */
const ALMOST = 1 - 1e-5

/**
 * Finds the listings with the best scores. Reads the rarest words first; once no listing that lacks all of them can be
 * among the best, the others are not put on the board any more, so that the long lists of common words cost little.
 *
 * The board is reused between queries: each term gets a new turn number, and older values have older turns, so nothing
 * needs clearing.
 */
export class Scoreboard {
  #cells = new Float32Array(0)
  /** The listings on the board; the first `#count` entries. */
  #held = new Uint32Array(0)
  #count = 0
  /** A bit per listing that contains a term, and how many there are. */
  #seen = new Uint32Array(0)
  #total = 0
  #firstTurn = 1
  #turn = 0
  #query: BoardQuery | undefined

  leaders(query: BoardQuery): Leaders {
    const { postings } = query
    this.#query = query
    const terms = query.terms
      .map((term) => ({ term, highest: highestGain(term, postings), length: lengthOf(term, postings) }))
      .sort((a, b) => b.highest - a.highest)
    const rest = new Rest(terms)
    this.#begin(query.end)
    let least = 0
    let read = 0
    for (const next of terms) {
      if (rest.highestScore() < least) this.#addToHeld(next.term, postings)
      else this.#add(next.term, postings)
      rest.remove(next)
      read += next.length
      // To look at the board must be cheaper than what was read since, and than what is left to read.
      const isWorthIt = rest.isMinor && this.#count <= Math.min(read, rest.length)
      if (rest.length > 0 && !isWorthIt) continue
      least = this.#leastOf(query, rest, least)
      read = 0
    }
    return { listings: this.#reaching(least, rest), total: this.#total }
  }

  /** What the board says about a listing; undefined if it was not put on it, or if the board is in use for another query. */
  read(query: BoardQuery, listing: number): { readonly gain: number; readonly cover: number } | undefined {
    const cell = CELL * listing
    if (this.#query !== query || !((this.#cells[cell + TURN] as number) >= this.#firstTurn)) return undefined
    return { gain: this.#cells[cell + GAIN] as number, cover: this.#cells[cell + COVER] as number }
  }

  /** Whether a listing is known to contain no term of the query. */
  isUnseen(query: BoardQuery, listing: number): boolean {
    return this.#query === query && ((this.#seen[listing >>> 5] as number) & (1 << (listing & 31))) === 0
  }

  /** Starts a query over listings below `end`. */
  #begin(end: number): void {
    this.#count = 0
    this.#total = 0
    this.#seen.fill(0)
    if (this.#turn > LAST_TURN) {
      this.#cells.fill(0)
      this.#turn = 0
    }
    this.#firstTurn = this.#turn + 1
    if (end <= this.#held.length) return
    const room = end + (end >>> 2) + 64
    this.#cells = new Float32Array(CELL * room)
    this.#held = new Uint32Array(room)
    this.#seen = new Uint32Array((room >>> 5) + 1)
  }

  /** Adds the gains of all listings that contain a term. */
  #add({ weight, cover, forms }: Term, { values, starts, lengths }: PostingLists): void {
    const turn = ++this.#turn
    const firstTurn = this.#firstTurn
    const cells = this.#cells
    const held = this.#held
    const seen = this.#seen
    let count = this.#count
    for (const form of forms) {
      const start = starts[form.list] as number
      const end = start + (lengths[form.list] as number)
      const whole = weight + form.weight
      for (let at = start; at < end; at++) {
        const posting = values[at] as number
        const listing = posting >>> LISTING_SHIFT
        const saturation = SATURATION[posting & IMPACT_MASK] as number
        const cell = CELL * listing
        const last = cells[cell + TURN] as number
        if (last < firstTurn) {
          held[count++] = listing
          seen[listing >>> 5] = (seen[listing >>> 5] as number) | (1 << (listing & 31))
          cells[cell + GAIN] = whole * saturation
          cells[cell + COVER] = cover
        } else if (last < turn) {
          cells[cell + GAIN] = (cells[cell + GAIN] as number) + whole * saturation
          cells[cell + COVER] = (cells[cell + COVER] as number) + cover
        } else {
          addForm(cells, cell, weight, form.weight, saturation)
          continue
        }
        cells[cell + TURN] = turn
        if (forms.length > 1) cells[cell + OPENNESS] = 1 / (1 - saturation)
      }
    }
    this.#total += count - this.#count
    this.#count = count
  }

  /** Adds the gains of the listings on the board that contain a term, and counts the others. */
  #addToHeld({ weight, cover, forms }: Term, { values, starts, lengths }: PostingLists): void {
    const turn = ++this.#turn
    const firstTurn = this.#firstTurn
    const cells = this.#cells
    const seen = this.#seen
    let total = this.#total
    for (const form of forms) {
      const start = starts[form.list] as number
      const end = start + (lengths[form.list] as number)
      for (let at = start; at < end; at++) {
        const posting = values[at] as number
        const listing = posting >>> LISTING_SHIFT
        const bits = seen[listing >>> 5] as number
        const bit = 1 << (listing & 31)
        if ((bits & bit) === 0) {
          seen[listing >>> 5] = bits | bit
          total++
          continue
        }
        const cell = CELL * listing
        const last = cells[cell + TURN] as number
        if (last < firstTurn) continue
        const saturation = SATURATION[posting & IMPACT_MASK] as number
        if (last === turn) {
          addForm(cells, cell, weight, form.weight, saturation)
          continue
        }
        cells[cell + GAIN] = (cells[cell + GAIN] as number) + (weight + form.weight) * saturation
        cells[cell + COVER] = (cells[cell + COVER] as number) + cover
        cells[cell + TURN] = turn
        cells[cell + OPENNESS] = 1 / (1 - saturation)
      }
    }
    this.#total = total
  }

  /** The score that the last of the wanted listings reaches, if it is known, or what it was known to reach before. */
  #leastOf({ limit, isAccepted }: BoardQuery, rest: Rest, before: number): number {
    if (this.#count < limit) return before
    const cells = this.#cells
    const best = new Highest(limit)
    for (let at = 0; at < this.#count; at++) {
      const listing = this.#held[at] as number
      const score = rest.score(
        cells[CELL * listing + GAIN] as number,
        cells[CELL * listing + COVER] as number,
      )
      if (score > best.least && isAccepted(listing)) best.add(score)
    }
    return Math.max(before, best.least * ALMOST)
  }

  /** The listings on the board whose score is not below `least`. */
  #reaching(least: number, rest: Rest): Uint32Array {
    const cells = this.#cells
    const held = this.#held
    let kept = 0
    for (let at = 0; at < this.#count; at++) {
      const listing = held[at] as number
      const score = rest.score(
        cells[CELL * listing + GAIN] as number,
        cells[CELL * listing + COVER] as number,
      )
      if (score >= least) held[kept++] = listing
    }
    return held.subarray(0, kept)
  }
}

/** Adds the gain of another word of the term that was added last. */
function addForm(cells: Float32Array, cell: number, weight: number, extra: number, saturation: number): void {
  const before = cells[cell + OPENNESS] as number
  const after = before + 1 / (1 - saturation) - 1
  const gain = weight * (1 / before - 1 / after) + extra * saturation
  cells[cell + GAIN] = (cells[cell + GAIN] as number) + gain
  cells[cell + OPENNESS] = after
}

interface RankedTerm {
  readonly term: Term
  readonly highest: number
  /** How many postings its words have. */
  readonly length: number
}

/** What the terms that were not read yet can add. */
class Rest {
  /** How many postings they have. */
  length = 0
  #gain = 0
  #cover = 0
  readonly #wholeGain: number
  readonly #wholeCover: number

  constructor(terms: readonly RankedTerm[]) {
    for (const { term, highest, length } of terms) {
      this.#gain += highest
      this.#cover += term.cover
      this.length += length
    }
    this.#wholeGain = this.#gain
    this.#wholeCover = this.#cover
  }

  remove({ term, highest, length }: RankedTerm): void {
    this.#gain -= highest
    this.#cover -= term.cover
    this.length -= length
  }

  /** Whether they can add less than half of what the others can: only then may the best be known without them. */
  get isMinor(): boolean {
    return 3 * this.#gain < this.#wholeGain
  }

  /** The score of a listing that contains none of them. */
  score(gain: number, cover: number): number {
    return scoreOf(gain, cover / this.#wholeCover)
  }

  /** What no listing's score exceeds that contains none of the terms that were read. */
  highestScore(): number {
    return this.score(this.#gain, this.#cover)
  }
}
