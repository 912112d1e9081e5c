import { describe, expect, it } from 'vitest'
import { worthActivating } from './answer.ts'

const worth = (scores: readonly number[]) =>
  worthActivating(scores.map((score) => ({ name: String(score), score }))).map(Number)

describe('a match worth activating', () => {
  it('scores at least a tenth of the best', () => {
    expect(worth([2.198, 0.9, 0.22, 0.21, 0.017])).toEqual([2.198, 0.9, 0.22])
    expect(worth([0.8, 0.7])).toEqual([0.8, 0.7])
  })

  it('matches more than a filter, unless none does', () => {
    expect(worth([0.5, 0])).toEqual([0.5])
    expect(worth([0, 0])).toEqual([0, 0])
  })

  it('is compared with the best, wherever that is', () => {
    expect(worth([1, 12, 13])).toEqual([12, 13])
  })
})
