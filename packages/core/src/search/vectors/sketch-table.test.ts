import { describe, expect, it } from 'vitest'
import { SketchTable } from './sketch-table.ts'

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
  // Many that tie: no fixed room is enough for them.
  for (let number = 2_000; number < 4_000; number++)
    table.sketches.copyWithin(number * words, 2_000 * words, 2_001 * words)
  return table
}

/** The definition: sorted by distance, up to the last that is as close as the wanted one. */
function expected(table: SketchTable, sketch: Int32Array, count: number, accepts: (n: number) => boolean) {
  const { words, sketches } = table
  const all: { number: number; distance: number }[] = []
  for (let number = 0; number < COUNT; number++) {
    if (!accepts(number)) continue
    let distance = 0
    for (let word = 0; word < words; word++) {
      let bits = (sketches[number * words + word] ?? 0) ^ (sketch[word] ?? 0)
      for (; bits !== 0; bits &= bits - 1) distance++
    }
    all.push({ number, distance })
  }
  all.sort((a, b) => a.distance - b.distance)
  const farthest = all[Math.min(count, all.length) - 1]?.distance ?? -1
  return all.filter(({ distance }) => distance <= farthest).map(({ number }) => number)
}

describe.each([
  [8, 'the kernel', true],
  [8, 'JavaScript', false],
  [16, 'the kernel', true],
  [16, 'JavaScript', false],
  [64, 'the kernel', true],
] as const)('a sketch table of %i words, by %s', (words, _, usesKernel) => {
  const table = filled(words, { usesKernel })
  const random = seeded(99)
  const stored = (number: number) => table.sketches.slice(number * words, (number + 1) * words)
  const any = () => Int32Array.from({ length: words }, random)
  const every = () => true

  it.each([1, 3, 9])('finds the closest of all for each of %i queries at once', (queries) => {
    const wanted = Array.from({ length: queries }, (_, at) => ({
      sketch: at % 3 === 0 ? stored(100 * at + 7) : any(),
      count: [1, 96, 700][at % 3] ?? 1,
    }))
    const found = table.closest(wanted, COUNT, every)
    for (const [at, { sketch, count }] of wanted.entries())
      expect(found[at]?.toSorted((a, b) => a - b)).toEqual(
        expected(table, sketch, count, every).toSorted((a, b) => a - b),
      )
  })

  it('keeps all that tie, and those of another query beside them', () => {
    const wanted = [
      { sketch: any(), count: 30 },
      { sketch: stored(2_000), count: 5 },
    ]
    const [near, tied] = table.closest(wanted, COUNT, every)
    expect(tied).toHaveLength(2_000)
    expect(near?.toSorted()).toEqual(expected(table, wanted[0]?.sketch ?? any(), 30, every).toSorted())
  })

  it('finds the closest of those that are accepted, however few', () => {
    for (const share of [2, 50, 2_000, 100_000]) {
      const accepts = (number: number) => number % share === 1
      const sketch = any()
      const [found] = table.closest([{ sketch, count: 40 }], COUNT, accepts)
      expect(found?.toSorted()).toEqual(expected(table, sketch, 40, accepts).toSorted())
    }
  })
})
