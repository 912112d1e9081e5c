import { product } from './source-means.ts'

/** The sizes of a catalogue between which it becomes a large one. */
const SMALL_CATALOGUE = 500
const LARGE_CATALOGUE = 5_000

/** How many vectors a catalogue has, and their mean. */
export interface Middle {
  readonly count: number
  readonly mean: Float32Array
}

/**
 * Cosines to some listings as seen from the middle of a large catalogue. What most of its tools have in common (they get,
 * list and create things) says little about any of them, so the mean of their vectors is taken off all vectors: in full
 * from 5,000 tools on, and not at all up to 500, whose mean would be chance.
 */
export class Centre {
  readonly #mean: Float32Array
  /** How much of the mean is taken off, 0 to 1. */
  readonly #share: number
  readonly #square: number
  readonly #similarities: Float64Array

  /** `similarities`: those of the mean to the listings. */
  constructor({ count, mean }: Middle, similarities: Float64Array) {
    this.#mean = mean
    this.#share = largenessOf(count)
    this.#square = this.#share ** 2 * product(mean, mean)
    this.#similarities = similarities
  }

  /** The cosines of a vector to the listings, given those that are not seen from the middle. */
  cosines(vector: Float32Array, similarities: Float64Array): Float64Array {
    if (this.#share === 0) return similarities
    const own = this.#share * product(vector, this.#mean)
    const ownSquare = 1 - 2 * own + this.#square
    return similarities.map((similarity, at) => {
      const part = this.#share * (this.#similarities[at] ?? 0)
      const square = ownSquare * (1 - 2 * part + this.#square)
      return square > 0 ? (similarity - own - part + this.#square) / Math.sqrt(square) : 0
    })
  }
}

/** The cosine from which texts are related as seen from the middle: that of the embedder with which scores were calibrated. */
const RELATED_FROM_MIDDLE = 0.2

/**
 * The cosine from which two texts are related as seen from the middle of a catalogue of `count` tools, given that without
 * it. Many embedders give any two texts a high cosine; seen from the middle, unrelated ones have about 0 with each.
 */
export function relatedFromMiddle(relatedFrom: number, count: number): number {
  const share = largenessOf(count)
  return (1 - share) * relatedFrom + share * Math.min(relatedFrom, RELATED_FROM_MIDDLE)
}

/** 0 for a small catalogue, 1 for a large one, on a logarithmic scale between. */
function largenessOf(count: number): number {
  const place = Math.log(Math.max(1, count) / SMALL_CATALOGUE) / Math.log(LARGE_CATALOGUE / SMALL_CATALOGUE)
  return Math.min(1, Math.max(0, place))
}
