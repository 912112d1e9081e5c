/**
 * One posting in 32 bits: a listing's number, a bit per field that contains the word, and the impact, which is its
 * weighted frequency on a saturating scale.
 */
export const LISTING_SHIFT = 14
export const MAX_LISTINGS = 1 << (32 - LISTING_SHIFT)
const FIELD_SHIFT = 8
const FIELD_MASK = (1 << (LISTING_SHIFT - FIELD_SHIFT)) - 1
export const IMPACT_MASK = (1 << FIELD_SHIFT) - 1

/**
 * The weighted frequency that earns half of a word's maximum. Higher than the usual 1.2 for prose, since a single
 * occurrence in a name already counts 2.5 here.
 */
const HALF_SATURATION = 2

export function toPosting(listing: number, fields: number, frequency: number): number {
  const saturated = frequency / (frequency + HALF_SATURATION)
  // The square root gives rare words more of the few steps, where they matter.
  const impact = Math.min(IMPACT_MASK, Math.max(1, Math.round(Math.sqrt(saturated) * (IMPACT_MASK + 1))))
  return ((listing << LISTING_SHIFT) | (fields << FIELD_SHIFT) | impact) >>> 0
}

export function fieldsOf(posting: number): number {
  return (posting >>> FIELD_SHIFT) & FIELD_MASK
}

/** By impact: the share of a word's maximum, below 1. */
export const SATURATION: Float64Array = Float64Array.from(
  { length: IMPACT_MASK + 1 },
  (_, impact) => (impact / (IMPACT_MASK + 1)) ** 2,
)
