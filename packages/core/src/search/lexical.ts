import { ToolcribError } from '../errors.ts'
import type { Listing } from '../tool.ts'
import { listingTerms } from './lexical/listing-terms.ts'
import { MAX_LISTINGS, toPosting } from './lexical/posting-lists.ts'
import { queryTerms, type WeightedWord } from './lexical/query-terms.ts'
import { TopKScorer } from './lexical/top-k-scorer.ts'
import { type SavedWords, Vocabulary } from './lexical/vocabulary.ts'
import { WordScan } from './lexical/word-scan.ts'
import { type IdChange, ListingIds, type Numbered } from './listing-ids.ts'
import type { Query } from './query/query.ts'
import type { Ranking, RankOptions, Searcher, SearchIndex } from './searcher.ts'

/**
 * BM25F over name, hint, description, parameters and server: matches whole words and their stems, weights rare words
 * higher, saturates repetition, and rewards covering more of the query. Built for large catalogues: an update touches
 * only what changed, and a query reads common words only where a listing can still be among the best.
 */
export function lexical(): Searcher {
  return { name: 'lexical', open: () => new LexicalIndex() }
}

/** The index of `lexical`, which `hybrid` uses too. */
export class LexicalIndex implements SearchIndex {
  readonly #vocabulary = new Vocabulary()
  readonly #scorer = new TopKScorer()
  readonly #numbers: ListingIds

  /** `numbers` may be shared with another index, whose owner then passes on each change of them. */
  constructor(numbers: ListingIds = new ListingIds()) {
    this.#numbers = numbers
  }

  update(source: string, listings: readonly Listing[]): void {
    this.change(this.#numbers.update(source, listings))
  }

  /** Applies a change of the numbers. */
  change({ removed, added }: IdChange): void {
    for (const numbered of removed) this.#remove(numbered)
    for (const numbered of added) this.#add(numbered)
    this.#vocabulary.postings.compactIfSparse()
  }

  rank(query: Query, { limit, accepts, countsAll = true }: RankOptions): Ranking {
    const scan = this.scan(
      query.words.map((text) => ({ text, weight: 1 })),
      accepts,
    )
    const best = scan.best(limit, { countsAll })
    const reasons = scan.reasonsOf(best)
    return {
      total: countsAll ? scan.countAll() : best.length,
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
    const { listings, size } = this.#numbers
    const terms = queryTerms(words, this.#vocabulary, size)
    return new WordScan({
      words,
      terms,
      scorer: this.#scorer,
      vocabulary: this.#vocabulary,
      listings,
      accepts,
    })
  }

  /** The words with their postings; `numbers` gives the new number of each listing. */
  pack(numbers: Uint32Array): SavedWords {
    return this.#vocabulary.pack(numbers)
  }

  /** Takes over the words of `pack`, without those of listings that are marked as gone. It must be empty. */
  adopt(words: SavedWords, isGone: Uint8Array | undefined): void {
    this.#vocabulary.adopt(words, isGone)
  }

  /** All words of the listings. */
  words(): Iterable<string> {
    return this.#vocabulary.words()
  }

  /** How many listings contain the word or one with the same stem. */
  holders(word: string): number {
    const stem = this.#vocabulary.findStem(word)
    return stem === undefined ? 0 : this.#vocabulary.listingsWith(stem)
  }

  #add({ number, listing }: Numbered): void {
    if (number >= MAX_LISTINGS) {
      throw new ToolcribError(
        'config-invalid',
        `a search index can hold at most ${MAX_LISTINGS} tools; register fewer`,
      )
    }
    const vocabulary = this.#vocabulary
    const stems = new Set<number>()
    for (const [word, { frequency, fields }] of listingTerms(listing)) {
      const id = vocabulary.findOrAdd(word)
      vocabulary.postings.insert(id, toPosting(number, frequency), fields)
      stems.add(vocabulary.stemOf(id))
    }
    for (const stem of stems) vocabulary.countListing(stem, 1)
  }

  #remove({ number, listing }: Numbered): void {
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
  }
}
