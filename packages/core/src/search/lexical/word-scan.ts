import type { Listing } from '../../tool.ts'
import { acceptEvery, type RankOptions } from '../searcher.ts'
import { compareNames } from '../top-matches.ts'
import { LISTING_SHIFT } from './posting-lists.ts'
import type { QueryTerm, WeightedWord } from './query-terms.ts'
import { wordsOf } from './text-words.ts'
import type { Leaders, TopKScorer } from './top-k-scorer.ts'
import type { Vocabulary } from './vocabulary.ts'
import { type Matched, wordReasons } from './word-reasons.ts'

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
  readonly scorer: TopKScorer
  readonly vocabulary: Vocabulary
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
    const { scorer, terms, vocabulary, listings, accepts } = this.#scanned
    const { postings } = vocabulary
    const isAccepted = accepts === acceptEvery ? undefined : (number: number) => this.#isAccepted(number)
    return scorer.leaders({ terms, postings, limit, watched, end: listings.length, isAccepted, countsAll })
  }

  /** How well one of the best or of the watched listings fits; 0 if it contains no word of the query. */
  rate(number: number): WordRate {
    return this.#rates.get(number) ?? NOTHING
  }

  /** For each match, the words it contains and in which fields. */
  reasonsOf(matches: readonly Matched[]): string[][] {
    return wordReasons(matches, this.#scanned)
  }

  /**
   * Words that no accepted listing contains, as written; not numbers, which no tool is expected to mention. A phrase that
   * stands for a word that one contains is matched.
   */
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
        read.has(place) &&
        !matched.has(place) &&
        !isAdded &&
        !understood.has(written) &&
        HAS_LETTER.test(text),
    )
    return [...new Set(unmatched.map(({ text, written }) => written ?? text))]
  }

  /** Whether any accepted listing contains a term. */
  #isHeld({ forms }: QueryTerm): boolean {
    const { vocabulary, accepts } = this.#scanned
    const { values, starts, lengths } = vocabulary.postings
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

const HAS_LETTER = /\p{L}/u

function bestFirst(a: WordMatch, b: WordMatch): number {
  return (
    b.score - a.score || b.listing.trust - a.listing.trust || compareNames(a.listing.name, b.listing.name)
  )
}
