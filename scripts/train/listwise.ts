/** The labelled queries of one set, with the features of their candidates. */
export interface QuestionSet {
  readonly name: string
  /** Sets of one family share a catalogue or an author, so they are left out together. */
  readonly family: string
  readonly questions: readonly Question[]
  /** How many features a row has. */
  readonly width: number
  /** All rows, those of one query after the other. */
  readonly rows: Float32Array
  /** By row: 1 if it is a right tool. */
  readonly isRight: Uint8Array
}

/** A query, and which rows are its candidates. */
export interface Question {
  /** How many tools there are. */
  readonly tools: number
  /** How many tools are right, found or not. */
  readonly relevant: number
  readonly start: number
  readonly end: number
}

/** Keeps weights small where the data do not decide, on the scale of standardised features. */
const DECAY = 0.02

/** Candidates of a query that training reads, the best by the present weights: the others are far behind. */
const BEST = 30

const MAX_STEPS = 25
const SETTLED = 1e-3

/**
 * Listwise training: the softmax over each query's candidates should give its probability to the right ones. The loss is
 * convex, so Newton's method finds the minimum in about ten steps. No weight becomes negative: more of a feature is never
 * worse, and a negative weight would only fit the noise of features that overlap.
 */
export function trainWeights(sets: readonly QuestionSet[], present: readonly number[]): number[] {
  const lessons = new Lessons(sets, present)
  const { width } = lessons
  let weights = new Float64Array(width)
  for (let step = 0; step < MAX_STEPS; step++) {
    const { loss, gradient, curvature } = lessons.slope(weights)
    const free = [...gradient.keys()].filter(
      (at) => (weights[at] as number) > 0 || (gradient[at] as number) < 0,
    )
    const move = solve(curvature, gradient, free, width)
    let size = 1
    let next = moved(weights, move, size)
    while (lessons.loss(next) > loss + 1e-9 && size > 0.05) {
      size /= 2
      next = moved(weights, move, size)
    }
    const change = next.reduce(
      (most, weight, at) => Math.max(most, Math.abs(weight - (weights[at] as number))),
      0,
    )
    weights = next
    if (change < SETTLED) break
  }
  return Array.from(weights, (weight, at) => weight / (lessons.scales[at] as number))
}

/** The share of the right tools among the first five candidates, in per cent. */
export function recallOf(set: QuestionSet, weights: readonly number[]): number {
  let sum = 0
  for (const question of set.questions) {
    const first = rankedRows(set, question, weights).slice(0, 5)
    sum += first.filter((row) => set.isRight[row] === 1).length / question.relevant
  }
  return (100 * sum) / Math.max(1, set.questions.length)
}

/** The rows of a query, best first. */
export function rankedRows(set: QuestionSet, { start, end }: Question, weights: readonly number[]): number[] {
  const rows = Array.from({ length: end - start }, (_, at) => ({
    row: start + at,
    sum: sumOf(set, start + at, weights),
  }))
  return rows.sort((a, b) => b.sum - a.sum).map(({ row }) => row)
}

export function sumOf({ rows, width }: QuestionSet, row: number, weights: readonly number[]): number {
  let sum = 0
  for (let at = 0; at < width; at++) sum += (rows[row * width + at] as number) * (weights[at] as number)
  return sum
}

/** What training reads of all sets: standardised features, and how much each query counts. */
class Lessons {
  readonly width: number
  readonly scales: Float64Array
  readonly #rows: Float64Array
  readonly #targets: Float64Array
  readonly #queries: { readonly start: number; readonly end: number; readonly share: number }[] = []

  constructor(sets: readonly QuestionSet[], present: readonly number[]) {
    this.width = present.length
    const sizes = new Map<string, number>()
    for (const { family, questions } of sets) sizes.set(family, (sizes.get(family) ?? 0) + questions.length)
    const values: number[] = []
    const targets: number[] = []
    let total = 0
    for (const set of sets) {
      // A large family says more than a small one, but far from in proportion.
      const share = 1 / Math.sqrt(sizes.get(set.family) ?? 1)
      for (const question of set.questions) {
        const kept = rankedRows(set, question, present).filter(
          (row, at) => at < BEST || set.isRight[row] === 1,
        )
        const right = kept.filter((row) => set.isRight[row] === 1).length
        // A query without a right candidate teaches nothing about order.
        if (right === 0) continue
        this.#queries.push({ start: targets.length, end: targets.length + kept.length, share })
        total += share
        for (const row of kept) {
          targets.push(set.isRight[row] === 1 ? 1 / right : 0)
          for (let at = 0; at < this.width; at++) values.push(set.rows[row * this.width + at] as number)
        }
      }
    }
    this.#queries = this.#queries.map((query) => ({ ...query, share: query.share / total }))
    this.#targets = Float64Array.from(targets)
    this.#rows = Float64Array.from(values)
    this.scales = this.#standardise()
  }

