import { ToolcribError } from '../errors.ts'
import type { Listing } from '../tool.ts'
import { listingTerms } from './lexical/listing-terms.ts'
import { MAX_LISTINGS, toPosting } from './lexical/posting-lists.ts'
import { Scoreboard } from './lexical/scoreboard.ts'
import { queryTerms, type SavedWords, Vocabulary, type WeightedWord } from './lexical/vocabulary.ts'
import { WordScan } from './lexical/word-scan.ts'
import type { Query } from './query/query.ts'
import type { Ranking, RankOptions, Searcher, SearchIndex } from './searcher.ts'

/**
 * BM25F over name, hint, description, parameters and server: matches whole words and their stems, weights rare words
 * higher, saturates repetition, and rewards covering more of the query. Built for large catalogues: an update touches
 * only what changed, and a query creates almost no garbage.
 */
export function lexical(): Searcher {
  return { name: 'lexical', open: () => new LexicalIndex() }
}

/** The index of `lexical`, which `hybrid` uses too. */
export class LexicalIndex implements SearchIndex {
  readonly #vocabulary = new Vocabulary()
  readonly #board = new Scoreboard()
  /** By number. The numbers of removed listings are reused. */
  readonly #listings: (Listing | undefined)[] = []
  readonly #freeNumbers: number[] = []
  readonly #sources = new Map<string, readonly number[]>()
  /** Only if asked for: it costs 50 bytes per listing. */
  readonly #numbers: Map<Listing, number> | undefined

  constructor({ findsNumbers = false }: { readonly findsNumbers?: boolean } = {}) {
    this.#numbers = findsNumbers ? new Map() : undefined
  }

  update(source: string, listings: readonly Listing[]): void {
    const wanted = new Set(listings)
    const kept = new Map<Listing, number>()
    for (const number of this.#sources.get(source) ?? []) {
      const listing = this.#listings[number]
      if (listing !== undefined && wanted.has(listing)) kept.set(listing, number)
      else this.#remove(number)
    }
    // In the order of the listings, so that a saved index knows them again.
    const numbers = Array.from(wanted, (listing) => kept.get(listing) ?? this.#add(listing))
    if (numbers.length === 0) this.#sources.delete(source)
    else this.#sources.set(source, numbers)
    this.#vocabulary.postings.compactIfSparse()
  }

  rank(query: Query, { limit, accepts }: RankOptions): Ranking {
    const scan = this.scan(
      query.words.map((text) => ({ text, weight: 1 })),
      accepts,
    )
    const best = scan.best(limit)
    const reasons = scan.reasonsOf(best)
    return {
      total: scan.countAll(),
      matches: best.map(({ listing, score }, at) => ({
        listing,
        score: Math.round(score * 1000) / 1000,
        reasons: reasons[at] ?? [],
      })),
      unmatchedTerms: scan.unmatchedWords(),
    }
  }

  /** Reads a query against the index. The result is valid until the next update. */
  scan(words: readonly WeightedWord[], accepts: RankOptions['accepts']): WordScan {
    const { postings } = this.#vocabulary
    const terms = queryTerms(words, this.#vocabulary, this.#listings.length - this.#freeNumbers.length)
    return new WordScan({ words, terms, board: this.#board, postings, listings: this.#listings, accepts })
  }

  /** The listings by source, and the words with their postings: numbers follow that order, from 0 on. */
  pack(): { sources: (readonly [string, readonly Listing[]])[]; words: SavedWords } {
    const numbers = new Uint32Array(this.#listings.length)
    let next = 0
    const sources = Array.from(this.#sources, ([source, held]) => {
      for (const number of held) numbers[number] = next++
      return [source, held.flatMap((number) => this.#listings[number] ?? [])] as const
    })
    return { sources, words: this.#vocabulary.pack(numbers) }
  }

  /** Takes over the words of `pack`, with `count` listings that are to be claimed. It must be empty. */
  adopt(words: SavedWords, count: number): void {
    this.#vocabulary.adopt(words)
    this.#listings.length = count
  }

  /** Says which listings the adopted numbers from `first` on belong to. */
  claim(source: string, listings: readonly Listing[], first: number): void {
    this.#sources.set(
      source,
      listings.map((listing, at) => {
        this.#listings[first + at] = listing
        this.#numbers?.set(listing, first + at)
        return first + at
      }),
    )
  }

  /** Removes adopted listings that nobody claimed: these numbers. */
  drop(numbers: readonly number[]): void {
    if (numbers.length === 0) return
    const isGone = new Uint8Array(this.#listings.length)
    for (const number of numbers) isGone[number] = 1
    this.#vocabulary.purge(isGone)
    for (const number of numbers) this.#freeNumbers.push(number)
  }

  /** The number of a listing in a scan. Needs `findsNumbers`. */
  numberOf(listing: Listing): number | undefined {
    return this.#numbers?.get(listing)
  }

  /** How many listings contain the word or one with the same stem. */
  holders(word: string): number {
    const stem = this.#vocabulary.findStem(word)
    return stem === undefined ? 0 : this.#vocabulary.listingsWith(stem)
  }

  #add(listing: Listing): number {
    const number = this.#freeNumbers.pop() ?? this.#listings.length
    if (number >= MAX_LISTINGS) {
      throw new ToolcribError(
        'config-invalid',
        `a search index can hold at most ${MAX_LISTINGS} tools; register fewer`,
      )
    }
    this.#listings[number] = listing
    this.#numbers?.set(listing, number)
    const vocabulary = this.#vocabulary
    const stems = new Set<number>()
    for (const [word, { frequency, fields }] of listingTerms(listing)) {
      const id = vocabulary.findOrAdd(word)
      vocabulary.postings.insert(id, toPosting(number, frequency), fields)
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
      if (id === undefined || !vocabulary.postings.remove(id, number)) continue
      stems.add(vocabulary.stemOf(id))
      if (vocabulary.postings.lengths[id] === 0) emptied.push(word)
    }
    for (const stem of stems) vocabulary.countListing(stem, -1)
    for (const word of emptied) vocabulary.forget(word)
    this.#listings[number] = undefined
    if (this.#numbers?.get(listing) === number) this.#numbers.delete(listing)
    this.#freeNumbers.push(number)
  }
}
