import { IMPACT_MASK, LISTING_SHIFT, type PostingLists, SATURATION } from './posting-lists.ts'
import { eachWord, STOP_WORDS } from './text-words.ts'
import type { Vocabulary } from './vocabulary.ts'

/** One stem of a query. */
export interface Term {
  /** A listing's gain from containing it to saturation. */
  readonly weight: number
  /** How much of the query it covers. */
  readonly cover: number
  /** Its words in the index, each with the extra gain for the exact word of the query. */
  readonly forms: readonly Form[]
}

export interface Form {
  readonly list: number
  readonly weight: number
}

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

/** Maximum words read of a query; later words of a very long text make no difference. */
const MAX_WORDS = 256

/** The bonus for the exact word of the query: `listing` and `list` share a stem but often not a meaning. */
const SAME_WORD = 0.5

/**
 * The gain of a repeated word: more than one occurrence, but far from twice, since long requests repeat their
 * subject.
 */
const REPEATED = 0.5

/** A word of a request, and how much it counts: 1 by default, less for a word that says little about the tool. */
export interface WeightedWord {
  readonly text: string
  readonly weight: number
  /** What the request says instead: a word of another language, or an everyday phrase. */
  readonly written?: string
  /** The word supplements the request, so it is not reported if no listing contains it. */
  readonly isAdded?: boolean
}

/** A term of the query and the positions of its words. */
export interface QueryTerm extends Term {
  readonly written: readonly number[]
}

/** Converts written words to index terms; stop words count only if there is nothing else. */
export function queryTerms(
  words: readonly WeightedWord[],
  vocabulary: Vocabulary,
  listings: number,
): QueryTerm[] {
  const terms = readTerms(words, vocabulary, listings, (word) => !STOP_WORDS.has(word))
  return terms.length > 0 ? terms : readTerms(words, vocabulary, listings, () => true)
}

function readTerms(
  words: readonly WeightedWord[],
  vocabulary: Vocabulary,
  listings: number,
  isRead: (word: string) => boolean,
): QueryTerm[] {
  const drafts = new Map<number | string, Draft>()
  const count = Math.min(words.length, MAX_WORDS)
  for (let place = 0; place < count; place++) {
    const { text = '', weight = 1 } = words[place] ?? {}
    eachWord(text, (word) => {
      if (!isRead(word)) return true
      const stem = vocabulary.findStem(word)
      const draft = drafts.get(stem ?? word)
      if (draft === undefined) drafts.set(stem ?? word, { stem, words: [word], written: [place], weight })
      else {
        draft.words.push(word)
        draft.written.push(place)
        draft.weight = Math.max(draft.weight, weight)
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
  /** The largest of its words' weights. */
  weight: number
}

function toTerm(
  { stem, words, written, weight }: Draft,
  vocabulary: Vocabulary,
  listings: number,
): QueryTerm {
  if (stem === undefined) return { weight: 0, cover: weight * rarity(0, listings), forms: [], written }
  const cover = weight * rarity(vocabulary.listingsWith(stem), listings)
  const emphasis = 1 + REPEATED * Math.log(words.length)
  const forms: Form[] = []
  for (let list = vocabulary.firstForm(stem); list !== undefined; list = vocabulary.nextForm(list)) {
    const isAsked = words.some((word) => vocabulary.find(word) === list)
    const held = vocabulary.postings.lengths[list] ?? 0
    forms.push({ list, weight: isAsked ? weight * SAME_WORD * emphasis * rarity(held, listings) : 0 })
  }
  return { weight: emphasis * cover, cover, forms, written }
}

/** Inverse document frequency of a word that `held` of `all` listings contain. */
function rarity(held: number, all: number): number {
  return Math.log(1 + (all - held + 0.5) / (held + 0.5))
}
