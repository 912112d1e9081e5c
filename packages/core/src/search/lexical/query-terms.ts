import { eachWord, STOP_WORDS } from './text-words.ts'
import type { Vocabulary } from './vocabulary.ts'

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
  /** What the request says instead: a word of another language, an everyday phrase, or a misspelt word. */
  readonly written?: string
  readonly isMisspelt?: boolean
  /** The word supplements the request, so it is not reported if no listing contains it. */
  readonly isAdded?: boolean
}

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
