/** What the ranker knows about a candidate. Each feature is about 0 to 1. */
export interface Features {
  /** The share of the request's words that it contains, weighted by rarity; words of values count half. */
  readonly coverage: number
  /**
   * Score by words relative to the best, in a long request; 0 in one of up to four words. The vector of a long text is
   * vague, while its words stay exact.
   */
  readonly longWords: number
  /** Score by words relative to the best, for the part of the request that it matches best. */
  readonly partWords: number
  /** Cosine to the request without its values, relative to the best; seen from the centre in a request for one thing. */
  readonly plainMeaning: number
  /**
   * Cosine to the part of the request that it matches best; in a request for one thing, the mean of those with and without
   * values, seen from the centre of the catalogue (centre.ts).
   */
  readonly partMeaning: number
  /**
   * One divided by its place among the matches of the part of the request where it comes first: of several things asked
   * for, each has a tool, also the one whose words are common. 0 in a request for one thing.
   */
  readonly partPlace: number
  /** How many parameters it has, up to eight, on a logarithmic scale. */
  readonly parameters: number
}

/**
 * Fitted by scripts/train/listwise.ts; models/README.md says on what. The sum orders the
 * candidates; one unit of it multiplies the odds of a candidate against the others by e.
 */
export const WEIGHTS: Features = {
  coverage: 4.54,
  longWords: 1.09,
  partWords: 0.2,
  plainMeaning: 2.26,
  partMeaning: 3.71,
  partPlace: 1.03,
  parameters: 0.68,
}

/** Brings sums into the range of 0 to about 1. */
export const FIT_UNIT = 20

/** How well a candidate fits, 0 to about 1. */
export function fitOf(features: Features): number {
  const sum =
    WEIGHTS.coverage * features.coverage +
    WEIGHTS.longWords * features.longWords +
    WEIGHTS.partWords * features.partWords +
    WEIGHTS.plainMeaning * features.plainMeaning +
    WEIGHTS.partMeaning * features.partMeaning +
    WEIGHTS.partPlace * features.partPlace +
    WEIGHTS.parameters * features.parameters
  return Math.max(0, sum / FIT_UNIT)
}
