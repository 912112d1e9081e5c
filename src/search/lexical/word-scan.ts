import type { Listing } from '../../tool.ts'
import { acceptEvery, type RankOptions } from '../searcher.ts'
import { compareNames } from '../top-matches.ts'
import { FIELDS } from './listing-terms.ts'
import { LISTING_SHIFT, type PostingLists } from './posting-lists.ts'
import type { Scoreboard } from './scoreboard.ts'
import type { QueryTerm, WeightedWord } from './vocabulary.ts'

/** What words say about one listing. */
export interface WordRate {
  readonly score: number
  /** The share of the query that the listing covers, weighted by rarity. */
  readonly coverage: number
}

export interface WordMatch extends WordRate {
  readonly listing: Listing
  readonly number: number
}

const NOTHING: WordRate = { score: 0, coverage: 0 }

interface ScanParts {
  readonly words: readonly WeightedWord[]
  readonly terms: readonly QueryTerm[]
  readonly board: Scoreboard
  readonly postings: PostingLists
  /** By number. */
  readonly listings: readonly (Listing | undefined)[]
  readonly accepts: RankOptions['accepts']
}

/** The listings that contain words of one query: the best, their reasons, and words that no listing contains. */
export class WordScan {
  readonly #scanned: ScanParts
  /** By number, of those that were asked for. */
  readonly #rates = new Map<number, WordRate>()
  /** How many listings contain a word of the query, accepted or not; known once the best are. */
  #total: number | undefined

  constructor(scanned: ScanParts) {
    this.#scanned = scanned
  }

  /** How many accepted listings contain a word of the query. Reads them all, unless every listing is accepted. */
  countAll(): number {
    const { terms, postings, listings } = this.#scanned
    const { values, starts, lengths } = postings
    const isEvery = this.#scanned.accepts === acceptEvery
    if (isEvery && this.#total !== undefined) return this.#total
    const seen = new Uint32Array((listings.length >>> 5) + 1)
    let count = 0
    for (const { forms } of terms) {
      for (const { list } of forms) {
        const start = starts[list] as number
        const end = start + (lengths[list] as number)
        for (let at = start; at < end; at++) {
          const number = (values[at] as number) >>> LISTING_SHIFT
          const bit = 1 << (number & 31)
          const bits = seen[number >>> 5] as number
          if ((bits & bit) !== 0) continue
          seen[number >>> 5] = bits | bit
          if (isEvery || this.#isAccepted(number)) count++
        }
      }
    }
    return count
  }

  /**
   * The listings with the highest scores, best first; ties by trust, then by name. `watched` are numbers of listings to rate
   * beside them.
   */
  best(limit: number, watched: readonly number[] = []): WordMatch[] {
    const { board, terms, postings, listings, accepts } = this.#scanned
    const isAccepted =
      accepts === acceptEvery ? () => true : (number: number): boolean => this.#isAccepted(number)
    const leaders = board.leaders({ terms, postings, limit, watched, end: listings.length, isAccepted })
    this.#total = leaders.total
    for (const tally of [...leaders.watched, ...leaders.best]) this.#rates.set(tally.listing, tally)
    const matches = leaders.best.flatMap(({ listing: number, score, coverage }): WordMatch[] => {
      const listing = listings[number]
      return listing === undefined ? [] : [{ listing, number, score, coverage }]
    })
    return matches.sort(bestFirst).slice(0, Math.max(0, limit))
  }

  /** How well one of the best or of the watched listings fits; 0 if it contains no word of the query. */
  rate(number: number): WordRate {
    return this.#rates.get(number) ?? NOTHING
  }

  /** For each match, the words it contains and in which fields. */
  reasonsOf(matches: readonly { readonly number: number }[]): string[][] {
    const { terms, words } = this.#scanned
    const reasons = matches.map((): string[] => [])
    for (const term of terms) {
      const word = quoted(words[term.written[0] ?? 0])
      for (let at = 0; at < matches.length; at++) {
        const fields = this.#fieldsOf(term, (matches[at] as { number: number }).number)
        if (fields > 0) reasons[at]?.push(`${word} in ${FIELD_LABELS[fields]}`)
      }
    }
    return reasons
  }

  /** Words that no accepted listing contains, as written. */
  unmatchedWords(): string[] {
    const { words, terms } = this.#scanned
    const held = terms.filter((term) => this.#isHeld(term))
    if (held.length === terms.length) return []
    const matched = new Set(held.flatMap((term) => term.written))
    const read = new Set(terms.flatMap((term) => term.written))
    const unmatched = words.filter((_, place) => read.has(place) && !matched.has(place))
    return [
      ...new Set(unmatched.filter(({ isAdded }) => !isAdded).map(({ text, written }) => written ?? text)),
    ]
  }

  /** Whether any accepted listing contains a term. */
  #isHeld({ forms }: QueryTerm): boolean {
    const { postings, accepts } = this.#scanned
    const { values, starts, lengths } = postings
    return forms.some(({ list }) => {
      const start = starts[list] as number
      const end = start + (lengths[list] as number)
      if (accepts === acceptEvery) return end > start
      for (let at = start; at < end; at++)
        if (this.#isAccepted((values[at] as number) >>> LISTING_SHIFT)) return true
      return false
    })
  }

  #isAccepted(number: number): boolean {
    const listing = this.#scanned.listings[number]
    return listing !== undefined && this.#scanned.accepts(listing)
  }

  /** The fields of a listing that contain a term, as bits. */
  #fieldsOf({ forms }: QueryTerm, number: number): number {
    const { postings } = this.#scanned
    let fields = 0
    for (const { list } of forms) {
      const found = postings.find(list, number)
      if (found >= 0) fields |= postings.notes[found] as number
    }
    return fields
  }
}

function quoted(word: WeightedWord | undefined): string {
  if (word?.written === undefined) return `"${word?.text}"`
  return `"${word.written}" ("${word.text}")`
}

function bestFirst(a: WordMatch, b: WordMatch): number {
  return (
    b.score - a.score || b.listing.trust - a.listing.trust || compareNames(a.listing.name, b.listing.name)
  )
}

/** Field names for reasons, indexed by field bits. */
const FIELD_LABELS: readonly string[] = Array.from({ length: 1 << FIELDS.length }, (_, fields) =>
  FIELDS.filter((_, at) => (fields & (1 << at)) !== 0)
    .map(({ label }) => label)
    .join(', '),
)
