import { describe, expect, it } from 'vitest'
import { adviceFor, isPoor, POOR_BELOW } from './search-result.ts'

describe('an answer is poor', () => {
  const poor = { kind: 'keyword' as const, answerable: POOR_BELOW - 0.01, matches: [{ score: 0.1 }] }

  it('if there probably is no tool for the request', () => {
    expect(isPoor(poor)).toBe(true)
    expect(isPoor({ ...poor, answerable: POOR_BELOW })).toBe(false)
  })

  it('never if the searcher does not know, nothing matches, or a pattern was asked for', () => {
    const { answerable: _, ...uncertain } = poor
    expect(isPoor(uncertain)).toBe(false)
    expect(isPoor({ ...poor, matches: [] })).toBe(false)
    expect(isPoor({ ...poor, kind: 'regex' })).toBe(false)
  })
})

it('says which service is absent, without a word against the matches', () => {
  const found = {
    kind: 'keyword' as const,
    query: 'jira create issue 42',
    total: 1,
    matches: [{}],
    confidence: 0.9,
    answerable: 0.9,
    unmatchedTerms: ['jira', '42'],
    absentService: 'jira',
  }
  expect(adviceFor(found)).toBe('Nothing here mentions "jira". If you named a product, it is not here.')
  const { absentService: _, ...other } = found
  expect(adviceFor(other)).toBeUndefined()
})
