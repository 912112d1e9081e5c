import { describe, expect, it } from 'vitest'
import { isPoor } from './search-result.ts'

const scored = (...scores: readonly number[]) => scores.map((score) => ({ score }))
const found = (...scores: readonly number[]) => ({
  kind: 'keyword' as const,
  confidence: scores[0] ?? 0,
  matches: scored(...scores),
})

describe('an answer is poor', () => {
  it('if probably none of its matches is right', () => {
    expect(isPoor(found(0.1, 0.05, 0.02))).toBe(true)
  })

  it('but not if one of several similar tools is right, whichever it is', () => {
    expect(isPoor(found(0.15, 0.14, 0.12, 0.1, 0.1))).toBe(false)
  })

  it('even if very many matches have a small chance each', () => {
    expect(isPoor(found(...Array.from({ length: 25 }, () => 0.05)))).toBe(true)
  })

  it('on a later page only if the first one was', () => {
    const page = { ...found(0.01, 0.01), confidence: 0.6 }
    expect(isPoor({ ...page, leaders: scored(0.6, 0.2) })).toBe(false)
    expect(isPoor({ ...page, confidence: 0.1, leaders: scored(0.1, 0.02) })).toBe(true)
  })

  it('never if the searcher does not know, nothing matches, or a pattern was asked for', () => {
    const poor = found(0.1)
    const { confidence: _, ...uncertain } = poor
    expect(isPoor(poor)).toBe(true)
    expect(isPoor(uncertain)).toBe(false)
    expect(isPoor({ ...poor, matches: [] })).toBe(false)
    expect(isPoor({ ...poor, kind: 'regex' })).toBe(false)
  })
})
