import { describe, expect, it } from 'vitest'
import { hasFullShare, makingRoom, surplusHolder } from './shares.ts'

describe('places that all clients share', () => {
  it('are taken from the client with the most, unless the newcomer has about as many', () => {
    const held = ['ada', 'ada', 'ada', 'bob', 'bob']
    expect(surplusHolder(held, 'cleo')).toBe('ada')
    expect(surplusHolder(held, 'bob')).toBeUndefined()
    expect(surplusHolder(held, 'ada')).toBeUndefined()
    expect(surplusHolder(['ada', 'bob'], 'cleo')).toBeUndefined()
    expect(surplusHolder([], 'ada')).toBeUndefined()
  })

  it('are taken from the newcomer itself where nobody has more, and from anybody if it has none', () => {
    const entries = ['ada 1', 'bob 1', 'ada 2', 'bob 2']
    const holderOf = (entry: string) => entry.slice(0, 3)
    expect(makingRoom(entries, holderOf, 'bob')).toEqual(['bob 1', 'bob 2'])
    expect(makingRoom([...entries, 'ada 3', 'ada 4'], holderOf, 'bob')).toHaveLength(4)
    expect(makingRoom(['ada 1', 'bob 1'], holderOf, 'eve')).toEqual(['ada 1', 'bob 1'])
  })

  it('are never all of one client, where there are more than a few', () => {
    expect([0, 47, 48, 64].map((held) => hasFullShare(held, 64))).toEqual([false, false, true, true])
    expect(hasFullShare(0, 1)).toBe(false)
  })
})
