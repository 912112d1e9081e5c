import { ToolcribError } from '../errors.ts'
import type { Listing } from '../tool.ts'
import { FIELDS } from './listing-fields.ts'
import { listingTerms } from './listing-terms.ts'
import { LISTING_SHIFT, MAX_LISTINGS, toPosting } from './posting.ts'
import type { Query } from './query.ts'
import { type QueryTerm, queryTerms } from './query-terms.ts'
import { fieldsByListing, Scoreboard } from './scoreboard.ts'
import {
  acceptEvery,
  type Ranked,
  type Ranking,
  type RankOptions,
  type Searcher,
  type SearchIndex,
} from './searcher.ts'
import { compareNames } from './top-matches.ts'
import { Vocabulary } from './vocabulary.ts'

/** How much of its score a listing owes to covering the query: it keeps the rest however little it covers. */
const COVERAGE = 0.6

/**
 * BM25F over name, hint, description, parameters and server: whole words and their stems, rare words count more,
 * repetition saturates, and covering more of the query counts. Made for large catalogues: an update touches only what
 * changed, and a query leaves next to no garbage.
 */
export function lexical(): Searcher {
  return { name: 'lexical', open: () => new LexicalIndex() }
}

class LexicalIndex implements SearchIndex {
  readonly #vocabulary = new Vocabulary()
  readonly #board = new Scoreboard()
  /** By number. Numbers of listings that went are used again. */
  readonly #listings: (Listing | undefined)[] = []
  readonly #freeNumbers: number[] = []
  readonly #sources = new Map<string, readonly number[]>()

  update(source: string, listings: readonly Listing[]): void {
    const wanted = new Set(listings)
    const kept: number[] = []
    for (const number of this.#sources.get(source) ?? []) {
      const listing = this.#listings[number]
      if (listing !== undefined && wanted.delete(listing)) kept.push(number)
      else this.#remove(number)
    }
    for (const listing of wanted) kept.push(this.#add(listing))
    if (kept.length === 0) this.#sources.delete(source)
    else this.#sources.set(source, kept)
    this.#vocabulary.postings.compactIfSparse()
  }

  rank(query: Query, { limit, accepts }: RankOptions): Ranking {
    const { postings } = this.#vocabulary
    const board = this.#board
    const size = this.#listings.length - this.#freeNumbers.length
    const terms = queryTerms(query.words, this.#vocabulary, size)
    board.reserve(this.#listings.length)
    try {
      let wholeCover = 0
      for (const [at, term] of terms.entries()) {
        wholeCover += term.cover
        board.add(term, at + 1, postings)
      }
      const { best, total } = this.#best(limit, wholeCover, accepts)
      const unmatchedTerms = this.#unmatched(query.words, terms, accepts)
      return { total, matches: this.#explain(best, query.words, terms), unmatchedTerms }
    } finally {
      board.clear()
    }
  }

  #add(listing: Listing): number {
    const number = this.#freeNumbers.pop() ?? this.#listings.length
    if (number >= MAX_LISTINGS) {
      throw new ToolcribError(
        'config-invalid',
        `A search index holds ${MAX_LISTINGS} tools at most; register fewer`,
      )
    }
    this.#listings[number] = listing
    const vocabulary = this.#vocabulary
    const stems = new Set<number>()
    for (const [word, { frequency, fields }] of listingTerms(listing)) {
      const id = vocabulary.findOrAdd(word)
      vocabulary.postings.append(id, toPosting(number, fields, frequency))
      stems.add(vocabulary.stemOf(id))
    }
    for (const stem of stems) vocabulary.countListing(stem, 1)
    return number
  }

  #remove(number: number): void {
    const listing = this.#listings[number]
    if (listing === undefined) return
    const vocabulary = this.#vocabulary
    const stems = new Set<number>()
    const emptied: string[] = []
    for (const word of listingTerms(listing).keys()) {
      const id = vocabulary.find(word)
      if (id === undefined || !vocabulary.postings.remove(id, number, LISTING_SHIFT)) continue
      stems.add(vocabulary.stemOf(id))
      if (vocabulary.postings.lengths[id] === 0) emptied.push(word)
    }
    for (const stem of stems) vocabulary.countListing(stem, -1)
    for (const word of emptied) vocabulary.forget(word)
    this.#listings[number] = undefined
    this.#freeNumbers.push(number)
  }

  #best(limit: number, wholeCover: number, accepts: RankOptions['accepts']): { best: Best[]; total: number } {
    const { scores, covers, touched, touchedCount } = this.#board
    const asks = accepts !== acceptEvery
    const best: Best[] = []
    let total = 0
    for (let at = 0; at < touchedCount; at++) {
      const number = touched[at] as number
      const listing = this.#listings[number]
      if (listing === undefined || (asks && !accepts(listing))) {
        // No score marks a listing that was refused, for `#unmatched`.
        scores[number] = 0
        continue
      }
      total++
      const coverage = (covers[number] as number) / wholeCover
      const score = (scores[number] as number) * (1 - COVERAGE + COVERAGE * coverage)
      const last = best[best.length - 1]
      if (best.length >= limit && (last === undefined || score < last.score)) continue
      insert(best, { listing, number, score }, limit)
    }
    return { best, total }
  }

  #unmatched(
    words: readonly string[],
    terms: readonly QueryTerm[],
    accepts: RankOptions['accepts'],
  ): string[] {
    const read = new Set<number>()
    const matched = new Set<number>()
    for (const term of terms) {
      const isMatched = accepts === acceptEvery ? term.forms.length > 0 : this.#hasScored(term)
      for (const place of term.written) {
        read.add(place)
        if (isMatched) matched.add(place)
      }
    }
    if (matched.size === read.size) return []
    return [...new Set(words.filter((_, place) => read.has(place) && !matched.has(place)))]
  }

