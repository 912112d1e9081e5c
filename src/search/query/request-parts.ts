import { STOP_WORDS } from '../lexical/text-words.ts'

/** Minimum words, besides stop words, for a part to have a meaning of its own. */
const MIN_TELLING_WORDS = 3

/** Further parts are read only as part of the whole. */
const MAX_PARTS = 6

/** Further text is not split, which also limits the work of the pattern below. */
const MAX_CHARACTERS = 2_000

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
