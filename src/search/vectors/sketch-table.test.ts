import { describe, expect, it } from 'vitest'
import { MAX_QUERIES, SketchTable } from './sketch-table.ts'

/** Enough for the kernel, and not a multiple of a block. */
const COUNT = 5_003

function seeded(seed: number): () => number {
  let state = seed
  return () => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) | 0
    return state ^ (state >>> 13)
  }
}

function filled(words: number, options: { usesKernel: boolean }): SketchTable {
  const table = new SketchTable(words, options)
  const random = seeded(words)
  // In two steps, so that the first sketches move.
  for (const [start, end] of [
    [0, 1_000],
    [1_000, COUNT],
  ] as const) {
    table.reserve(end)
    for (let at = start * words; at < end * words; at++) table.sketches[at] = random()
  }
  return table
}

describe.each([8, 16])('a sketch table of %i words', (words) => {
  const fast = filled(words, { usesKernel: true })
  const plain = filled(words, { usesKernel: false })
  const random = seeded(99)

  it.each([1, 3, MAX_QUERIES])(
    'gives the same distances with the kernel as in JavaScript, for %i queries',
    (count) => {
      const queries = Int32Array.from({ length: count * words }, random)
      // One query is a sketch of the table.
      queries.set(plain.sketches.subarray(4_000 * words, 4_001 * words))
      for (const table of [fast, plain]) table.measure(queries, COUNT)
      for (let query = 0; query < count; query++) {
        const counts = [...plain.countByDistance(query, COUNT)]
        expect([...fast.countByDistance(query, COUNT)]).toEqual(counts)
        const middle = words * 16
        const rings = [
          [0, 1],
          [0, middle - 8],
          [middle - 8, middle],
          [middle, words * 32 + 1],
        ] as const
        for (const [inner, outer] of rings) {
          const expected = [...plain.within(query, COUNT, inner, outer)]
          expect([...fast.within(query, COUNT, inner, outer)]).toEqual(expected)
          if (query === 0 && outer === 1) expect(expected).toEqual([4_000])
        }
      }
    },
  )
})
