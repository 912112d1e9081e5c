import { Highest } from './highest.ts'
import { IMPACT_MASK, LISTING_SHIFT, type PostingLists, SATURATION } from './posting-lists.ts'
import type { Term } from './query-terms.ts'

/** The share of a listing's score that is proportional to how much of the query it covers. */
const COVERAGE = 0.5

/** The score of a listing, from what its words gain and the share of the query that they cover. */
function scoreOf(gain: number, coverage: number): number {
  return gain * (1 - COVERAGE + COVERAGE * coverage)
}

/** A query whose best listings are wanted. */
export interface TopKQuery {
  readonly terms: readonly Term[]
  readonly postings: PostingLists
  /** How many are wanted. */
  readonly limit: number
  /** Listings of interest in any case, by number. */
  readonly watched: readonly number[]
  /** The numbers of listings are below this. */
  readonly end: number
  /** Whether a listing may be found; undefined if every one may. */
  readonly isAccepted: ((listing: number) => boolean) | undefined
  /** Whether all accepted listings are to be counted. */
  readonly countsAll: boolean
}

/** How well one listing fits by its words. */
export interface Tally {
  readonly listing: number
  readonly score: number
  /** The share of the query that it covers, weighted by rarity. */
  readonly coverage: number
}

export interface Leaders {
  /** The best accepted listings and few others, unordered. */
  readonly best: readonly Tally[]
  /** Those of the watched listings that contain a term. */
  readonly watched: readonly Tally[]
  /** How many accepted listings contain a term, if they are counted. */
  readonly total: number
}

/** Listings that are tallied at once: their cells fit in the fastest caches. */
const WINDOW = 8_192

/** The first window is small, and each one after it twice as large: nothing can be skipped until good listings are known. */
const FIRST_WINDOW = 512

/** Numbers per listing on the board: its gain, what it covers, its openness, and the turn of the last term it contains. */
const GAIN = 0
const COVER = 1
const OPENNESS = 2
const TURN = 3
const CELL = 4

/** Sums on the board are a little inexact. */
const ALMOST = 1 - 1e-5

/**
 * Finds the listings with the best scores, one window of listings after the other. Terms that add most are read first.
 * The more good listings are known, the fewer terms can bring a listing among them by themselves: the others, whose lists
 * are the longest, are only read for listings that are on the board already.
 */
export class TopKScorer {
  readonly #window: number
  readonly #cells: Float32Array
  /** The listings on the board, by their place in the window; the first `#count` entries. */
  readonly #held: Uint32Array
  #count = 0
  /** A bit per listing of the window that contains a term or is watched. */
  readonly #seen: Uint32Array

  /** `window`: how many listings are tallied at once at most, a multiple of 32. */
  constructor({ window = WINDOW }: { readonly window?: number } = {}) {
    this.#window = window
    this.#cells = new Float32Array(CELL * window)
    this.#held = new Uint32Array(window)
    this.#seen = new Uint32Array(window / 32)
  }

