import { seededRandom } from './random.ts'
import { rowProducts, transposed } from './row-products.ts'

const FIRST_MOMENT = 0.9
const SECOND_MOMENT = 0.999
const TINY = 1e-8

/** What units listen to starts large, and what they add starts at zero, so the first moves in larger steps. */
const INWARD_STEP = 8
const DECAY = 0.01

/**
 * The network of `RequestNetwork`, while it learns. In each batch, a random share of what it adds counts: the table then
 * stays good without it, and with the share of the finished network.
 */
export class TrainableNetwork {
  readonly #size: number
  readonly #inward: Weights
  readonly #outward: Weights
  readonly #random: () => number
  #batch: Batch | undefined
  #steps = 0

  constructor(dimensions: number, units: number, seed: number) {
    const random = seededRandom(seed)
    this.#size = dimensions
    this.#random = random
    this.#inward = weights(Float32Array.from({ length: units * dimensions }, () => bellShaped(random)))
    this.#outward = weights(new Float32Array(dimensions * units))
  }

  /** Changes vectors of length 1, in place; the next call must be `learn`. */
  change(vectors: Float32Array): void {
    const size = this.#size
    const before = Float32Array.from(vectors)
    const share = this.#random()
    const active = rowProducts(before, this.#inward.values, size).map((value) => Math.max(0, value))
    const added = rowProducts(active, this.#outward.values, this.#units)
    const lengths = new Float32Array(vectors.length / size)
    for (const row of lengths.keys()) {
      let square = 0
      for (let at = row * size; at < (row + 1) * size; at++) {
        vectors[at] = (before[at] as number) + share * (added[at] as number)
        square += (vectors[at] as number) ** 2
      }
      const length = Math.sqrt(square) + TINY
      lengths[row] = length
      for (let at = row * size; at < (row + 1) * size; at++) vectors[at] = (vectors[at] as number) / length
    }
    this.#batch = { before, active, share, lengths }
  }

  /**
   * Receives how the changed vectors should change further, and returns the vectors before the change and how these
   * should: the network learns its part.
   */
  learn(changed: Float32Array, pulls: Float32Array): { before: Float32Array; pulls: Float32Array } {
    if (this.#batch === undefined) throw new Error('nothing was changed')
    const { before, active, share, lengths } = this.#batch
    const size = this.#size
    const units = this.#units
    const count = lengths.length
    const across = new Float32Array(pulls.length)
    for (const [row, length] of lengths.entries()) {
      let along = 0
      for (let at = row * size; at < (row + 1) * size; at++)
        along += (pulls[at] as number) * (changed[at] as number)
      for (let at = row * size; at < (row + 1) * size; at++)
        across[at] = ((pulls[at] as number) - along * (changed[at] as number)) / length
    }
    const turned = transposed(across, count, size).map((value) => share * value)
    this.#outward.gradient = rowProducts(turned, transposed(active, count, units), count)
    const unitPulls = rowProducts(across, transposed(this.#outward.values, size, units), size)
    for (let at = 0; at < unitPulls.length; at++)
      unitPulls[at] = (active[at] as number) > 0 ? share * (unitPulls[at] as number) : 0
    this.#inward.gradient = rowProducts(
      transposed(unitPulls, count, units),
      transposed(before, count, size),
      count,
    )
    const inner = rowProducts(unitPulls, transposed(this.#inward.values, units, size), units)
    return { before, pulls: across.map((value, at) => value + (inner[at] as number)) }
  }

  step(rate: number): void {
    this.#steps++
    move(this.#inward, rate, INWARD_STEP, this.#steps)
    move(this.#outward, rate, 1, this.#steps)
  }

  /** The rows of `RequestNetwork`, which adds this share of what the network learned to add. */
  rows(share: number): Float32Array {
    const outward = transposed(this.#outward.values, this.#size, this.#units).map((value) => share * value)
    const rows = new Float32Array(this.#inward.values.length + outward.length)
    rows.set(this.#inward.values)
    rows.set(outward, this.#inward.values.length)
    return rows
  }

  get #units(): number {
    return this.#inward.values.length / this.#size
  }
}

interface Batch {
  readonly before: Float32Array
  /** How active each unit is, by vector. */
  readonly active: Float32Array
  readonly share: number
  readonly lengths: Float32Array
}

interface Weights {
  readonly values: Float32Array
  gradient: Float32Array
  readonly first: Float32Array
  readonly second: Float32Array
}

function weights(values: Float32Array): Weights {
  const zeros = (): Float32Array => new Float32Array(values.length)
  return { values, gradient: zeros(), first: zeros(), second: zeros() }
}

/** One step of Adam. */
function move({ values, gradient, first, second }: Weights, rate: number, size: number, steps: number): void {
  const firstScale = 1 / (1 - FIRST_MOMENT ** steps)
  const secondScale = 1 / (1 - SECOND_MOMENT ** steps)
  for (let at = 0; at < values.length; at++) {
    const slope = gradient[at] as number
    const mean = FIRST_MOMENT * (first[at] as number) + (1 - FIRST_MOMENT) * slope
    const square = SECOND_MOMENT * (second[at] as number) + (1 - SECOND_MOMENT) * slope * slope
    first[at] = mean
    second[at] = square
    const change = (size * mean * firstScale) / (Math.sqrt(square * secondScale) + TINY)
    values[at] = (values[at] as number) + rate * (change - DECAY * (values[at] as number))
  }
}

/** About a normal distribution, with mean 0 and variance 1. */
function bellShaped(random: () => number): number {
  let sum = -6
  for (let at = 0; at < 12; at++) sum += random()
  return sum
}
