import { type FineVector, type HeldRows, holdRows, refined } from '@toolcrib/core/internal'

/**
 * Changes the vectors of requests towards the tools that serve them: people ask in other words than tools describe
 * themselves. One hidden layer; what its units add is small compared with the vector.
 */
export class RequestNetwork {
  /** By unit: the scale of what it listens to times that of what it adds. */
  readonly #scales: Float32Array
  /** What each unit listens to. */
  readonly #listening: HeldRows
  /** What the units add to each place of a vector. */
  readonly #adding: HeldRows

  /** Rows of bytes and their scales: what each unit listens to, then what each adds. */
  constructor(values: Int8Array, scales: Float32Array, dimensions: number) {
    const units = scales.length / 2
    const end = units * dimensions
    this.#scales = scales.slice(0, units).map((scale, unit) => scale * (scales[units + unit] as number))
    this.#listening = holdRows({ values: values.subarray(0, end), dimensions })
    this.#adding = holdRows({ values: transposed(values.subarray(end), dimensions), dimensions: units })
  }

  /** The changed vectors, of length 1; zeros stay zeros. */
  changed(vectors: readonly Float32Array[]): Float32Array[] {
    const asked = vectors.map((vector) => refined(vector, vector.length))
    const products = this.#listening.products(asked.map(({ values }) => values))
    const active = products.map((ofUnits, at) => this.#activate(ofUnits, asked[at]?.scale ?? 0))
    const added = this.#adding.products(active.map(({ values }) => values))
    return vectors.map((vector, at) => sumOf(vector, added[at] as Int32Array, active[at]?.scale ?? 0))
  }

  /** How much of what each unit adds counts: as much as its product with the vector, and nothing if that is below zero. */
  #activate(products: Int32Array, scale: number): FineVector {
    const units = this.#scales.length
    const active = new Float32Array(units)
    for (let unit = 0; unit < units; unit++)
      active[unit] = Math.max(0, products[unit] as number) * scale * (this.#scales[unit] as number)
    return refined(active, units)
  }
}

/** A vector plus scaled numbers, of length 1. */
function sumOf(vector: Float32Array, added: Int32Array, scale: number): Float32Array {
  const sum = new Float32Array(vector.length)
  let square = 0
  for (let at = 0; at < sum.length; at++) {
    const value = (vector[at] as number) + (added[at] as number) * scale
    sum[at] = value
    square += value * value
  }
  const unit = square === 0 ? 0 : 1 / Math.sqrt(square)
  for (let at = 0; at < sum.length; at++) sum[at] = (sum[at] as number) * unit
  return sum
}

/** Rows of this length as columns. */
function transposed(values: Int8Array, length: number): Int8Array {
  const rows = values.length / length
  const columns = new Int8Array(values.length)
  for (let at = 0; at < values.length; at++)
    columns[(at % length) * rows + Math.floor(at / length)] = values[at] as number
  return columns
}
