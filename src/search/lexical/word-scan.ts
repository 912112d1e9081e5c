import type { Listing } from '../../tool.ts'
import { acceptEvery, type RankOptions } from '../searcher.ts'
import { compareNames } from '../top-matches.ts'
import { FIELDS } from './listing-terms.ts'
import { LISTING_SHIFT, type PostingLists } from './posting-lists.ts'
import type { Leaders, Scoreboard } from './scoreboard.ts'
import { wordsOf } from './text-words.ts'
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

interface BestOptions {
  readonly watched?: readonly number[]
  readonly countsAll?: boolean
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
  #total: number | undefined

  constructor(scanned: ScanParts) {
    this.#scanned = scanned
  }

  /** How many accepted listings contain a word of the query. */
  countAll(): number {
    this.#total ??= this.#read(0, [], true).total
    return this.#total
  }

  /**
   * The listings with the highest scores, best first; ties by trust, then by name. `watched` are numbers of listings to rate
   * beside them. `countsAll`: `countAll` will be called, and all are counted on the way.
   */
  best(limit: number, { watched = [], countsAll = false }: BestOptions = {}): WordMatch[] {
    const { listings } = this.#scanned
    const leaders = this.#read(limit, watched, countsAll)
    if (countsAll) this.#total = leaders.total
    for (const tally of leaders.watched) this.#rates.set(tally.listing, tally)
    const best: WordMatch[] = []
    for (const tally of leaders.best) {
      const { listing: number, score, coverage } = tally
      const listing = listings[number]
      this.#rates.set(number, tally)
      if (listing !== undefined) best.push({ listing, number, score, coverage })
    }
    return best.sort(bestFirst).slice(0, Math.max(0, limit))
  }

  #read(limit: number, watched: readonly number[], countsAll: boolean): Leaders {
    const { board, terms, postings, listings, accepts } = this.#scanned
    const isAccepted = accepts === acceptEvery ? undefined : (number: number) => this.#isAccepted(number)
    return board.leaders({ terms, postings, limit, watched, end: listings.length, isAccepted, countsAll })
  }

  /** How well one of the best or of the watched listings fits; 0 if it contains no word of the query. */
  rate(number: number): WordRate {
    return this.#rates.get(number) ?? NOTHING
  }

  /** For each match, the words it contains and in which fields. */
  reasonsOf(matches: readonly { readonly number: number }[]): string[][] {
    const { terms, words, postings } = this.#scanned
    const sorted = matches.map(({ number }, at) => ({ number, at })).sort((a, b) => a.number - b.number)
    const listings = Uint32Array.from(
      sorted.filter(({ number }) => number >= 0),
      ({ number }) => number,
    )
    const first = sorted.length - listings.length
    const reasons = matches.map((): string[] => [])
    const fields = new Uint8Array(listings.length)
    for (const { forms, written } of terms) {
      fields.fill(0)
      for (const { list } of forms)
        postings.findAll(list, listings, (at, place) => {
          fields[place] = (fields[place] as number) | (postings.notes[at] as number)
        })
      const word = quoted(words[written[0] ?? 0])
      for (let place = 0; place < fields.length; place++)
        if (fields[place] !== 0)
          reasons[sorted[first + place]?.at ?? 0]?.push(`${word} in ${FIELD_LABELS[fields[place] ?? 0]}`)
    }
    return reasons
  }

  /** Words that no accepted listing contains, as written. A phrase that stands for a word that one contains is matched. */
  unmatchedWords(): string[] {
    const { words, terms } = this.#scanned
    const held = terms.filter((term) => this.#isHeld(term))
    if (held.length === terms.length) return []
    const matched = new Set(held.flatMap((term) => term.written))
    const read = new Set(terms.flatMap((term) => term.written))
    const understood = new Set(
      words.flatMap(({ written }, place) =>
        written !== undefined && matched.has(place) ? [written, ...wordsOf(written)] : [],
      ),
    )
    const unmatched = words.filter(
      ({ text, written = text.toLowerCase(), isAdded }, place) =>
        read.has(place) && !matched.has(place) && !isAdded && !understood.has(written),
    )
    return [...new Set(unmatched.map(({ text, written }) => written ?? text))]
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
}

function quoted(word: WeightedWord | undefined): string {
  if (word?.written === undefined) return `"${word?.text}"`
  return word.isMisspelt ? `"${word.written}" read as "${word.text}",` : `"${word.written}" ("${word.text}")`
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
