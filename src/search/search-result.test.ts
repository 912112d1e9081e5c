import { describe, expect, it } from 'vitest'
import { isFarWeaker, type SearchMatch } from './search-result.ts'

const match = (score: number): SearchMatch => ({ name: 'x', score, description: '', reasons: [] })
const weak = (scores: readonly number[]) => {
  const matches = scores.map(match)
  return matches.filter((one) => isFarWeaker(one, { matches })).map(({ score }) => score)
}

describe('a far weaker match', () => {
  it('scores less than a tenth of the best', () => {
    expect(weak([2.198, 0.9, 0.22, 0.21, 0.017])).toEqual([0.21, 0.017])
    expect(weak([0.8, 0.7])).toEqual([])
  })

  it('matches only a filter, beside one that matches more', () => {
    expect(weak([0.5, 0])).toEqual([0])
    expect(weak([0, 0])).toEqual([])
  })

  it('is compared with the best, wherever that is', () => {
    expect(weak([1, 12, 13])).toEqual([1])
  })
})
