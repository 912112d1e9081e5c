/** What the ranker knows about a candidate. Each feature is about 0 to 1. */
export interface Features {
  /** The share of the request's words that it contains, weighted by rarity; words of values count half or a quarter. */
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
  /** How well the best match of its server fits, relative to the best of all: a request is often for one server. */
  readonly server: number
}

/**
 * Fitted by scripts/train/listwise.ts; models/README.md says on what, and what each weight does. The sum orders the
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
  server: 0.47,
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
    WEIGHTS.parameters * features.parameters +
    WEIGHTS.server * features.server
  return Math.max(0, sum / FIT_UNIT)
}

/**
 * Turns fits into probabilities, fitted by scripts/train/calibration.ts: how much a candidate stands out among the
 * others, and how certainly the first one is about the request at all.
 */
const CALIBRATION = { share: 0.97, certainty: 0.83, constant: -0.28 }

/** Cosines: the best tool for a request is seldom below the first, and texts below the second have nothing in common. */
const SURE_FROM = 0.6
const UNRELATED_BELOW = 0.12

/**
 * How certainly a listing is about a request, 0 to 1: it has the meaning of the request, or contains its words. Squared,
 * since a little of either proves nothing.
 */
export function certaintyOf(cosine: number, coverage: number): number {
  const meaning = (cosine - UNRELATED_BELOW) / (SURE_FROM - UNRELATED_BELOW)
  return Math.min(1, Math.max(0, meaning, coverage)) ** 2
}

/** No candidate is taken for more certain than this, however far it is ahead. */
const LEAST_REST = 0.002

/** How a candidate's share of the softmax enters its probability: the logarithm of its odds against all others. */
export function logOddsOf(logShare: number): number {
  return logShare - Math.log(Math.max(LEAST_REST, 1 - Math.exp(logShare)))
}

interface Judged {
  readonly candidate: { readonly features: Features; readonly similarity: number }
  readonly fit: number
}

/**
 * The sum of a candidate that means "none of them": in a small catalogue the best of a few poor ones would
 * otherwise stand out.
 */
export const NOTHING_FITS = 6

/** Lower probabilities are not told apart, and none is shown as 0.00. */
const LEAST_SCORE = 0.01

/** The probability that each candidate is right. Takes them best first; probabilities fall in the same order. */
export function calibratedScores(fitting: readonly Judged[]): number[] {
  const [first] = fitting
  if (first === undefined) return []
  let sum = Math.exp(NOTHING_FITS - FIT_UNIT * first.fit)
  for (const { fit } of fitting) sum += Math.exp(FIT_UNIT * (fit - first.fit))
  const { share, certainty, constant } = CALIBRATION
  const { partMeaning, coverage } = first.candidate.features
  const known = constant + certainty * certaintyOf(partMeaning, coverage)
  return fitting.map(({ fit }) => {
    const logShare = FIT_UNIT * (fit - first.fit) - Math.log(sum)
    const chance = 1 / (1 + Math.exp(-known - share * logOddsOf(logShare)))
    return Math.max(LEAST_SCORE, Math.round(10_000 * chance) / 10_000)
  })
}
