import { certaintyOf, type Features, logOddsOf, NOTHING_FITS } from '../../src/search/hybrid/ranker.ts'
import { type QuestionSet, rankedRows, sumOf } from './listwise.ts'

/** The places of a result that a user sees. */
const PLACES = 5
const STEPS = 400
const RATE = 0.05

/**
 * A catalogue cannot serve every request, and the labelled sets contain only requests that theirs can. So every query is
 * also read as one whose tools do not exist, and requests are asked that have nothing to do with the catalogue; these are
 * the shares of both beside the queries.
 */
const WITHOUT_TOOLS = 0.1
const STRANGERS = 0.3

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
  /** Among the matches of its query, from 0 on. */
  readonly place: number
}

/**
 * Fits the calibration of scores by logistic regression, on fits from weights trained without the set's family. Returns
 * the numbers, and how reliable the scores are: of `judged`, the share of right matches by tenths; of `strangers`, how many
 * get a first match of that score. The fitted share is that of all examples.
 */
export function trainCalibration(
  judged: readonly Judged[],
  strangers: readonly Judged[],
  names: readonly (keyof Features)[],
): string[] {
  const answered = judged.flatMap((one) => examplesOf(one, names, 1))
  const strange = strangers.flatMap((one) => examplesOf(one, names, STRANGERS))
  const withoutTools = judged.flatMap((one) => examplesOf(withoutRight(one), names, WITHOUT_TOOLS))
  const examples = [...answered, ...strange, ...withoutTools]
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
  return [
    ...inputs.map((name, at) => `${name}: ${(weights[at] as number).toFixed(2)},`),
    'scores   right: labelled  of all   first matches for strangers',
    ...reliabilityLines(answered, examples, strange, weights),
  ]
}

function reliabilityLines(
  answered: readonly Example[],
  all: readonly Example[],
  strange: readonly Example[],
  weights: readonly number[],
): string[] {
  const scoreOf = ({ inputs }: Example) =>
    1 / (1 + Math.exp(-inputs.reduce((all, value, at) => all + value * (weights[at] as number), 0)))
  const first = strange.filter(({ place }) => place === 0)
  return Array.from({ length: 10 }, (_, tenth) => {
    const isIn = (example: Example) => Math.min(9, Math.floor(10 * scoreOf(example))) === tenth
    const share = first.filter(isIn).length / Math.max(1, first.length)
    const cells = [rightShare(answered.filter(isIn)), rightShare(all.filter(isIn)), share]
    const text = cells.map((cell) => (Number.isNaN(cell) ? '–' : `${(100 * cell).toFixed(1)} %`).padStart(10))
    return `${(tenth / 10).toFixed(1)}–${((tenth + 1) / 10).toFixed(1)}${text.join('')}`
  })
}

function rightShare(examples: readonly Example[]): number {
  const total = examples.reduce((sum, { weight }) => sum + weight, 0)
  return examples.reduce((sum, { weight, isRight }) => sum + (isRight ? weight : 0), 0) / total
}

/** The set as if its tools did not exist: no right candidate is left. */
function withoutRight({ set, weights }: Judged): Judged {
  const { width } = set
  const kept = [...set.isRight.keys()].filter((row) => set.isRight[row] === 0)
  const rows = new Float32Array(kept.length * width)
  for (const [at, row] of kept.entries())
    rows.set(set.rows.subarray(row * width, (row + 1) * width), at * width)
  let next = 0
  const questions = set.questions.map((question) => {
    const start = next
    for (let row = question.start; row < question.end; row++) if (set.isRight[row] === 0) next++
    return { ...question, start, end: next }
  })
  return { set: { ...set, questions, rows, isRight: new Uint8Array(kept.length) }, weights }
}

function examplesOf({ set, weights }: Judged, names: readonly (keyof Features)[], share: number): Example[] {
  const cosineAt = names.indexOf('partMeaning')
  const coverageAt = names.indexOf('coverage')
  const weight = share / Math.sqrt(set.questions.length)
  return set.questions.flatMap((question) => {
    const rows = rankedRows(set, question, weights)
    const [best] = rows
    if (best === undefined) return []
    const bestSum = sumOf(set, best, weights)
    const nothing = Math.exp(NOTHING_FITS - bestSum)
    const total = rows.reduce((all, row) => all + Math.exp(sumOf(set, row, weights) - bestSum), nothing)
    const feature = (at: number) => set.rows[best * set.width + at] ?? 0
    const certainty = certaintyOf(feature(cosineAt), feature(coverageAt))
    return rows.slice(0, PLACES).map((row, place) => ({
      inputs: [logOddsOf(sumOf(set, row, weights) - bestSum - Math.log(total)), certainty, 1],
      isRight: set.isRight[row] === 1,
      weight,
      place,
    }))
  })
}
