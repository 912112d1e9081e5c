import { rowProducts, transposed } from './row-products.ts'
import type { TrainableNetwork } from './trainable-network.ts'
import type { TrainableTable } from './trainable-table.ts'

/** A possible question, and the text that answers it. */
export interface Pair {
  readonly asked: readonly number[]
  readonly answer: readonly number[]
  /**
   * Pairs that share a key are not negatives of each other: the same tool, or tools that differ only in their source.
   */
  readonly keys: readonly string[]
}

/** How sharply the best answer must stand out. */
const TEMPERATURE = 0.06

/** Both directions, questions to answers and answers to questions, have the same weight. */
const DIRECTION_WEIGHT = 0.5

/**
 * One batch of contrastive learning: pulls each question towards its answer and away from all other answers in the
 * batch, and each answer likewise. With a network, it changes the questions first. Returns the mean loss.
 */
export function contrast(
  table: TrainableTable,
  pairs: readonly Pair[],
  strength: number,
  network?: TrainableNetwork,
): number {
  const size = table.dimensions
  const count = pairs.length
  const asked = new Float32Array(count * size)
  const answers = new Float32Array(count * size)
  const askedLengths = pairs.map((pair, at) => table.embed(pair.asked, asked, at * size))
  const answerLengths = pairs.map((pair, at) => table.embed(pair.answer, answers, at * size))
  network?.change(asked)

  const scores = rowProducts(asked, answers, size)
  const pulls = new Float32Array(count * count)
  const loss = softmaxPulls(scores, pulls, pairs)
  for (let at = 0; at < pulls.length; at++)
    pulls[at] = ((pulls[at] as number) * strength) / (TEMPERATURE * count)

  const askedPull = rowProducts(pulls, transposed(answers, count, size), count)
  const answerPull = rowProducts(transposed(pulls, count, count), transposed(asked, count, size), count)
  const read = network?.learn(asked, askedPull) ?? { before: asked, pulls: askedPull }
  for (const [at, pair] of pairs.entries()) {
    table.learn(pair.asked, read.before, at * size, askedLengths[at] as number, read.pulls, at * size)
    table.learn(pair.answer, answers, at * size, answerLengths[at] as number, answerPull, at * size)
  }
  return loss / count
}

/**
 * For each pair of rows, how much closer (or, if negative, further apart) they should be. Both directions are summed.
 */
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
