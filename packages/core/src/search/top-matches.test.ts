import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { highestRows, placesOf } from './top-matches.ts'

const anyValues = fc
  .array(fc.integer({ min: 0, max: 9 }), { maxLength: 40 })
  .map((all) => Float64Array.from(all))

describe('places', () => {
  it('count the higher values', () => {
    fc.assert(
      fc.property(anyValues, (values) => {
        const expected = Array.from(values, (value) => 1 + values.filter((other) => other > value).length)
        expect([...placesOf(values)]).toEqual(expected)
      }),
    )
  })
})

describe('the highest rows', () => {
  it('are those of the highest values, with all that equal the last of them', () => {
    fc.assert(
      fc.property(anyValues, fc.integer({ min: 1, max: 50 }), (values, count) => {
        const places = placesOf(values)
        const expected = [...values.keys()].filter((row) => (places[row] ?? 0) <= count)
        expect(highestRows(values, count)).toEqual(expected)
      }),
    )
  })
})
