import {
  op,
  openModule,
  V128,
  type WasmFunction,
} from '../../packages/core/src/search/vectors/wasm-module.ts'
import { FLOAT_BYTES, floats, forEachStep, LANES, PAGE_BYTES } from './wasm-floats.ts'

const FIRST_MOMENT = 0.9
const SECOND_MOMENT = 0.999
const TINY = 1e-8

/**
 * A trainable token table. A text's vector is the sum of its tokens' rows, scaled to length 1. Steps use Adam, only
 * for the rows that a batch touched. The rows are in the memory of WebAssembly, which adds and moves them.
 */
export class TrainableTable {
  readonly dimensions: number
  readonly rows: Float32Array
  /** How the vector of one text should change, or a vector while its rows are added. */
  readonly #vector: Float32Array
  /** The sizes of a step of Adam: that of the mean, and that of the mean square. */
  readonly #sizes: Float32Array
  readonly #gradient: Float32Array
  readonly #first: Float32Array
  readonly #second: Float32Array
  readonly #kernel: TableKernel
  readonly #steps: Uint32Array
  readonly #touched = new Set<number>()

  /** Copies `rows`; `dimensions` is a multiple of four. */
  constructor(rows: Float32Array, dimensions: number) {
    if (dimensions % LANES !== 0)
      throw new RangeError(`${dimensions} dimensions are not a multiple of ${LANES}`)
    const parts = [dimensions, LANES, rows.length, rows.length, rows.length, rows.length]
    const count = parts.reduce((sum, length) => sum + length, 0)
    const memory = new WebAssembly.Memory({ initial: Math.ceil((count * FLOAT_BYTES) / PAGE_BYTES) })
    let start = 0
    const take = (length: number): Float32Array => {
      const part = new Float32Array(memory.buffer, start, length)
      start += part.byteLength
      return part
    }
    this.dimensions = dimensions
    this.#vector = take(dimensions)
    this.#sizes = take(LANES)
    this.rows = take(rows.length)
    this.rows.set(rows)
    this.#gradient = take(rows.length)
    this.#first = take(rows.length)
    this.#second = take(rows.length)
    this.#kernel = openKernel(memory)
    this.#steps = new Uint32Array(rows.length / dimensions)
  }

  /** Writes a text's vector into `into` at `start`; returns its length before scaling. */
  embed(tokens: readonly number[], into: Float32Array, start: number): number {
    const { dimensions: size } = this
    const sum = this.#vector
    sum.fill(0)
    for (const token of tokens) this.#add(addressOf(this.rows, token * size), addressOf(sum))
    let square = 0
    for (let at = 0; at < size; at++) square += (sum[at] as number) ** 2
    const length = Math.sqrt(square) + TINY
    for (let at = 0; at < size; at++) into[start + at] = (sum[at] as number) / length
    return length
  }

  /** Receives how a text's vector should change (`pull`, against its loss) and distributes it over the text's rows. */
  learn(
    tokens: readonly number[],
    vectors: Float32Array,
    start: number,
    length: number,
    pull: Float32Array,
    pullStart: number,
  ): void {
    const size = this.dimensions
    let along = 0
    for (let at = 0; at < size; at++)
      along += (pull[pullStart + at] as number) * (vectors[start + at] as number)
    const change = this.#vector
    for (let at = 0; at < size; at++)
      change[at] = ((pull[pullStart + at] as number) - along * (vectors[start + at] as number)) / length
    for (const token of tokens) {
      this.#touched.add(token)
      this.#add(addressOf(change), addressOf(this.#gradient, token * size))
    }
  }

  step(rate: number): void {
    const { dimensions: size } = this
    const sizes = this.#sizes
    for (const token of this.#touched) {
      const steps = (this.#steps[token] as number) + 1
      this.#steps[token] = steps
      sizes[0] = rate / (1 - FIRST_MOMENT ** steps)
      sizes[1] = 1 / (1 - SECOND_MOMENT ** steps)
      const [row, gradient, first, second] = [this.rows, this.#gradient, this.#first, this.#second].map(
        (part) => addressOf(part, token * size),
      ) as [number, number, number, number]
      this.#kernel.move(row, gradient, first, second, addressOf(sizes), size / LANES)
    }
    this.#touched.clear()
  }

  #add(from: number, to: number): void {
    this.#kernel.add(from, to, this.dimensions / LANES)
  }
}

function addressOf(part: Float32Array, at = 0): number {
  return part.byteOffset + at * FLOAT_BYTES
}

interface TableKernel {
  /** Adds the numbers from one address on to those from another on, `steps` times four of them. */
  add(from: number, to: number, steps: number): void
  /** One step of Adam: moves a row, and sets its gradient to zero. */
  move(row: number, gradient: number, first: number, second: number, sizes: number, steps: number): void
}

function openKernel(memory: WebAssembly.Memory): TableKernel {
  const exports = [addFunction(), moveFunction()].map((run) => openModule(memory, run))
  if (exports.includes(undefined))
    throw new Error('training needs WebAssembly that adds four numbers at once')
  return Object.assign({}, ...exports) as TableKernel
}

function addFunction(): WasmFunction {
  const [from, to, steps] = [0, 1, 2] as const
  const { get } = op
  const body = [get(to), get(to), floats.load(0), get(from), floats.load(0), floats.add, floats.store(0)]
  const code = forEachStep(steps, [from, to], body.flat())
  return { name: 'add', parameters: 3, returns: false, locals: [], code }
}

function moveFunction(): WasmFunction {
  const [row, gradient, first, second, sizes, steps, slope, mean, square] = [
    0, 1, 2, 3, 4, 5, 6, 7, 8,
  ] as const
  const { get, set, tee } = op
  const times = (value: number) => [floats.constant(value), floats.multiply]
  const body = [
    ...[get(gradient), floats.load(0), set(slope)],
    ...[get(gradient), floats.constant(0), floats.store(0)],
    ...[get(first), get(first), floats.load(0), ...times(FIRST_MOMENT)],
    ...[get(slope), ...times(1 - FIRST_MOMENT), floats.add, tee(mean), floats.store(0)],
    ...[get(second), get(second), floats.load(0), ...times(SECOND_MOMENT)],
    ...[get(slope), get(slope), floats.multiply, ...times(1 - SECOND_MOMENT)],
    ...[floats.add, tee(square), floats.store(0)],
    ...[get(row), get(row), floats.load(0)],
    ...[get(mean), get(sizes), floats.loadOne(0), floats.multiply],
    ...[get(square), get(sizes), floats.loadOne(FLOAT_BYTES), floats.multiply, floats.squareRoot],
    ...[floats.constant(TINY), floats.add, floats.divide, floats.add, floats.store(0)],
  ]
  const code = forEachStep(steps, [row, gradient, first, second], body.flat())
  return { name: 'move', parameters: 6, returns: false, locals: [[3, V128]], code }
}
