import { STOP_WORDS, wordsOf } from '../lexical/text-words.ts'
import type { WeightedWord } from '../lexical/vocabulary.ts'
import { everydayVerbs } from './everyday-phrases.ts'
import { isForeignFunctionWord, soundsForeign, translated } from './other-languages.ts'
import type { Query } from './query.ts'

/**
 * The weight of a word inside a value (a quotation, a path, an address): it says what a tool works on, not what the
 * tool does, and in a large catalogue some tool is always about it. It counts even less if hardly any tool contains it:
 * a tool could be written to be found by such values.
 */
const VALUE_WEIGHT = 0.5
const RARE_VALUE_WEIGHT = 0.25
const RARE_BELOW = 3

/** The weight of a tool word that an everyday phrase of the request means. */
const EVERYDAY_WEIGHT = 0.5

/** The weight of a word that a misspelt one is read as: it may have been meant to be another. */
const MISSPELT_WEIGHT = 0.7

/** Maximum characters that an embedder reads of a query: enough for any request. */
const MAX_CHARACTERS = 2_000

/** A query as `hybrid` reads it. */
export interface Request {
  /** All free words. */
  readonly text: string
  /** The same without values, with everyday phrases and foreign words in the words of tools. */
  readonly plainText: string
  readonly words: readonly WeightedWord[]
  /** The things it asks for; empty if it is only one. */
  readonly parts: readonly RequestPart[]
  /** It is not in English, so what no tool contains need not be misspelt. */
  readonly isForeign: boolean
}

export interface RequestPart {
  readonly text: string
  readonly words: readonly WeightedWord[]
}

/** Reads a query. `holders` returns how many listings contain a word: only words that none contains are translated. */
export function readRequest(query: Query, holders: (word: string) => number): Request {
  const values = valueWords(query.text)
  const text = query.words.join(' ').slice(0, MAX_CHARACTERS)
  const isForeign = soundsForeign(query.words, (word) => wordsOf(word).every((one) => holders(one) === 0))
  const weigh = (words: readonly string[]) =>
    words.flatMap((word) => weighWord(word, values, holders, isForeign))
  const words = weigh(query.words)
  const added = everydayVerbs(text).map(
    ({ phrase, verb }): WeightedWord => ({
      text: verb,
      weight: EVERYDAY_WEIGHT,
      written: phrase,
      isAdded: true,
    }),
  )
  const plain = [...words.filter(({ weight }) => weight === 1), ...added].map((word) => word.text)
  const hasFilters =
    query.required.length + query.excluded.length + query.servers.length + query.phrases.length > 0
  const parts = hasFilters ? [] : requestParts(query.text)
  return {
    text,
    plainText: plain.length === 0 ? text : plain.join(' ').slice(0, MAX_CHARACTERS),
    words: [...words, ...added],
    parts: parts.map((part) => ({ text: part, words: weigh(part.split(/\s+/)) })),
    // Two words that no list of words knows are as likely to be misspelt.
    isForeign: isForeign && (query.words.length > 2 || words.some(({ written }) => written !== undefined)),
  }
}

/** Those of a request's words that may be misspelt: not names, nor words of values, nor those that stand for others. */
export function mayBeMisspelt({ words, isForeign }: Request, terms: readonly string[]): readonly string[] {
  if (isForeign || terms.length === 0) return []
  const isName = (text: string, at: number) => at > 0 && /^\p{Lu}/u.test(text)
  const candidates = words.filter((word, at) => isAsWritten(word) && !isName(word.text, at))
  const texts = new Set(candidates.map(({ text }) => text))
  return terms.filter((term) => texts.has(term))
}

/** The same request with misspelt words read as others. */
export function respelt(request: Request, meant: ReadonlyMap<string, string>): Request {
  if (meant.size === 0) return request
  const respell = (word: WeightedWord): WeightedWord => {
    const text = isAsWritten(word) ? meant.get(word.text) : undefined
    if (text === undefined) return word
    return { text, weight: MISSPELT_WEIGHT, written: word.text, isMisspelt: true }
  }
  const respellText = (text: string) =>
    text
      .split(' ')
      .map((word) => meant.get(word) ?? word)
      .join(' ')
  return {
    ...request,
    text: respellText(request.text),
    plainText: respellText(request.plainText),
    words: request.words.map(respell),
    parts: request.parts.map(({ text, words }) => ({ text, words: words.map(respell) })),
  }
}

function isAsWritten({ weight, written }: WeightedWord): boolean {
  return weight === 1 && written === undefined
}

function weighWord(
  word: string,
  values: ReadonlySet<string>,
  holders: (word: string) => number,
  isForeign: boolean,
): WeightedWord[] {
  const inside = wordsOf(word)
  const isValue = inside.length > 0 && inside.every((one) => values.has(one))
  if (isValue) {
    const isRare = inside.every((one) => holders(one) < RARE_BELOW)
    return [{ text: word, weight: isRare ? RARE_VALUE_WEIGHT : VALUE_WEIGHT }]
  }
  if (!isForeign || inside.some((one) => holders(one) > 0)) return [{ text: word, weight: 1 }]
  const meanings = translated(word)
  if (meanings.length > 0) return meanings.map((text) => ({ text, weight: 1, written: word }))
  return isForeignFunctionWord(word) ? [] : [{ text: word, weight: 1 }]
}

// Quotations (not apostrophes), <placeholders>, addresses, paths, file names, numbers.
const VALUE =
  /(?<![\p{L}\p{N}])'([^']{1,80})'(?!\p{L})|["“”„]([^"“”„]{1,80})["“”„]|`([^`]{1,80})`|<([^<>]{1,60})>|(\bhttps?:\S+)|([\w.+-]+@[\w.-]+)|([\w-]+(?:[./\\][\w-]+)+)|(#?\b\d[\d.,:-]*\b)/gu

/** The words that a request contains only inside values, in lower case: "the disk <disk name>" is about a disk. */
function valueWords(text: string): ReadonlySet<string> {
  const found = new Set<string>()
  const outside = text.slice(0, MAX_CHARACTERS).replace(VALUE, (...match) => {
    for (const word of wordsOf(match.slice(1).find(Boolean) ?? '')) found.add(word)
    return ' '
  })
  for (const word of wordsOf(outside)) found.delete(word)
  return found
}

/** Minimum words, besides stop words, for a part to have a meaning of its own. */
const MIN_TELLING_WORDS = 3

/** Further parts are read only as part of the whole. */
const MAX_PARTS = 6

// Boundaries between requests: sentences, clauses and conjunctions.
const BORDER =
  /(?:[.?!;\n]+(?:\s+|$)|,\s+|\s+(?=(?:and|then|also|as well as|plus)\s))(?:(?:and|then|also|as well as|plus)\s+)*/i

/**
 * Splits a request for several things into parts ("find the cheapest flight to Rome, then book it and mail me the
 * ticket"). Returns an empty list if it asks for one thing.
 */
export function requestParts(text: string): string[] {
  const parts = text
    .slice(0, MAX_CHARACTERS)
    .split(BORDER)
    .map((part) => part.trim())
  const telling = parts.filter((part) => tellingWords(part) >= MIN_TELLING_WORDS)
  return telling.length < 2 ? [] : telling.slice(0, MAX_PARTS)
}

function tellingWords(part: string): number {
  let count = 0
  for (const word of part.split(/\s+/)) if (!STOP_WORDS.has(word.toLowerCase())) count++
  return count
}