  leaders(query: TopKQuery): Leaders {
    const { terms, postings, limit, watched, end, isAccepted, countsAll } = query
    const reading = terms.map((term) => new TermCursor(term, postings)).sort((a, b) => b.highest - a.highest)
    const wholeCover = terms.reduce((sum, { cover }) => sum + cover, 0)
    const bounds = boundsOf(reading, wholeCover)
    const asksForAll = countsAll && isAccepted !== undefined
    const waiting = [...watched].sort((a, b) => b - a)
    const highest = new Highest(limit > 0 ? Math.min(limit, end) : 0)
    const best: Tally[] = []
    const found: Tally[] = []
    let total = 0
    let least = 0
    for (const { start, until } of windows(end, this.#window)) {
      const watchedHere = this.#watch(waiting, start, until)
      for (let at = 0; at < reading.length; at++) {
        const next = reading[at] as TermCursor
        if ((bounds[at] as number) < least) total += this.#addToHeld(next, query, start, until, at + 1)
        else this.#add(next, postings, start, until, at + 1)
      }
      this.#release()
      for (let at = 0; at < this.#count; at++) {
        const place = this.#held[at] as number
        const gain = this.#cells[CELL * place + GAIN] as number
        if (gain === 0) continue
        const isWatched = at < watchedHere
        // No score exceeds the gain.
        if (gain < least && !isWatched && !asksForAll) {
          total++
          continue
        }
        const listing = start + place
        const coverage = (this.#cells[CELL * place + COVER] as number) / wholeCover
        const score = scoreOf(gain, coverage)
        if (isWatched) found.push({ listing, score, coverage })
        if (score < least && !countsAll) continue
        if (isAccepted !== undefined && !isAccepted(listing)) continue
        total++
        if (score < least) continue
        best.push({ listing, score, coverage })
        highest.add(score)
        least = highest.least * ALMOST
      }
    }
    return { best: best.filter(({ score }) => score >= least), watched: found, total }
  }

  /** Leaves the board ready for the next window, whatever becomes of this one: a filter may throw. */
  #release(): void {
    for (let at = 0; at < this.#count; at++) this.#cells[CELL * (this.#held[at] as number) + TURN] = 0
  }

  /** Begins a window, and puts the watched listings on the board. Returns how many there are in it. */
  #watch(waiting: number[], start: number, until: number): number {
    this.#count = 0
    this.#seen.fill(0, 0, (until - start + 31) >>> 5)
    while ((waiting.at(-1) ?? Number.POSITIVE_INFINITY) < until) {
      const place = (waiting.pop() as number) - start
      const cell = CELL * place
      if (place < 0 || this.#cells[cell + TURN] !== 0) continue
      this.#held[this.#count++] = place
      this.#seen[place >>> 5] = (this.#seen[place >>> 5] as number) | (1 << (place & 31))
      this.#cells[cell + GAIN] = 0
      this.#cells[cell + COVER] = 0
      this.#cells[cell + TURN] = WATCHED
    }
    return this.#count
  }

  /** Adds the gains of all listings in the window that contain a term. */
  #add(
    { term, cursors }: TermCursor,
    { values }: PostingLists,
    start: number,
    until: number,
    turn: number,
  ): void {
    const { weight, cover } = term
    const cells = this.#cells
    const held = this.#held
    const seen = this.#seen
    const above = until * (IMPACT_MASK + 1)
    let count = this.#count
    for (const cursor of cursors) {
      const { end, extra } = cursor
      let at = cursor.at
      for (; at < end; at++) {
        const posting = values[at] as number
        if (posting >= above) break
        const place = (posting >>> LISTING_SHIFT) - start
        const cell = CELL * place
        const last = cells[cell + TURN] as number
        const saturation = SATURATION[posting & IMPACT_MASK] as number
        if (last === 0) {
          held[count++] = place
          seen[place >>> 5] = (seen[place >>> 5] as number) | (1 << (place & 31))
          cells[cell + GAIN] = (weight + extra) * saturation
          cells[cell + COVER] = cover
        } else if (last === turn) {
          addForm(cells, cell, weight, extra, saturation)
          continue
        } else {
          cells[cell + GAIN] = (cells[cell + GAIN] as number) + (weight + extra) * saturation
          cells[cell + COVER] = (cells[cell + COVER] as number) + cover
        }
        cells[cell + TURN] = turn
        cells[cell + OPENNESS] = 1 / (1 - saturation)
      }
      cursor.at = at
    }
    this.#count = count
  }

  /** Adds the gains of the listings on the board that contain a term. Returns how many others contain it and no earlier one. */
  #addToHeld(
    { term, cursors }: TermCursor,
    query: TopKQuery,
    start: number,
    until: number,
    turn: number,
  ): number {
    const { weight, cover } = term
    const { values } = query.postings
    const isAccepted = query.countsAll ? query.isAccepted : undefined
    const cells = this.#cells
    const seen = this.#seen
    const above = until * (IMPACT_MASK + 1)
    let others = 0
    for (const cursor of cursors) {
      const { end, extra } = cursor
      let at = cursor.at
      for (; at < end; at++) {
        const posting = values[at] as number
        if (posting >= above) break
        const place = (posting >>> LISTING_SHIFT) - start
        const bits = seen[place >>> 5] as number
        const bit = 1 << (place & 31)
        if ((bits & bit) === 0) {
          seen[place >>> 5] = bits | bit
          if (isAccepted === undefined || isAccepted(start + place)) others++
          continue
        }
        const cell = CELL * place
        const last = cells[cell + TURN] as number
        if (last === 0) continue
        const saturation = SATURATION[posting & IMPACT_MASK] as number
        if (last === turn) {
          addForm(cells, cell, weight, extra, saturation)
          continue
        }
        cells[cell + GAIN] = (cells[cell + GAIN] as number) + (weight + extra) * saturation
        cells[cell + COVER] = (cells[cell + COVER] as number) + cover
        cells[cell + TURN] = turn
        cells[cell + OPENNESS] = 1 / (1 - saturation)
      }
      cursor.at = at
    }
    return others
  }
}

/** The windows over all listings below `end`. */
function windows(end: number, largest: number): { readonly start: number; readonly until: number }[] {
  const all: { readonly start: number; readonly until: number }[] = []
  let size = Math.min(FIRST_WINDOW, largest)
  for (let start = 0; start < end; start += size) {
    if (start > 0) size = Math.min(start, largest)
    all.push({ start, until: start + size })
  }
  return all
}

/** The turn of a listing that is watched and contains no term so far. */
const WATCHED = -1

/** Adds the gain of another word of the term that was added last: words with the same stem saturate together. */
function addForm(cells: Float32Array, cell: number, weight: number, extra: number, saturation: number): void {
  const before = cells[cell + OPENNESS] as number
  const after = before + 1 / (1 - saturation) - 1
  const gain = weight * (1 / before - 1 / after) + extra * saturation
  cells[cell + GAIN] = (cells[cell + GAIN] as number) + gain
  cells[cell + OPENNESS] = after
}

/** A term, and how far the postings of its words have been read. */
class TermCursor {
  readonly term: Term
  readonly cursors: { at: number; readonly end: number; readonly extra: number }[]
  /** No listing gains more from the term. */
  readonly highest: number

  constructor(term: Term, { starts, lengths, peaks }: PostingLists) {
    this.term = term
    this.cursors = term.forms.map(({ list, weight }) => {
      const start = starts[list] as number
      return { at: start, end: start + (lengths[list] as number), extra: weight }
    })
    let openness = 1
    let extra = 0
    for (const { list, weight } of term.forms) {
      const saturation = SATURATION[peaks[list] as number] as number
      openness += 1 / (1 - saturation) - 1
      extra += weight * saturation
    }
    this.highest = term.weight * (1 - 1 / openness) + extra
  }
}

/** By place of a term: what no score exceeds of a listing that contains none of the terms before it. */
function boundsOf(terms: readonly TermCursor[], wholeCover: number): number[] {
  let gain = 0
  let cover = 0
  const bounds = terms.toReversed().map(({ highest, term }) => {
    gain += highest
    cover += term.cover
    return scoreOf(gain, cover / wholeCover)
  })
  return bounds.reverse()
}
