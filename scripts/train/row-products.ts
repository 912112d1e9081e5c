import {
  op,
  openModule,
  V128,
  type WasmFunction,
} from '../../packages/core/src/search/vectors/wasm-module.ts'
import { FLOAT_BYTES, floats, forEachStep, LANES, PAGE_BYTES } from './wasm-floats.ts'

/** The rows of each matrix whose products are computed together, so that each value read serves several of them. */
const TILE_ROWS = 2
const TILE_COLUMNS = 4

/**
 * The product of every row of `a` with every row of `b`, with `width` values per row: as many rows as `a`, as many
 * columns as `b`. Computed by WebAssembly in 32 bits, so the same inputs give the same products on every machine.
 */
export function rowProducts(a: Float32Array, b: Float32Array, width: number): Float32Array {
  const known = KERNELS.get(width)
  const kernel = known ?? new ProductKernel(width)
  if (known === undefined) KERNELS.set(width, kernel)
  return kernel.products(a, b)
}

/** By width. */
const KERNELS = new Map<number, ProductKernel>()

interface Tile {
  /** Writes the products of some rows from the address `a` with some from `b` on to `into`, one after the other. */
  fill(a: number, b: number, into: number, steps: number): void
}

/** Multiplies rows of one width, in a memory of its own: a tile of products, then the rows of `a`, then those of `b`. */
class ProductKernel {
  readonly #width: number
  /** Values per row in memory: whole instructions. */
  readonly #stride: number
  readonly #memory = new WebAssembly.Memory({ initial: 1 })
  readonly #tile: Tile

  constructor(width: number) {
    this.#width = width
    this.#stride = LANES * Math.ceil(width / LANES)
    const exports = openModule(this.#memory, tileFunction(FLOAT_BYTES * this.#stride))
    if (exports === undefined)
      throw new Error('training needs WebAssembly that multiplies four numbers at once')
    this.#tile = exports as unknown as Tile
  }

  products(a: Float32Array, b: Float32Array): Float32Array {
    const stride = this.#stride
    const rows = a.length / this.#width
    const columns = b.length / this.#width
    const aStart = TILE_ROWS * TILE_COLUMNS
    const bStart = aStart + stride * TILE_ROWS * Math.ceil(rows / TILE_ROWS)
    const end = bStart + stride * TILE_COLUMNS * Math.ceil(columns / TILE_COLUMNS)
    const memory = this.#values(end)
    this.#copy(a, memory, aStart, bStart)
    this.#copy(b, memory, bStart, end)
    const products = new Float32Array(rows * columns)
    for (let row = 0; row < rows; row += TILE_ROWS) {
      for (let column = 0; column < columns; column += TILE_COLUMNS) {
        this.#tile.fill(
          FLOAT_BYTES * (aStart + row * stride),
          FLOAT_BYTES * (bStart + column * stride),
          0,
          stride / LANES,
        )
        for (let at = 0; at < aStart; at++) {
          const down = row + Math.floor(at / TILE_COLUMNS)
          const across = column + (at % TILE_COLUMNS)
          if (down < rows && across < columns) products[down * columns + across] = memory[at] as number
        }
      }
    }
    return products
  }

  /** The memory, with room for `count` values at least. */
  #values(count: number): Float32Array {
    const missing = count * FLOAT_BYTES - this.#memory.buffer.byteLength
    if (missing > 0) this.#memory.grow(Math.ceil(missing / PAGE_BYTES))
    return new Float32Array(this.#memory.buffer)
  }

  #copy(matrix: Float32Array, into: Float32Array, start: number, end: number): void {
    into.fill(0, start, end)
    for (let from = 0, to = start; from < matrix.length; from += this.#width, to += this.#stride)
      into.set(matrix.subarray(from, from + this.#width), to)
  }
}

function tileFunction(rowBytes: number): WasmFunction {
  const [a, b, into, steps, aValues] = [0, 1, 2, 3, 4] as const
  const bValues = aValues + TILE_ROWS
  const sums = bValues + TILE_COLUMNS
  const places = Array.from({ length: TILE_ROWS * TILE_COLUMNS }, (_, at) => at)
  const { get, set } = op
  const load = (from: number, row: number, to: number) =>
    [get(from), floats.load(row * rowBytes), set(to)].flat()
  const body = [
    ...Array.from({ length: TILE_ROWS }, (_, row) => load(a, row, aValues + row)).flat(),
    ...Array.from({ length: TILE_COLUMNS }, (_, row) => load(b, row, bValues + row)).flat(),
    ...places.flatMap((at) => [
      ...get(aValues + Math.floor(at / TILE_COLUMNS)),
      ...get(bValues + (at % TILE_COLUMNS)),
      ...[floats.multiply, get(sums + at), floats.add, set(sums + at)].flat(),
    ]),
  ]
  const write = places.flatMap((at) => {
    const lanes = [0, 1, 2, 3].flatMap((lane) => [
      ...[...get(sums + at), ...floats.lane(lane)],
      ...(lane === 0 ? [] : floats.addOne),
    ])
    return [...get(into), ...lanes, ...floats.storeOne(at * FLOAT_BYTES)]
  })
  const locals = [[TILE_ROWS + TILE_COLUMNS + places.length, V128]] as const
  const code = [...forEachStep(steps, [a, b], body), ...write]
  return { name: 'fill', parameters: 4, returns: false, locals, code }
}

/** The columns of a matrix as rows. */
export function transposed(matrix: Float32Array, rows: number, columns: number): Float32Array {
  const turned = new Float32Array(matrix.length)
  for (let row = 0; row < rows; row++)
    for (let column = 0; column < columns; column++)
      turned[column * rows + row] = matrix[row * columns + column] as number
  return turned
}
