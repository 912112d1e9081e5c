import type { WeightedWord } from '../lexical/query-terms.ts'
import { wordsOf } from '../lexical/text-words.ts'
import { everydayVerbs } from './everyday-phrases.ts'
import { isForeignFunctionWord, soundsForeign, translated } from './other-languages.ts'
import { freeText, hasFilters, type Query } from './query.ts'
import { MAX_CHARACTERS, requestParts } from './request-parts.ts'
import { shownValue, type Value, valuesOf, valueWords } from './values.ts'

/**
 * The weight of a word inside a value (a quotation, a path, an address): it says what a tool works on, not what the
 * tool does, and in a large catalogue some tool is always about it.
 */
const VALUE_WEIGHT = 0.5

/** The weight of a tool word that the request implies: by an everyday phrase, or by the kind of a value. */
const IMPLIED_WEIGHT = 0.5

/** Maximum implied words: a request would otherwise be more about them than about itself. */
const MAX_IMPLIED = 6

/** The weight of a word that a misspelt one is read as: it may have been meant to be another. */
const MISSPELT_WEIGHT = 0.7

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
  const asked = unquoted(freeText(query).slice(0, MAX_CHARACTERS))
  const isToolWord = (word: string) => holders(word) > 0
  const values = valuesOf(asked, isToolWord)
  const inValues = valueWords(asked, values)
  const text = query.words.join(' ').slice(0, MAX_CHARACTERS)
  const isForeign = soundsForeign(query.words, (word) => !wordsOf(word).some(isToolWord))
  const weigh = (words: readonly string[]) =>
    words.flatMap((word) => weighWord(word, inValues, holders, isForeign))
  const words = weigh(query.words)
  const implied = impliedWords(text, values)
  const plain = [...words.filter(({ weight }) => weight === 1), ...implied].map((word) => word.text)
  const parts = hasFilters(query) ? [] : requestParts(asked)
  return {
    text,
    plainText: plain.length === 0 ? text : plain.join(' ').slice(0, MAX_CHARACTERS),
    words: [...words, ...implied],
    parts: parts.map((part) => ({ text: part, words: weigh(part.split(/\s+/)) })),
    // Two words that no list of words knows are as likely to be misspelt.
    isForeign: isForeign && (query.words.length > 2 || words.some(({ written }) => written !== undefined)),
  }
}

/** A request that is one quotation, without its marks. */
function unquoted(text: string): string {
  return /^\s*["“”„]([^"“”„]*)["“”„]\s*$/u.exec(text)?.[1] ?? text
}

/** The words of tools that a text implies: those that its everyday phrases mean, and the kinds of its values. */
function impliedWords(text: string, values: readonly Value[]): WeightedWord[] {
  const implied = new Map(everydayVerbs(text).map(({ phrase, verb }) => [verb, phrase]))
  const own = new Set(values.length === 0 ? [] : wordsOf(text))
  for (const value of values)
    for (const word of value.implies)
      if (!own.has(word) && !implied.has(word)) implied.set(word, shownValue(value))
  return Array.from(implied, ([word, written]) => ({
    text: word,
    weight: IMPLIED_WEIGHT,
    written,
    isAdded: true,
  })).slice(0, MAX_IMPLIED)
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
  if (values.size === 0 && !isForeign) return [{ text: word, weight: 1 }]
  const inside = wordsOf(word)
  if (inside.length > 0 && inside.every((one) => values.has(one)))
    return [{ text: word, weight: VALUE_WEIGHT }]
  if (!isForeign || inside.some((one) => holders(one) > 0)) return [{ text: word, weight: 1 }]
  const meanings = translated(word)
  if (meanings.length > 0) return meanings.map((text) => ({ text, weight: 1, written: word }))
  return isForeignFunctionWord(word) ? [] : [{ text: word, weight: 1 }]
}
