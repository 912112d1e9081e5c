import { splitName } from '../../names.ts'
import type { Listing } from '../../tool.ts'

/** Tool names have a handful of words; one with more than this is a word list. */
const MAX_NAME_WORDS = 12

/** A description with fewer words is too short to judge. */
const MIN_WORDS = 20

/** Sentences of any language contain short function words; a list of search terms does not. */
const SHORT_WORD = 3
/** A sentence or two may have few of them by chance; a long text has not. */
const MIN_SHORT_WORDS = { brief: 0.05, long: 0.1 }
const LONG_TEXT = 50

const MAX_CHARACTERS = 600

/** Whether a listing reads like a list of search terms rather than a name and a sentence. */
export function isWordList({ ownName, description }: Listing): boolean {
  if (splitName(ownName).length > MAX_NAME_WORDS) return true
  const words = description.slice(0, MAX_CHARACTERS).match(/[a-z]+/gi) ?? []
  if (words.length < MIN_WORDS) return false
  const short = words.filter((word) => word.length <= SHORT_WORD).length
  const expected = words.length < LONG_TEXT ? MIN_SHORT_WORDS.brief : MIN_SHORT_WORDS.long
  return short < expected * words.length
}
