/** A query, its candidates, and which of them are right. */
export interface Question {
  /** How many tools are right, found or not. */
  readonly relevant: number
  readonly rows: readonly { readonly isRight: boolean; readonly features: Float64Array }[]
}

export interface QuestionSet {
  readonly name: string
  /** Sets of one family share a catalogue or an author, so they are left out together. */
  readonly family: string
  readonly questions: readonly Question[]
  /** Weights trained without the family. */
  readonly weights?: readonly number[]
}

const STEPS = 200
const RATE = 0.08
/** Keeps weights small where the data do not decide. */
const DECAY = 0.02

/**
 * Listwise training: the softmax over each query's candidates should give its probability to the right ones. Adam on
 * standardised features; a family counts by the square root of its size.
 */
export function trainWeights(sets: readonly QuestionSet[], width: number): number[] {
  const { means, scales } = spread(sets, width)
  const lessons = lessonsOf(sets, width, means, scales)
  const total = lessons.reduce((sum, { weight }) => sum + weight, 0)
  const weights = new Float64Array(width)
  const first = new Float64Array(width)
  const second = new Float64Array(width)
  const gradient = new Float64Array(width)
  for (let step = 1; step <= STEPS; step++) {
    for (let at = 0; at < width; at++) gradient[at] = DECAY * (weights[at] as number)
    for (const lesson of lessons) addGradient(lesson, weights, gradient, lesson.weight / total)
    for (let at = 0; at < width; at++) {
      const slope = gradient[at] as number
      first[at] = 0.9 * (first[at] as number) + 0.1 * slope
      second[at] = 0.999 * (second[at] as number) + 0.001 * slope * slope
      const size = Math.sqrt((second[at] as number) / (1 - 0.999 ** step)) + 1e-8
      const moved = (weights[at] as number) - (RATE * (first[at] as number)) / (1 - 0.9 ** step) / size
      // More of a feature is never worse: a negative weight would only fit the noise of features that overlap.
      weights[at] = Math.max(0, moved)
    }
  }
  return Array.from(weights, (weight, at) => weight / (scales[at] as number))
}

/** The share of the right tools among the first five candidates, in per cent. */
export function recallOf({ questions }: QuestionSet, weights: readonly number[]): number {
  let sum = 0
  for (const { relevant, rows } of questions) {
    const scored = rows.map(({ isRight, features }) => ({ isRight, fit: sumOf(features, weights) }))
    const first = scored.sort((a, b) => b.fit - a.fit).slice(0, 5)
    sum += first.filter(({ isRight }) => isRight).length / relevant
  }
  return (100 * sum) / Math.max(1, questions.length)
}

export function sumOf(features: Float64Array, weights: ArrayLike<number>): number {
  let sum = 0
  for (let at = 0; at < features.length; at++) sum += (features[at] as number) * (weights[at] as number)
  return sum
}

interface Lesson {
  /** Standardised features, one row after the other. */
  readonly rows: Float64Array
  readonly targets: Float64Array
  readonly weight: number
}

function addGradient(lesson: Lesson, weights: Float64Array, gradient: Float64Array, share: number): void {
  const { rows, targets } = lesson
  const width = weights.length
  const count = targets.length
  const chances = new Float64Array(count)
  let highest = Number.NEGATIVE_INFINITY
  for (let row = 0; row < count; row++) {
    let fit = 0
    for (let at = 0; at < width; at++) fit += (weights[at] as number) * (rows[row * width + at] as number)
    chances[row] = fit
    highest = Math.max(highest, fit)
  }
  let sum = 0
  for (let row = 0; row < count; row++) sum += chances[row] = Math.exp((chances[row] as number) - highest)
  for (let row = 0; row < count; row++) {
    const error = share * ((chances[row] as number) / sum - (targets[row] as number))
    for (let at = 0; at < width; at++)
      gradient[at] = (gradient[at] as number) + error * (rows[row * width + at] as number)
  }
}

/** Queries without a right candidate teach nothing about order. */
function lessonsOf(
  sets: readonly QuestionSet[],
  width: number,
  means: Float64Array,
  scales: Float64Array,
): Lesson[] {
  const sizes = new Map<string, number>()
  for (const { family, questions } of sets) sizes.set(family, (sizes.get(family) ?? 0) + questions.length)
  return sets.flatMap(({ family, questions }) =>
    questions.flatMap(({ rows }) => {
      const right = rows.filter(({ isRight }) => isRight).length
      if (right === 0) return []
      const standard = new Float64Array(rows.length * width)
      for (const [row, { features }] of rows.entries())
        for (let at = 0; at < width; at++)
          standard[row * width + at] =
            ((features[at] as number) - (means[at] as number)) / (scales[at] as number)
      const targets = Float64Array.from(rows, ({ isRight }) => (isRight ? 1 / right : 0))
      return [{ rows: standard, targets, weight: 1 / Math.sqrt(sizes.get(family) ?? 1) }]
    }),
  )
}

function spread(sets: readonly QuestionSet[], width: number): { means: Float64Array; scales: Float64Array } {
  const means = new Float64Array(width)
  const squares = new Float64Array(width)
  let count = 0
  for (const { questions } of sets)
    for (const { rows } of questions)
      for (const { features } of rows) {
        count++
        for (let at = 0; at < width; at++) {
          means[at] = (means[at] as number) + (features[at] as number)
          squares[at] = (squares[at] as number) + (features[at] as number) ** 2
        }
      }
  for (let at = 0; at < width; at++) means[at] = (means[at] as number) / count
  const scales = squares.map((sum, at) => Math.sqrt(Math.max(1e-9, sum / count - (means[at] as number) ** 2)))
  return { means, scales }
}
