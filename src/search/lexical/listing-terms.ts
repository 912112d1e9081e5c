import type { Listing } from '../../tool.ts'
import { FIELDS, fieldTexts } from './listing-fields.ts'
import { STOP_WORDS } from './stop-words.ts'
import { charactersOf, eachWord } from './text-words.ts'

/** A word repeated in one field counts this often at most, whatever its author hoped for. */
const MAX_REPEATS = 5

/** How the words of one listing weigh: by word, the sum over the fields, and a bit for each field it stands in. */
export type ListingTerms = ReadonlyMap<string, { frequency: number; fields: number }>

/**
 * Reads a listing into weighted words: each occurrence counts the weight of its field, less in a field longer than
 * usual. The same listing always gives the same words, so that what was added can be removed again.
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
