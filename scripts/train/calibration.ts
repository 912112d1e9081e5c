import {
  CALIBRATION,
  logistic,
  logOddsOf,
  meaningOf,
} from '../../packages/core/src/search/hybrid/calibration.ts'
import type { Features } from '../../packages/core/src/search/hybrid/ranker.ts'
import { RELATED_FROM } from '../../packages/embedder/src/static-embedder.ts'
import { type QuestionSet, rankedRows, solve, sumOf } from './listwise.ts'
import { type Answer, type Lesson, type Place, reliabilityLines, SHARES } from './reliability.ts'

/** The places of a result that a user sees. */
const PLACES = 5

/** A set, weights trained without its family, and what its requests are. */
export interface Judged {
  readonly set: QuestionSet
  readonly weights: readonly number[]
  readonly lesson: Lesson
}

/** The four numbers of packages/core/src/search/hybrid/calibration.ts. */
type Calibration = typeof CALIBRATION

/**
 * Fits the calibration of scores, on fits from weights trained without the set's family: the numbers under which the right
 * and wrong first matches are most likely. Returns them, and how reliable the scores of each family are with
 * numbers fitted without it.
 */
export function trainCalibration(judged: readonly Judged[], names: readonly (keyof Features)[]): string[] {
  const removed = judged
    .filter(({ lesson }) => lesson === 'labelled')
    .map((one): Judged => ({ ...withoutRight(one), lesson: 'tools removed' }))
  const asked = [...judged, ...removed].flatMap((one) => answersOf(one, names))
  const fitted = numbersFor(asked)
  const leftOut = [...new Set(asked.map(({ family }) => family))].map((family) => ({
    answers: asked.filter((one) => one.family === family),
    numbers: numbersFor(asked.filter((one) => one.family !== family)),
  }))
  const scored = (numbers: (family: number) => Calibration) =>
    leftOut.flatMap(({ answers }, at) => answers.map((one) => withScores(one, numbers(at))))
  return [
    ...Object.entries(fitted).map(([name, value]) => `${name}: ${value.toFixed(2)},`),
    'With numbers fitted without the family:',
    ...reliabilityLines(scored((at) => leftOut[at]?.numbers ?? fitted)),
    'With the present numbers:',
    ...reliabilityLines(scored(() => CALIBRATION)),
  ]
}

const STEPS = 30

/** The most likely numbers, by Fisher scoring, which is Newton's method with the expected second derivatives. */
function numbersFor(asked: readonly Unscored[]): Calibration {
  let numbers = START
  for (let step = 0; step < STEPS; step++) {
    const gradient = new Float64Array(NUMBERS.length)
    const curvature = new Float64Array(NUMBERS.length ** 2)
    for (const { meaning, places, weight } of asked) {
      const anything = logistic(numbers.meaning * meaning + numbers.anything)
      for (const { logOdds, isRight } of places.slice(0, 1)) {
        const chosen = logistic(numbers.share * logOdds + numbers.this)
        const score = Math.min(1 - LEAST_DOUBT, Math.max(LEAST_DOUBT, anything * chosen))
        const spread = weight / (score * (1 - score))
        const error = spread * (score - (isRight ? 1 : 0))
        const byAnything = score * (1 - anything)
        const byChosen = score * (1 - chosen)
        const slopes = [byAnything * meaning, byAnything, byChosen * logOdds, byChosen]
        for (const [at, slope] of slopes.entries()) {
          gradient[at] = (gradient[at] as number) + error * slope
          for (const [other, second] of slopes.entries()) {
            const cell = at * NUMBERS.length + other
            curvature[cell] = (curvature[cell] as number) + spread * slope * second
          }
        }
      }
    }
    const move = solve(curvature, gradient, [...NUMBERS.keys()], NUMBERS.length)
    numbers = moved(numbers, move)
  }
  return numbers
}

const START: Calibration = { meaning: 5, anything: -1, share: 1, this: 0 }
const NUMBERS = Object.keys(START) as (keyof Calibration)[]

/** Keeps the slopes finite. */
const LEAST_DOUBT = 1e-6

/** No number moves further in one step: the first steps would overshoot. */
const MAX_MOVE = 0.5

function moved(numbers: Calibration, move: Float64Array): Calibration {
  const next = { ...numbers }
  for (const [at, name] of NUMBERS.entries())
    next[name] -= Math.max(-MAX_MOVE, Math.min(MAX_MOVE, move[at] as number))
  return next
}

function withScores({ meaning, places, ...one }: Unscored, numbers: Calibration): Answer {
  const anything = logistic(numbers.meaning * meaning + numbers.anything)
  return {
    ...one,
    places: places.map(
      ({ logOdds, isRight }): Place => ({
        score: anything * logistic(numbers.share * logOdds + numbers.this),
        isRight,
      }),
    ),
  }
}

/** A request as the calibration sees it. */
interface Unscored extends Omit<Answer, 'places'> {
  readonly meaning: number
  readonly places: readonly { readonly logOdds: number; readonly isRight: boolean }[]
}

function answersOf({ set, weights, lesson }: Judged, names: readonly (keyof Features)[]): Unscored[] {
  const cosineAt = names.indexOf('partMeaning')
  const weight = SHARES[lesson] / Math.sqrt(set.questions.length)
  return set.questions.flatMap((question) => {
    const rows = rankedRows(set, question, weights)
    const [best] = rows
    if (best === undefined) return []
    const bestSum = sumOf(set, best, weights)
    const total = rows.reduce((all, row) => all + Math.exp(sumOf(set, row, weights) - bestSum), 0)
    return {
      family: set.family,
      lesson,
      tools: question.tools,
      weight,
      meaning: meaningOf(set.rows[best * set.width + cosineAt] ?? 0, RELATED_FROM),
      places: rows.slice(0, PLACES).map((row) => ({
        logOdds: logOddsOf(sumOf(set, row, weights) - bestSum - Math.log(total)),
        isRight: set.isRight[row] === 1,
      })),
    }
  })
}

/** The set as if its tools did not exist: no right candidate is left. */
function withoutRight({ set, ...rest }: Judged): Judged {
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
  return { ...rest, set: { ...set, questions, rows, isRight: new Uint8Array(kept.length) } }
}
