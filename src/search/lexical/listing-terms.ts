import type { Listing } from '../../tool.ts'
import { FIELDS, fieldTexts } from './listing-fields.ts'
import { STOP_WORDS } from './stop-words.ts'
import { charactersOf, eachWord } from './text-words.ts'

/** Maximum times that a repeated word counts per field, so that stuffing gains little. */
const MAX_REPEATS = 5

/** The weighted words of one listing: each word's sum over the fields, and a bit per field that contains it. */
export type ListingTerms = ReadonlyMap<string, { frequency: number; fields: number }>

/**
 * Reads a listing into weighted words: each occurrence counts its field's weight, less in an unusually long field.
 * Equal listings give equal words, so that what was added can be removed again.
 */
export function listingTerms(listing: Listing): ListingTerms {
  const terms = new Map<string, { frequency: number; fields: number }>()
  const texts = fieldTexts(listing)
  for (const [at, field] of FIELDS.entries()) {
    const text = texts[at] ?? ''
    if (text === '') continue
    const counts = new Map<string, number>()
    let length = 0
    eachWord(text, (word) => {
      if (!field.keepsStopWords && STOP_WORDS.has(word)) return true
      counts.set(word, (counts.get(word) ?? 0) + 1)
      for (const character of charactersOf(word)) counts.set(character, 1)
      return ++length < field.maxWords
    })
    const unit = field.weight / (1 - field.dilution + (field.dilution * length) / field.usualWords)
    for (const [word, count] of counts) {
      const frequency = unit * Math.min(count, MAX_REPEATS)
      const term = terms.get(word)
      if (term === undefined) terms.set(word, { frequency, fields: 1 << at })
      else {
        term.frequency += frequency
        term.fields |= 1 << at
      }
    }
  }
  return terms
}
