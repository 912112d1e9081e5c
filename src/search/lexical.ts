import { ToolcribError } from '../errors.ts'
import type { Listing } from '../tool.ts'
import { FIELDS, listingTerms } from './lexical/listing-terms.ts'
import { type Form, Scoreboard, type Term } from './lexical/scoreboard.ts'
import { eachWord, STOP_WORDS } from './lexical/text-words.ts'
import { LISTING_SHIFT, MAX_LISTINGS, toPosting, Vocabulary } from './lexical/vocabulary.ts'
import type { Query } from './query/query.ts'
import {
  acceptEvery,
  type Ranked,
  type Ranking,
  type RankOptions,
  type Searcher,
  type SearchIndex,
} from './searcher.ts'
import { compareNames } from './top-matches.ts'

/** The share of a listing's score that is proportional to how much of the query it covers. */
const COVERAGE = 0.5

/**
 * BM25F over name, hint, description, parameters and server: matches whole words and their stems, weights rare words
 * higher, saturates repetition, and rewards covering more of the query. Built for large catalogues: an update touches
 * only what changed, and a query creates almost no garbage.
 */
export function lexical(): Searcher {
  return { name: 'lexical', open: () => new LexicalIndex() }
}

class LexicalIndex implements SearchIndex {
  readonly #vocabulary = new Vocabulary()
  readonly #board = new Scoreboard()
  /** By number. The numbers of removed listings are reused. */
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
    const terms = queryTerms(query.words, this.#vocabulary, this.#listings.length - this.#freeNumbers.length)
    this.#board.begin(this.#listings.length)
    let wholeCover = 0
    for (const term of terms) {
      wholeCover += term.cover
      this.#board.add(term, postings)
    }
    const total = accepts === acceptEvery ? this.#board.touchedCount : this.#refuse(accepts)
    const best = this.#best(limit, wholeCover)
    const isHeld = (term: QueryTerm): boolean => this.#board.isHeld(term, postings)
    return {
      total,
      matches: this.#explain(best, query.words, terms),
      unmatchedTerms: unmatchedWords(query.words, terms, isHeld),
    }
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

  /** Removes rejected listings from the scoreboard; returns how many are left. */
  #refuse(accepts: RankOptions['accepts']): number {
    const board = this.#board
    let kept = 0
    for (let at = 0; at < board.touchedCount; at++) {
      const number = board.touched[at] as number
      const listing = this.#listings[number]
      if (listing !== undefined && accepts(listing)) board.touched[kept++] = number
      else board.refuse(number)
    }
    board.touchedCount = kept
    return kept
  }

  #best(limit: number, wholeCover: number): Best[] {
    const { scores, covers, touched, touchedCount } = this.#board
    const best: Best[] = []
    let leastScore = 0
    for (let at = 0; at < touchedCount; at++) {
      const number = touched[at] as number
      const coverage = (covers[number] as number) / wholeCover
      const score = (scores[number] as number) * (1 - COVERAGE + COVERAGE * coverage)
      if (score < leastScore) continue
      const listing = this.#listings[number]
      if (listing === undefined) continue
      insert(best, { listing, number, score }, limit)
      if (best.length === limit) leastScore = best[limit - 1]?.score ?? 0
    }
    return best
  }

  #explain(best: readonly Best[], words: readonly string[], terms: readonly QueryTerm[]): Ranked[] {
    const numbers = best.map(({ number }) => number)
    const fields = this.#board.fieldsOf(terms, numbers, this.#vocabulary.postings)
    return best.map(({ listing, score }, place) => {
      const reasons: string[] = []
      for (let at = 0; at < terms.length; at++) {
        const held = fields[at]?.[place] ?? 0
        if (held > 0) reasons.push(`"${words[terms[at]?.written[0] ?? 0]}" in ${FIELD_LABELS[held]}`)
      }
      return { listing, score: Math.round(score * 1000) / 1000, reasons }
    })
  }
}

interface Best {
  readonly listing: Listing
  readonly number: number
  readonly score: number
}