  loss(weights: Float64Array): number {
    let loss = 0
    for (const weight of weights) loss += (DECAY / 2) * weight * weight
    for (const { start, end, share } of this.#queries) {
      const { sums, logTotal } = this.#softmax(weights, start, end)
      loss += share * logTotal
      for (const [at, sum] of sums.entries()) loss -= share * (this.#targets[start + at] as number) * sum
    }
    return loss
  }

  /** The loss with its first and second derivatives. */
  slope(weights: Float64Array): { loss: number; gradient: Float64Array; curvature: Float64Array } {
    const { width } = this
    const gradient = weights.map((weight) => DECAY * weight)
    const curvature = new Float64Array(width * width)
    for (let at = 0; at < width; at++) curvature[at * width + at] = DECAY
    const mean = new Float64Array(width)
    for (const { start, end, share } of this.#queries) {
      const { sums, logTotal } = this.#softmax(weights, start, end)
      mean.fill(0)
      for (const [place, sum] of sums.entries()) {
        const chance = Math.exp(sum - logTotal)
        const from = (start + place) * width
        const error = share * (chance - (this.#targets[start + place] as number))
        for (let at = 0; at < width; at++) {
          const value = this.#rows[from + at] as number
          gradient[at] = (gradient[at] as number) + error * value
          mean[at] = (mean[at] as number) + chance * value
          for (let other = 0; other <= at; other++)
            add(curvature, at * width + other, share * chance * value * (this.#rows[from + other] as number))
        }
      }
      for (let at = 0; at < width; at++)
        for (let other = 0; other <= at; other++)
          add(curvature, at * width + other, -share * (mean[at] as number) * (mean[other] as number))
    }
    for (let at = 0; at < width; at++)
      for (let other = 0; other < at; other++)
        curvature[other * width + at] = curvature[at * width + other] as number
    return { loss: this.loss(weights), gradient, curvature }
  }

  #softmax(weights: Float64Array, start: number, end: number): { sums: number[]; logTotal: number } {
    const { width } = this
    const sums: number[] = []
    let highest = Number.NEGATIVE_INFINITY
    for (let row = start; row < end; row++) {
      let sum = 0
      for (let at = 0; at < width; at++)
        sum += (weights[at] as number) * (this.#rows[row * width + at] as number)
      sums.push(sum)
      highest = Math.max(highest, sum)
    }
    const total = sums.reduce((all, sum) => all + Math.exp(sum - highest), 0)
    return { sums, logTotal: highest + Math.log(total) }
  }

  /** Brings every feature to mean 0 and spread 1; returns the spreads. */
  #standardise(): Float64Array {
    const { width } = this
    const rows = this.#rows
    const count = rows.length / width
    const scales = new Float64Array(width)
    for (let at = 0; at < width; at++) {
      let [sum, squares] = [0, 0]
      for (let row = 0; row < count; row++) {
        const value = rows[row * width + at] as number
        sum += value
        squares += value * value
      }
      const mean = sum / count
      const scale = Math.sqrt(Math.max(1e-9, squares / count - mean * mean))
      scales[at] = scale
      for (let row = 0; row < count; row++)
        rows[row * width + at] = ((rows[row * width + at] as number) - mean) / scale
    }
    return scales
  }
}

function add(values: Float64Array, at: number, value: number): void {
  values[at] = (values[at] as number) + value
}

function moved(weights: Float64Array, move: Float64Array, size: number): Float64Array<ArrayBuffer> {
  return Float64Array.from(weights, (weight, at) => Math.max(0, weight - size * (move[at] as number)))
}

/** Solves curvature × move = gradient for the free weights, by elimination; the others do not move. */
export function solve(
  curvature: Float64Array,
  gradient: Float64Array,
  free: readonly number[],
  width: number,
): Float64Array {
  const system = free.map((row) => [
    ...free.map((column) => curvature[row * width + column] as number),
    gradient[row] as number,
  ])
  for (const [at, pivot] of system.entries()) {
    for (const [below, row] of system.entries()) {
      if (below === at) continue
      const factor = (row[at] as number) / (pivot[at] as number)
      for (let column = at; column < row.length; column++)
        row[column] = (row[column] as number) - factor * (pivot[column] as number)
    }
  }
  const move = new Float64Array(width)
  for (const [at, row] of system.entries())
    move[free[at] as number] = (row.at(-1) as number) / (row[at] as number)
  return move
}
