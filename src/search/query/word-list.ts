import { splitName } from '../../names.ts'
import type { Listing } from '../../tool.ts'

/** Tool names have a handful of words; one with more than this is a word list. */
const MAX_NAME_WORDS = 12

/** A description with fewer words is too short to judge. */
const MIN_WORDS = 20

/** Sentences of any language contain short function words; a list of search terms does not. */
const SHORT_WORD = 3
const MIN_SHORT_WORDS = 0.1

const MAX_CHARACTERS = 600

/** Whether a listing reads like a list of search terms rather than a name and a sentence. */
export function isWordList({ ownName, description }: Listing): boolean {
  if (splitName(ownName).length > MAX_NAME_WORDS) return true
  const words = description.slice(0, MAX_CHARACTERS).match(/[a-z]+/gi) ?? []
  if (words.length < MIN_WORDS) return false
  const short = words.filter((word) => word.length <= SHORT_WORD).length
  return short < MIN_SHORT_WORDS * words.length
}
