/**
 * One posting in 32 bits: the number of a listing, a bit for each field the word stands in, and its impact, which is
 * how far its weighted frequency has come on the way to saturation.
 */
export const LISTING_SHIFT = 14
export const MAX_LISTINGS = 1 << (32 - LISTING_SHIFT)
const FIELD_SHIFT = 8
const FIELD_MASK = (1 << (LISTING_SHIFT - FIELD_SHIFT)) - 1
export const IMPACT_MASK = (1 << FIELD_SHIFT) - 1

/**
 * The weighted frequency that is worth half of the most a word can bring. Higher than for prose, where 1.2 is usual:
 * one occurrence in a name alone is 2.5 here.
 */
const HALF_SATURATION = 2

export function toPosting(listing: number, fields: number, frequency: number): number {
  const saturated = frequency / (frequency + HALF_SATURATION)
  // The root spends more of the few steps on faint words, where they make a difference.
  const impact = Math.min(IMPACT_MASK, Math.max(1, Math.round(Math.sqrt(saturated) * (IMPACT_MASK + 1))))
  return ((listing << LISTING_SHIFT) | (fields << FIELD_SHIFT) | impact) >>> 0
}

export function fieldsOf(posting: number): number {
  return (posting >>> FIELD_SHIFT) & FIELD_MASK
}

/** By impact: the share of the most a word can bring, below 1. */
export const SATURATION: Float64Array = Float64Array.from(
  { length: IMPACT_MASK + 1 },
  (_, impact) => (impact / (IMPACT_MASK + 1)) ** 2,
)