function insert(best: Best[], match: Best, limit: number): void {
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

function isBefore(a: Best, b: Best | undefined): boolean {
  if (b === undefined || a.score !== b.score) return b === undefined || a.score > b.score
  if (a.listing.trust !== b.listing.trust) return a.listing.trust > b.listing.trust
  return compareNames(a.listing.name, b.listing.name) < 0
}

/** Words that match nothing, as written. */
function unmatchedWords(
  words: readonly string[],
  terms: readonly QueryTerm[],
  isHeld: (term: QueryTerm) => boolean,
): string[] {
  const held = terms.filter(isHeld)
  if (held.length === terms.length) return []
  const matched = new Set(held.flatMap((term) => term.written))
  const read = new Set(terms.flatMap((term) => term.written))
  return [...new Set(words.filter((_, place) => read.has(place) && !matched.has(place)))]
}

/** Field names for reasons, indexed by field bits. */
const FIELD_LABELS: readonly string[] = Array.from({ length: 1 << FIELDS.length }, (_, fields) =>
  FIELDS.filter((_, at) => (fields & (1 << at)) !== 0)
    .map(({ label }) => label)
    .join(', '),
)

/** Maximum words read of a query; later words of a very long text make no difference. */
const MAX_WORDS = 256

/** The bonus for the exact word of the query: `listing` and `list` share a stem but often not a meaning. */
const SAME_WORD = 0.5

/**
 * The gain of a repeated word: more than one occurrence, but far from twice, since long requests repeat their
 * subject.
 */
const REPEATED = 0.5

/** A term of the query and the positions of its words. */
export interface QueryTerm extends Term {
  readonly written: readonly number[]
}

/** Converts written words to index terms; stop words count only if there is nothing else. */
export function queryTerms(words: readonly string[], vocabulary: Vocabulary, listings: number): QueryTerm[] {
  const terms = readTerms(words, vocabulary, listings, (word) => !STOP_WORDS.has(word))
  return terms.length > 0 ? terms : readTerms(words, vocabulary, listings, () => true)
}

function readTerms(
  words: readonly string[],
  vocabulary: Vocabulary,
  listings: number,
  isRead: (word: string) => boolean,
): QueryTerm[] {
  const drafts = new Map<number | string, Draft>()
  const count = Math.min(words.length, MAX_WORDS)
  for (let place = 0; place < count; place++) {
    eachWord(words[place] ?? '', (word) => {
      if (!isRead(word)) return true
      const stem = vocabulary.findStem(word)
      const draft = drafts.get(stem ?? word)
      if (draft === undefined) drafts.set(stem ?? word, { stem, words: [word], written: [place] })
      else {
        draft.words.push(word)
        draft.written.push(place)
      }
      return true
    })
  }
  const terms: QueryTerm[] = []
  for (const draft of drafts.values()) terms.push(toTerm(draft, vocabulary, listings))
  return terms
}

/** The query's words that share a stem; no stem if the index contains none of them. */
interface Draft {
  readonly stem: number | undefined
  readonly words: string[]
  readonly written: number[]
}

function toTerm({ stem, words, written }: Draft, vocabulary: Vocabulary, listings: number): QueryTerm {
  if (stem === undefined) return { weight: 0, cover: rarity(0, listings), forms: [], written }
  const cover = rarity(vocabulary.listingsWith(stem), listings)
  const emphasis = 1 + REPEATED * Math.log(words.length)
  const forms: Form[] = []
  for (let list = vocabulary.firstForm(stem); list !== undefined; list = vocabulary.nextForm(list)) {
    const isAsked = words.some((word) => vocabulary.find(word) === list)
    const held = vocabulary.postings.lengths[list] ?? 0
    forms.push({ list, weight: isAsked ? SAME_WORD * emphasis * rarity(held, listings) : 0 })
  }
  return { weight: emphasis * cover, cover, forms, written }
}

/** Inverse document frequency of a word that `held` of `all` listings contain. */
function rarity(held: number, all: number): number {
  return Math.log(1 + (all - held + 0.5) / (held + 0.5))
}
