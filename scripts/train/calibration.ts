import { certaintyOf, type Features, NOTHING_FITS } from '../../src/search/hybrid/ranker.ts'
import { type QuestionSet, rankedRows, sumOf } from './listwise.ts'

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

/** A set, and weights trained without its family. */
interface Judged {
  readonly set: QuestionSet
  readonly weights: readonly number[]
}

interface Example {
  readonly inputs: readonly number[]
  readonly isRight: boolean
  readonly weight: number
}

/** Fits the calibration of scores by logistic regression, on fits from weights trained without the set's family. */
export function trainCalibration(judged: readonly Judged[], names: readonly (keyof Features)[]): string[] {
  const examples = judged.flatMap((one) => [
    ...examplesOf(one, names, true),
    ...examplesOf(one, names, false),
  ])
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

function examplesOf(
  { set, weights }: Judged,
  names: readonly (keyof Features)[],
  isAnswerable: boolean,
): Example[] {
  const cosineAt = names.indexOf('partMeaning')
  const coverageAt = names.indexOf('coverage')
  const weight = (isAnswerable ? 1 : UNANSWERABLE) / Math.sqrt(set.questions.length)
  return set.questions.flatMap((question) => {
    const ranked = rankedRows(set, question, weights)
    const rows = isAnswerable ? ranked : ranked.filter((row) => set.isRight[row] === 0)
    const [best] = rows
    if (best === undefined) return []
    const bestSum = sumOf(set, best, weights)
    const nothing = Math.exp(NOTHING_FITS - bestSum)
    const total = rows.reduce((all, row) => all + Math.exp(sumOf(set, row, weights) - bestSum), nothing)
    const feature = (at: number) => set.rows[best * set.width + at] ?? 0
    const certainty = certaintyOf(feature(cosineAt), feature(coverageAt))
    return rows.slice(0, PLACES).map((row) => ({
      inputs: [sumOf(set, row, weights) - bestSum - Math.log(total), certainty, 1],
      isRight: set.isRight[row] === 1,
      weight,
    }))
  })
}
