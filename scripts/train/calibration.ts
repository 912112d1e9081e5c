import { certaintyOf, type Features, NOTHING_FITS } from '../../src/search/hybrid/ranker.ts'
import { type QuestionSet, sumOf } from './listwise.ts'

/** The places of a result that a user sees. */
const PLACES = 5
const STEPS = 400
const RATE = 0.05

/**
 * Every query is also read as one whose tools do not exist, at this weight: a catalogue cannot serve every request, and
 * the labelled sets contain only requests that theirs can.
 */
const UNANSWERABLE = 0.2

/** The place of the constant among the inputs: the only one that may be negative. */
const CONSTANT = 2

interface Example {
  readonly inputs: readonly number[]
  readonly isRight: boolean
  readonly weight: number
}

/** Fits the calibration of scores by logistic regression, on fits from weights trained without the set's family. */
export function trainCalibration(sets: readonly QuestionSet[], names: readonly (keyof Features)[]): string[] {
  const examples = sets.flatMap((set) => [...examplesOf(set, names, true), ...examplesOf(set, names, false)])
  const inputs = ['share', 'certainty', 'constant']
  const weights = [0.5, 1, 0]
  const first = weights.map(() => 0)
  const second = weights.map(() => 0)
  const total = examples.reduce((sum, { weight }) => sum + weight, 0)
  for (let step = 1; step <= STEPS; step++) {
    const gradient = weights.map(() => 0)
    for (const { inputs: values, isRight, weight } of examples) {
      const sum = values.reduce((all, value, at) => all + value * (weights[at] as number), 0)
      const error = (weight * (1 / (1 + Math.exp(-sum)) - (isRight ? 1 : 0))) / total
      for (let at = 0; at < weights.length; at++)
        gradient[at] = (gradient[at] as number) + error * (values[at] as number)
    }
    for (let at = 0; at < weights.length; at++) {
      const slope = gradient[at] as number
      first[at] = 0.9 * (first[at] as number) + 0.1 * slope
      second[at] = 0.999 * (second[at] as number) + 0.001 * slope * slope
      const size = Math.sqrt((second[at] as number) / (1 - 0.999 ** step)) + 1e-8
      const moved = (weights[at] as number) - (RATE * (first[at] as number)) / (1 - 0.9 ** step) / size
      weights[at] = at === CONSTANT ? moved : Math.max(0, moved)
    }
  }
  return inputs.map((name, at) => `${name}: ${(weights[at] as number).toFixed(2)},`)
}

function examplesOf(set: QuestionSet, names: readonly (keyof Features)[], isAnswerable: boolean): Example[] {
  const cosineAt = names.indexOf('partMeaning')
  const coverageAt = names.indexOf('coverage')
  const weight = (isAnswerable ? 1 : UNANSWERABLE) / Math.sqrt(set.questions.length)
  return set.questions.flatMap(({ rows }) => {
    const kept = isAnswerable ? rows : rows.filter(({ isRight }) => !isRight)
    const judged = kept
      .map((row) => ({ ...row, fit: sumOf(row.features, set.weights ?? []) }))
      .sort((a, b) => b.fit - a.fit)
    const [best] = judged
    if (best === undefined) return []
    const nothing = Math.exp(NOTHING_FITS - best.fit)
    const sum = judged.reduce((all, { fit }) => all + Math.exp(fit - best.fit), nothing)
    return judged.slice(0, PLACES).map(({ fit, isRight }) => ({
      inputs: [
        fit - best.fit - Math.log(sum),
        certaintyOf(best.features[cosineAt] ?? 0, best.features[coverageAt] ?? 0),
        1,
      ],
      isRight,
      weight,
    }))
  })
}
