import { type ByteRows, openProducts, type RowProducts, refined } from '../search/vectors/row-products.ts'

/**
 * Changes the vectors of requests towards the tools that serve them: people ask in other words than tools describe
 * themselves. One hidden layer; what its units add is small beside the vector.
 */
export class RequestNetwork {
  readonly #units: number
  /** What each unit listens to, a row of bytes with a scale. */
  readonly #listening: ByteRows & Scaled
  /** What the units add to each place of a vector: a row for each place, a scale for each unit. */
  readonly #adding: ByteRows & Scaled
  readonly #toUnits: RowProducts
  readonly #toPlaces: RowProducts
  readonly #everyUnit: readonly number[]
  readonly #everyPlace: readonly number[]

  /** Rows of bytes and their scales: what each unit listens to, then what each adds. */
  constructor(values: Int8Array, scales: Float32Array, dimensions: number) {
    const units = scales.length / 2
    this.#units = units
    this.#listening = { values, dimensions, scales: scales.subarray(0, units) }
    const added = values.subarray(units * dimensions)
    this.#adding = {
      values: transposed(added, dimensions),
      dimensions: units,
      scales: scales.subarray(units),
    }
    this.#toUnits = openProducts(dimensions)
    this.#toPlaces = openProducts(units)
    this.#everyUnit = Array.from({ length: units }, (_, unit) => unit)
    this.#everyPlace = Array.from({ length: dimensions }, (_, place) => place)
  }

  /** The changed vectors, of length 1; zeros stay zeros. */
  changed(vectors: readonly Float32Array[]): Float32Array[] {
    const asked = vectors.map((vector) => refined(vector, vector.length))
    const heard = this.#toUnits.products(
      this.#listening,
      this.#everyUnit,
      asked.map(({ values }) => values),
    )
    const active = heard.map((products, at) => {
      const active = new Float32Array(this.#units)
      for (let unit = 0; unit < active.length; unit++) {
        const scale = (this.#listening.scales[unit] as number) * (this.#adding.scales[unit] as number)
        active[unit] = Math.max(0, products[unit] as number) * (asked[at]?.scale ?? 0) * scale
      }
      return refined(active, this.#units)
    })
    const added = this.#toPlaces.products(
      this.#adding,
      this.#everyPlace,
      active.map(({ values }) => values),
    )
    return vectors.map((vector, at) => sumOf(vector, added[at] as Int32Array, active[at]?.scale ?? 0))
  }
}

interface Scaled {
  readonly scales: Float32Array
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
