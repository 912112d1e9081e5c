import { STOP_WORDS } from '../lexical/stop-words.ts'

/** A part says something of its own when it has this many words beside stop words. */
const MIN_TELLING_WORDS = 3

/** Parts beyond these are read as part of the whole only. */
const MAX_PARTS = 6

/** What follows is not split any more, which also bounds the work of the pattern below. */
const MAX_CHARACTERS = 2_000

// Where one request ends and the next begins: sentences, clauses, and words that join them.
const BORDER =
  /(?:[.?!;\n]+(?:\s+|$)|,\s+|\s+(?=(?:and|then|also|as well as|plus)\s))(?:(?:and|then|also|as well as|plus)\s+)*/i

/**
 * The parts of a request that asks for several things ("find the cheapest flight to Rome, then book it and mail me the
 * ticket"); none when it asks for one.
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
