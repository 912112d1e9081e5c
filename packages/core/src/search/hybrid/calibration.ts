import type { Fitting } from './fitting.ts'
import { FIT_UNIT, fitOf, WEIGHTS } from './ranker.ts'

/**
 * Turns fits into probabilities, fitted by scripts/train/calibration.ts. A match is right if the catalogue has a tool for
 * the request at all (`meaning`, `anything`), and if this is the one (`share`, `this`); its score is the product of both.
 *
 * Words do not answer the first question: in a small catalogue a common word is in one tool by chance, and that tool then
 * stands out among the others. The meaning does, so it alone decides there.
 */
export const CALIBRATION = { meaning: 8.14, anything: -2.17, share: 1, this: 1 }

/** Lower probabilities are not told apart, and none is shown as 0.00. */
const LEAST_SCORE = 0.01

/**
 * The probability that each candidate is right. Takes them best first; probabilities fall in the same order.
 * `relatedFrom`: the embedder's cosine from which two texts are related.
 */
export function calibratedScores(fitting: readonly Fitting[], relatedFrom: number): number[] {
  const [first] = fitting
  if (first === undefined) return []
  let total = 0
  for (const { fit } of fitting) total += Math.exp(FIT_UNIT * (fit - first.fit))
  const anything = chanceOfAnything(meaningOf(cosineOf(first), relatedFrom))
  return fitting.map(({ fit }) => {
    const chance = anything * chanceOfThis(FIT_UNIT * (fit - first.fit) - Math.log(total))
    return Math.max(LEAST_SCORE, Math.round(10_000 * chance) / 10_000)
  })
}

/** The first matches, one of which a model may choose. */
const FIRST = 5

/**
 * The probability that the catalogue has a tool for a request at all, whichever of the first matches it is: copies of a tool
 * share a score between them, and do not change this.
 */
export function answerableChance(fitting: readonly Fitting[], relatedFrom: number): number {
  let meaning = Number.NEGATIVE_INFINITY
  for (const match of fitting.slice(0, FIRST))
    meaning = Math.max(meaning, meaningOf(cosineOf(match), relatedFrom))
  return chanceOfAnything(meaning)
}

/** The probability that the catalogue has a tool for a request, by the meaning of the best match. */
function chanceOfAnything(meaning: number): number {
  return logistic(CALIBRATION.meaning * meaning + CALIBRATION.anything)
}

/** The probability that a candidate is the tool for a request, if there is one. `logShare`: the logarithm of its share of the softmax. */
function chanceOfThis(logShare: number): number {
  return logistic(CALIBRATION.share * logOddsOf(logShare) + CALIBRATION.this)
}

/** How much a match has the meaning of the request: 0 if they are barely related, 1 if they are the same, negative below. */
export function meaningOf(cosine: number, relatedFrom: number): number {
  return (cosine - relatedFrom) / Math.max(LEAST_RANGE, 1 - relatedFrom)
}

/** An embedder may call nothing but equal texts related. */
const LEAST_RANGE = 0.01

/** What memory adds to a match counts as much as the cosine that would add the same to its fit. */
function cosineOf({ candidate: { features }, fit, isRemembered }: Fitting): number {
  const lift = isRemembered ? Math.max(0, fit - fitOf(features)) : 0
  return Math.min(1, features.partMeaning + (FIT_UNIT * lift) / WEIGHTS.partMeaning)
}

/** No candidate is taken for more certain than this, however far it is ahead. */
const LEAST_REST = 0.002

/** How a candidate's share of the softmax enters its probability: the logarithm of its odds against all others. */
export function logOddsOf(logShare: number): number {
  return logShare - Math.log(Math.max(LEAST_REST, 1 - Math.exp(logShare)))
}

export function logistic(sum: number): number {
  return 1 / (1 + Math.exp(-sum))
}
