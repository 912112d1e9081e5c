import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { holdRows, KernelProducts, plainProducts } from './row-products.ts'

const sizes = fc.record({
  dimensions: fc.integer({ min: 1, max: 70 }),
  rows: fc.integer({ min: 1, max: 30 }),
})

describe('products of rows', () => {
  it('are the same by WebAssembly and by JavaScript', () => {
    fc.assert(
      fc.property(sizes, fc.integer(), ({ dimensions, rows }, seed) => {
        const values = Int8Array.from({ length: rows * dimensions }, (_, at) => scattered(seed + at))
        const vectors = [1, 2].map((one) =>
          Int16Array.from({ length: dimensions }, (_, at) => scattered(seed - one * at)),
        )
        const numbers = Array.from({ length: 2 * rows }, (_, at) => Math.abs(scattered(at)) % rows)
        const kernel = KernelProducts.open(dimensions)
        expect(kernel).toBeDefined()
        const products = kernel?.products({ values, dimensions }, numbers, vectors)
        expect(products).toEqual(plainProducts.products({ values, dimensions }, numbers, vectors))
        expect(products?.[1]?.[0]).toBe(product(vectors[1], values, numbers[0], dimensions))
      }),
    )
  })

  it('are right for more rows than fit in one block, and for the largest numbers', () => {
    const dimensions = 256
    const values = new Int8Array(3 * dimensions).fill(127)
    values.fill(-127, dimensions, 2 * dimensions)
    values.fill(0, 2 * dimensions)
    const vector = new Int16Array(dimensions).fill(32_767)
    const numbers = Array.from({ length: 2_000 }, (_, at) => at % 3)
    const products = KernelProducts.open(dimensions)?.products({ values, dimensions }, numbers, [vector])
    const largest = 127 * 32_767 * dimensions
    expect(products?.[0]).toEqual(Int32Array.from(numbers, (number) => [largest, -largest, 0][number] ?? 0))
  })

  it('are the same for rows that are held', () => {
    const dimensions = 11
    const values = Int8Array.from({ length: 40 * dimensions }, (_, at) => scattered(at))
    const vectors = [3, 5].map((one) =>
      Int16Array.from({ length: dimensions }, (_, at) => scattered(one * at)),
    )
    const numbers = Array.from({ length: 40 }, (_, number) => number)
    const held = holdRows({ values, dimensions })
    // A second time, since the first leaves something in the memory.
    for (const asked of [vectors, vectors.toReversed()])
      expect(held.products(asked)).toEqual(plainProducts.products({ values, dimensions }, numbers, asked))
  })

  it('are none for no rows or no vectors', () => {
    const kernel = KernelProducts.open(4)
    const rows = { values: new Int8Array(8), dimensions: 4 }
    expect(kernel?.products(rows, [], [new Int16Array(4)])).toEqual([new Int32Array(0)])
    expect(kernel?.products(rows, [0, 1], [])).toEqual([])
  })
})

function scattered(seed: number): number {
  return (Math.imul(seed, 0x9e3779b1) >> 24) | 0
}

function product(
  vector: Int16Array | undefined,
  values: Int8Array,
  row: number | undefined,
  size: number,
): number {
  return [...(vector ?? [])].reduce(
    (sum, value, at) => sum + value * (values[(row ?? 0) * size + at] ?? 0),
    0,
  )
}
