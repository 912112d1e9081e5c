import { describe, expect, it } from 'vitest'
import { sampleListing } from '../searcher-contract.ts'
import { calibratedScores, meaningOf } from './calibration.ts'
import { NO_FEATURES } from './features.ts'
import type { Fitting } from './fitting.ts'
import { type Features, fitOf } from './ranker.ts'

/** A candidate with these features, and what memory adds to its fit. */
function fitting(features: Partial<Features>, lift?: number): Fitting {
  const all = { ...NO_FEATURES, ...features }
  return {
    candidate: {
      listing: sampleListing('tool', 'A tool'),
      number: 0,
      features: all,
      similarity: all.partMeaning,
      hasWords: all.coverage > 0,
      part: undefined,
      sourceAgreement: 1,
    },
    fit: fitOf(all) + (lift ?? 0),
    ...(lift === undefined ? {} : { isRemembered: true }),
  }
}

const RELATED_FROM = 0.2
const scoreOf = (...all: readonly Fitting[]) => calibratedScores(all, RELATED_FROM)[0] ?? 0

describe('a score', () => {
  it('is high if the meaning agrees', () => {
    expect(scoreOf(fitting({ partMeaning: 0.8, plainMeaning: 1, coverage: 1 }))).toBeGreaterThan(0.9)
  })

  it('is low if only words agree, even if no other tool has them', () => {
    const only = fitting({ partMeaning: 0.15, plainMeaning: 1, coverage: 1 })
    expect(scoreOf(only, fitting({ partMeaning: 0.05 }))).toBeLessThan(0.2)
  })

  it('is divided between tools that fit equally well', () => {
    const one = fitting({ partMeaning: 0.8, plainMeaning: 1, coverage: 1 })
    const [first, second, third] = calibratedScores([one, one, one], RELATED_FROM)
    expect([second, third]).toEqual([first, first])
    expect(first).toBeLessThan(0.7)
  })

  it('falls in the order of the matches, and never to zero', () => {
    const all = [0.9, 0.6, 0.5, 0.3, 0].map((partMeaning) => fitting({ partMeaning, coverage: partMeaning }))
    const scores = calibratedScores(all, RELATED_FROM)
    expect(scores).toEqual(scores.toSorted((a, b) => b - a))
    expect(scores.at(-1)).toBe(0.01)
    expect(calibratedScores([], RELATED_FROM)).toEqual([])
  })

  it('counts what memory knows as meaning', () => {
    expect(scoreOf(fitting({ partMeaning: 0.2 }))).toBeLessThan(0.2)
    expect(scoreOf(fitting({ partMeaning: 0.2 }, 0.1))).toBeGreaterThan(0.5)
  })
})

describe('the meaning of a match', () => {
  it('is measured on the scale of its embedder', () => {
    expect(meaningOf(0.2, 0.2)).toBe(0)
    expect(meaningOf(0.85, 0.7)).toBeCloseTo(0.5)
    expect(meaningOf(1, 0.7)).toBe(1)
    expect(meaningOf(0.1, 0.2)).toBeLessThan(0)
  })

  it('is a number for an embedder that calls only equal texts related', () => {
    expect(meaningOf(1, 1)).toBe(0)
    expect(meaningOf(0.9, 1)).toBeLessThan(0)
  })
})
