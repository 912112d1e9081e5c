import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { IMPACT_MASK, LISTING_SHIFT, PostingLists } from './posting-lists.ts'
import type { Term } from './query-terms.ts'
import { type TopKQuery, TopKScorer } from './top-k-scorer.ts'

const LISTINGS = 200

/** A small window, so that most listings are tallied when good ones are known. */
const scorer = new TopKScorer({ window: 32 })

/** A term of up to three words; by word: the impacts of the listings that contain it. */
const anyTerm = fc.record({
  weight: fc.double({ min: 0.1, max: 8, noNaN: true }),
  cover: fc.double({ min: 0.1, max: 8, noNaN: true }),
  forms: fc.array(
    fc.record({
      weight: fc.constantFrom(0, 0, 0.5, 2),
      impacts: fc.dictionary(fc.nat(LISTINGS - 1).map(String), fc.integer({ min: 1, max: IMPACT_MASK }), {
        maxKeys: 60,
      }),
    }),
    { minLength: 1, maxLength: 3 },
  ),
})

type Described = typeof anyTerm extends fc.Arbitrary<infer Value> ? Value : never

function indexed(described: readonly Described[]): Pick<TopKQuery, 'terms' | 'postings'> {
  const postings = new PostingLists()
  const terms = described.map(({ weight, cover, forms }): Term => {
    const lists = forms.map((form) => {
      const list = postings.create()
      for (const [listing, impact] of Object.entries(form.impacts))
        postings.insert(list, (Number(listing) << LISTING_SHIFT) | impact)
      return { list, weight: form.weight }
    })
    return { weight, cover, forms: lists }
  })
  return { terms, postings }
}

/** The definition: words of a term saturate together, those of the query gain more, and half of the score is for coverage. */
function expected(described: readonly Described[]): Map<number, { score: number; coverage: number }> {
  const whole = described.reduce((sum, { cover }) => sum + cover, 0)
  const scores = new Map<number, { score: number; coverage: number }>()
  for (let listing = 0; listing < LISTINGS; listing++) {
    let gain = 0
    let covered = 0
    for (const { weight, cover, forms } of described) {
      const held = forms.filter(({ impacts }) => impacts[String(listing)] !== undefined)
      if (held.length === 0) continue
      const saturations = held.map(({ impacts }) => ((impacts[String(listing)] ?? 0) / 256) ** 2)
      const openness = saturations.reduce((sum, one) => sum + one / (1 - one), 1)
      gain += weight * (1 - 1 / openness)
      gain += held.reduce((sum, form, at) => sum + form.weight * (saturations[at] ?? 0), 0)
      covered += cover
    }
    const coverage = covered / whole
    if (gain > 0) scores.set(listing, { score: gain * (0.5 + 0.5 * coverage), coverage })
  }
  return scores
}

describe('the top-k scorer', () => {
  it('finds the best listings, rates the watched ones, and counts all', () => {
    fc.assert(
      fc.property(
        fc.array(anyTerm, { minLength: 1, maxLength: 6 }),
        fc.integer({ min: 1, max: 30 }),
        fc.array(fc.nat(LISTINGS - 1), { maxLength: 10 }),
        fc.integer({ min: 1, max: 4 }),
        fc.boolean(),
        (described, limit, watched, every, countsAll) => {
          const isAccepted = (listing: number) => listing % every === 0
          const isEvery = every === 1
          const query = {
            ...indexed(described),
            limit,
            watched,
            end: LISTINGS,
            isAccepted: isEvery ? undefined : isAccepted,
            countsAll,
          }
          const { best, watched: rated, total } = scorer.leaders(query)
          const scores = expected(described)
          for (const { listing, score, coverage } of [...best, ...rated]) {
            expect(score / (scores.get(listing)?.score ?? 0)).toBeCloseTo(1, 4)
            expect(coverage).toBeCloseTo(scores.get(listing)?.coverage ?? 0, 4)
          }
          const accepted = [...scores].filter(([listing]) => isAccepted(listing))
          if (countsAll) expect(total).toBe(accepted.length)
          const wanted = accepted.map(([, { score }]) => score).toSorted((a, b) => b - a)
          const found = best.map(({ score }) => score).toSorted((a, b) => b - a)
          expect(best.every(({ listing }) => isAccepted(listing))).toBe(true)
          expect(found.length).toBeGreaterThanOrEqual(Math.min(limit, wanted.length))
          for (const [at, score] of wanted.slice(0, limit).entries())
            expect((found[at] ?? 0) / score).toBeCloseTo(1, 4)
          const contained = new Set(watched.filter((listing) => scores.has(listing)))
          expect(new Set(rated.map(({ listing }) => listing))).toEqual(contained)
        },
      ),
      { numRuns: 400 },
    )
  })

  it('is usable after a filter has thrown', () => {
    const described: Described[] = [
      { weight: 1, cover: 1, forms: [{ weight: 0, impacts: { 3: 90, 70: 20 } }] },
    ]
    const query = {
      ...indexed(described),
      limit: 5,
      watched: [],
      end: LISTINGS,
      isAccepted: undefined,
      countsAll: true,
    }
    const before = scorer.leaders(query)
    const isAccepted = (): boolean => {
      throw new Error('no')
    }
    expect(() => scorer.leaders({ ...query, isAccepted })).toThrow('no')
    expect(scorer.leaders(query)).toEqual(before)
    expect(before.total).toBe(2)
  })

  it.each([0, -1, Number.NaN])('finds nothing for a limit of %d, and counts', (limit) => {
    const described: Described[] = [{ weight: 1, cover: 1, forms: [{ weight: 0, impacts: { 3: 90 } }] }]
    const query = {
      ...indexed(described),
      limit,
      watched: [],
      end: LISTINGS,
      isAccepted: undefined,
      countsAll: true,
    }
    expect(scorer.leaders(query)).toEqual({ best: [], watched: [], total: 1 })
  })
})
