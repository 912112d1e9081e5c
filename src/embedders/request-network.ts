/**
 * Changes the vector of a request towards the tools that serve it: people ask in other words than tools describe
 * themselves. One hidden layer; what its units add is small beside the vector.
 */
export class RequestNetwork {
  /** What each unit listens to, then what each adds: a row each, as long as a vector. */
  readonly #rows: Float32Array
  readonly #units: number

  constructor(rows: Float32Array, units: number) {
    this.#rows = rows
    this.#units = units
  }

  /** The changed vector, of length 1; zeros stay zeros. */
  changed(vector: Float32Array): Float32Array {
    const size = vector.length
    const changed = Float32Array.from(vector)
    for (let unit = 0; unit < this.#units; unit++) {
      const active = product(vector, this.#rows, unit * size)
      if (active > 0) add(changed, active, this.#rows, (this.#units + unit) * size)
    }
    const square = product(changed, changed, 0)
    if (square === 0) return changed
    const scale = 1 / Math.sqrt(square)
    for (let at = 0; at < size; at++) changed[at] = (changed[at] as number) * scale
    return changed
  }
}

/** Four sums at a time: one takes twice as long. */
function product(vector: Float32Array, rows: Float32Array, start: number): number {
  let [first, second, third, fourth] = [0, 0, 0, 0]
  const end = vector.length
  let at = 0
  for (; at + 3 < end; at += 4) {
    first += (vector[at] as number) * (rows[start + at] as number)
    second += (vector[at + 1] as number) * (rows[start + at + 1] as number)
    third += (vector[at + 2] as number) * (rows[start + at + 2] as number)
    fourth += (vector[at + 3] as number) * (rows[start + at + 3] as number)
  }
  for (; at < end; at++) first += (vector[at] as number) * (rows[start + at] as number)
  return first + second + third + fourth
}

/** Four values at a time, as in the product. */
function add(into: Float32Array, times: number, rows: Float32Array, start: number): void {
  const end = into.length
  let at = 0
  for (; at + 3 < end; at += 4) {
    into[at] = (into[at] as number) + times * (rows[start + at] as number)
    into[at + 1] = (into[at + 1] as number) + times * (rows[start + at + 1] as number)
    into[at + 2] = (into[at + 2] as number) + times * (rows[start + at + 2] as number)
    into[at + 3] = (into[at + 3] as number) + times * (rows[start + at + 3] as number)
  }
  for (; at < end; at++) into[at] = (into[at] as number) + times * (rows[start + at] as number)
}