  #hasScored(term: QueryTerm): boolean {
    const { values, starts, lengths } = this.#vocabulary.postings
    return term.forms.some(({ list }) => {
      const start = starts[list] ?? 0
      const end = start + (lengths[list] ?? 0)
      for (let at = start; at < end; at++) {
        if ((this.#board.scores[(values[at] as number) >>> LISTING_SHIFT] as number) > 0) return true
      }
      return false
    })
  }

  #explain(best: readonly Best[], words: readonly string[], terms: readonly QueryTerm[]): Ranked[] {
    const reasons: string[][] = best.map(() => [])
    const numbers = best.map(({ number }) => number)
    for (const term of terms) {
      const word = words[term.written[0] ?? 0]
      for (const [place, fields] of fieldsByListing(term, numbers, this.#vocabulary.postings).entries()) {
        if (fields > 0) reasons[place]?.push(`"${word}" in ${labelsOf(fields)}`)
      }
    }
    return best.map(({ listing, score }, place) => ({
      listing,
      score: Math.round(score * 1000) / 1000,
      reasons: reasons[place] ?? [],
    }))
  }
}

interface Best {
  readonly listing: Listing
  readonly number: number
  readonly score: number
}

function insert(best: Best[], match: Best, limit: number): void {
  let at = best.length
  while (at > 0 && isBefore(match, best[at - 1])) at--
  if (at >= limit) return
  best.splice(at, 0, match)
  if (best.length > limit) best.pop()
}

function isBefore(a: Best, b: Best | undefined): boolean {
  if (b === undefined || a.score !== b.score) return b === undefined || a.score > b.score
  if (a.listing.trust !== b.listing.trust) return a.listing.trust > b.listing.trust
  return compareNames(a.listing.name, b.listing.name) < 0
}

function labelsOf(fields: number): string {
  return FIELDS.filter((_, at) => (fields & (1 << at)) !== 0)
    .map((field) => field.label)
    .join(', ')
}
