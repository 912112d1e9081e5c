import type { TrainableTable } from './trainable-table.ts'

/** What someone may ask, and the text that answers it. */
export interface Pair {
  readonly asked: readonly number[]
  readonly answer: readonly number[]
  /** Pairs that share a key are no negatives of each other: one tool, or tools that are one but for their source. */
  readonly keys: readonly string[]
}

/** How sharply the best answer must stand out. */
const TEMPERATURE = 0.06

/** Questions to answers and answers to questions count the same. */
const DIRECTION_WEIGHT = 0.5

/**
 * One batch of contrastive learning: each question is pulled towards its answer and away from the answers of all the
 * others in the batch, and each answer likewise. Returns the mean loss.
 */
export function contrast(table: TrainableTable, pairs: readonly Pair[], strength: number): number {
  const size = table.dimensions
  const count = pairs.length
  const asked = new Float32Array(count * size)
  const answers = new Float32Array(count * size)
  const askedLengths = pairs.map((pair, at) => table.embed(pair.asked, asked, at * size))
  const answerLengths = pairs.map((pair, at) => table.embed(pair.answer, answers, at * size))

  const scores = products(asked, answers, count, size)
  const pulls = new Float32Array(count * count)
  const loss = softmaxPulls(scores, pulls, pairs)
  for (let at = 0; at < pulls.length; at++)
    pulls[at] = ((pulls[at] as number) * strength) / (TEMPERATURE * count)

  const askedPull = weightedSums(pulls, answers, count, size, false)
  const answerPull = weightedSums(pulls, asked, count, size, true)
  for (const [at, pair] of pairs.entries()) {
    table.learn(pair.asked, asked, at * size, askedLengths[at] as number, askedPull, at * size)
    table.learn(pair.answer, answers, at * size, answerLengths[at] as number, answerPull, at * size)
  }
  return loss / count
}

/** For each pair of rows, how much closer (or, below zero, further) they should be. Both directions are summed. */
function softmaxPulls(scores: Float32Array, pulls: Float32Array, pairs: readonly Pair[]): number {
  const count = pairs.length
  const isMasked = maskOf(pairs)
  const weights = scores.map((score, at) => (isMasked[at] === 1 ? 0 : Math.exp((score - 1) / TEMPERATURE)))
  let loss = 0
  for (const [stepOver, stepWithin] of [
    [count, 1],
    [1, count],
  ] as const) {
    for (let over = 0; over < count; over++) {
      let sum = 0
      for (let within = 0; within < count; within++)
        sum += weights[over * stepOver + within * stepWithin] as number
      for (let within = 0; within < count; within++) {
        const at = over * stepOver + within * stepWithin
        const share = (weights[at] as number) / sum
        pulls[at] = (pulls[at] as number) + DIRECTION_WEIGHT * ((over === within ? 1 : 0) - share)
        if (over === within) loss -= DIRECTION_WEIGHT * Math.log(share + 1e-9)
      }
    }
  }
  return loss
}

function maskOf(pairs: readonly Pair[]): Uint8Array {
  const count = pairs.length
  const mask = new Uint8Array(count * count)
  const byKey = new Map<string, number[]>()
  for (const [at, { keys }] of pairs.entries()) {
    for (const key of keys) {
      const others = byKey.get(key) ?? []
      for (const other of others) {
        mask[at * count + other] = 1
        mask[other * count + at] = 1
      }
      byKey.set(key, [...others, at])
    }
  }
  return mask
}

function products(a: Float32Array, b: Float32Array, count: number, size: number): Float32Array {
  const scores = new Float32Array(count * count)
  for (let row = 0; row < count; row++) {
    const left = row * size
    // Four columns at once: each value of the row is read once for all of them.
    for (let column = 0; column < count; column += 4) {
      const first = column * size
      const second = Math.min(column + 1, count - 1) * size
      const third = Math.min(column + 2, count - 1) * size
      const fourth = Math.min(column + 3, count - 1) * size
      let sum1 = 0
      let sum2 = 0
      let sum3 = 0
      let sum4 = 0
      for (let at = 0; at < size; at++) {
        const value = a[left + at] as number
        sum1 += value * (b[first + at] as number)
        sum2 += value * (b[second + at] as number)
        sum3 += value * (b[third + at] as number)
        sum4 += value * (b[fourth + at] as number)
      }
      const to = row * count + column
      scores[to] = sum1
      if (column + 1 < count) scores[to + 1] = sum2
      if (column + 2 < count) scores[to + 2] = sum3
      if (column + 3 < count) scores[to + 3] = sum4
    }
  }
  return scores
}

function weightedSums(
  weights: Float32Array,
  vectors: Float32Array,
  count: number,
  size: number,
  isTransposed: boolean,
): Float32Array {
  const sums = new Float32Array(count * size)
  for (let row = 0; row < count; row++) {
    for (let column = 0; column < count; column++) {
      const weight = weights[isTransposed ? column * count + row : row * count + column] as number
      if (Math.abs(weight) < 1e-6) continue
      const from = column * size
      const to = row * size
      for (let at = 0; at < size; at++)
        sums[to + at] = (sums[to + at] as number) + weight * (vectors[from + at] as number)
    }
  }
  return sums
}
