import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { packVectors, textKey, unpackVectors } from './saved-vectors.ts'
import { VectorIndex } from './vector-index.ts'

const SIZE = 96
const vector = fc
  .array(fc.integer({ min: -100, max: 100 }), { minLength: SIZE, maxLength: SIZE })
  .filter((values) => values.some((value) => value !== 0))
  .map((values) => {
    const length = Math.hypot(...values)
    return Float32Array.from(values, (value) => value / length)
  })

describe('a vector index', () => {
  it('scores almost exactly, although it stores bytes', () => {
    fc.assert(
      fc.property(vector, vector, (a, b) => {
        const index = new VectorIndex(SIZE)
        index.set(3, a)
        expect(similarity(index, b, 3)).toBeCloseTo(dot(a, b), 1)
        expect(similarity(index, a, 3)).toBeCloseTo(1, 1)
      }),
    )
  })

  it('puts a vector itself among the nearest', () => {
    fc.assert(
      fc.property(fc.array(vector, { minLength: 1, maxLength: 40 }), fc.nat(), (vectors, pick) => {
        const index = new VectorIndex(SIZE)
        for (const [number, values] of vectors.entries()) index.set(number, values)
        const number = pick % vectors.length
        expect(nearest(index, vectors[number] ?? new Float32Array(SIZE), 1)).toContain(number)
      }),
    )
  })

  it('returns as many accepted numbers as requested, if there are enough', () => {
    fc.assert(
      fc.property(fc.array(vector, { minLength: 3, maxLength: 40 }), fc.nat(50), (vectors, count) => {
        const index = new VectorIndex(SIZE)
        for (const [number, values] of vectors.entries()) index.set(number, values)
        const isEven = (number: number): boolean => number % 2 === 0
        const found = nearest(index, vectors[0] ?? new Float32Array(SIZE), count, isEven)
        expect(found.every(isEven)).toBe(true)
        expect(found.length).toBeGreaterThanOrEqual(Math.min(count, Math.ceil(vectors.length / 2)))
      }),
    )
  })

  it('calls accepts only for close numbers', () => {
    const index = new VectorIndex(SIZE)
    for (let number = 0; number < SIZE; number++) index.set(number, unit(number))
    const asked: number[] = []
    const accepts = (number: number): boolean => asked.push(number) > 0
    expect(nearest(index, unit(7), 1, accepts)).toContain(7)
    expect(asked.length).toBeLessThan(SIZE / 2)
  })

  it('knows the mean of its vectors, whatever was set again, removed, restored or adopted', () => {
    const index = new VectorIndex(SIZE)
    index.set(0, unit(1))
    index.set(1, unit(2))
    index.set(1, unit(3))
    index.set(5, unit(4))
    const stored = index.get(5)
    index.delete(5)
    expect([index.count, ...near(index.mean, [1, 2, 3, 4])]).toEqual([2, 0.5, 0, 0.5, 0])
    if (stored !== undefined) index.restore(7, stored)
    expect([index.count, ...near(index.mean, [1, 3, 4])]).toEqual([3, 0.33, 0.33, 0.33])
    const other = new VectorIndex(SIZE)
    other.adopt(index.pack([0, 1, 7]))
    expect([other.count, ...near(other.mean, [1, 3, 4])]).toEqual([3, 0.33, 0.33, 0.33])
    for (const number of [0, 1, 2]) other.delete(number)
    expect([other.count, ...near(other.mean, [1, 3, 4])]).toEqual([0, 0, 0, 0])
  })

  it('returns vectors as they were stored', () => {
    fc.assert(
      fc.property(vector, vector, (a, b) => {
        const index = new VectorIndex(SIZE)
        index.set(0, a)
        const copy = new VectorIndex(SIZE)
        const held = index.get(0)
        if (held) copy.restore(5, held)
        expect(copy.get(5)).toEqual(held)
        expect(similarity(copy, b, 5)).toBe(similarity(index, b, 0))
        expect(nearest(copy, a, 1)).toEqual([5])
      }),
    )
  })

  it('forgets deleted vectors, and reuses their numbers', () => {
    const index = new VectorIndex(SIZE)
    const [a, b] = [unit(0), unit(1)]
    index.set(0, a)
    index.set(1, b)
    index.delete(0)
    expect(nearest(index, a, 5)).toEqual([1])
    expect(similarity(index, a, 0)).toBe(0)
    index.set(0, b)
    expect(nearest(index, b, 5).sort()).toEqual([0, 1])
    index.set(1, new Float32Array(SIZE))
    expect(nearest(index, b, 5)).toEqual([0])
  })
})

describe('saved vectors', () => {
  it('survive a round trip', () => {
    const entry = { values: Int8Array.from({ length: 4 }, (_, at) => at - 2), scale: 0.5 }
    const bytes = packVectors('model', 4, new Map([[textKey('a text'), entry]]))
    const shifted = new Uint8Array(bytes.length + 1)
    shifted.set(bytes, 1)
    expect(unpackVectors(shifted.subarray(1), 'model', 4)).toEqual(new Map([[textKey('a text'), entry]]))
    expect(unpackVectors(bytes, 'model', 5).size).toBe(0)
    expect(() => unpackVectors(bytes.subarray(0, bytes.length - 1), 'model', 4)).toThrow('not saved vectors')
  })

  it('have different keys for texts that differ in order', () => {
    const texts = ['ab', 'ba', 'a', 'b', '', 'aab', 'aba']
    expect(new Set(texts.map(textKey)).size).toBe(texts.length)
  })
})

function dot(a: Float32Array, b: Float32Array): number {
  return a.reduce((sum, value, at) => sum + value * (b[at] ?? 0), 0)
}

function unit(axis: number): Float32Array {
  return Float32Array.from({ length: SIZE }, (_, at) => (at === axis ? 1 : 0))
}

function nearest(
  index: VectorIndex,
  vector: Float32Array,
  count: number,
  accepts?: (number: number) => boolean,
): number[] {
  return index.nearest([{ vector, count }], accepts)[0] ?? []
}

/** Some coordinates of a vector, to two digits. */
function near(values: Float32Array, coordinates: readonly number[]): number[] {
  return coordinates.map((at) => Math.round(100 * (values[at] ?? 0)) / 100 + 0)
}

function similarity(index: VectorIndex, vector: Float32Array, number: number): number | undefined {
  return index.similarities([vector], [number])[0]?.[0]
}
