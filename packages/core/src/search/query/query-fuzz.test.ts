import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  anyQuery,
  anyText,
  catalogue,
  expectFilters,
  expectFoundOrRefused,
  expectWithinFilters,
} from './any-query.fixture.ts'

// Fixed seeds make failures reproducible; fast-check prints the smallest failing text. query.fuzz.ts searches for longer.
const RUNS = { seed: 20_260_711, numRuns: 400 }

describe('any text as a query', () => {
  it('is searched for, or throws query-invalid or pattern-invalid', () =>
    fc.assert(fc.asyncProperty(anyText, expectFoundOrRefused), RUNS))

  it('is read into filters that contain a letter, a digit or an emoji', () =>
    fc.assert(fc.asyncProperty(anyQuery, expectFilters), RUNS))

  it('finds only what passes its filters, and never more than the total', () =>
    fc.assert(fc.asyncProperty(anyQuery, expectWithinFilters), RUNS))

  it('loses nothing by a filter that excludes nothing', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom('send', 'search messages', 'file'),
        fc.constantFrom('-_', '-"-"', '-" "', '-"/ ."', '+_', '+"--"'),
        async (text, filter) => {
          const names = async (asked: string) =>
            (await catalogue.search(asked)).ranked.map(({ listing }) => listing.name)
          expect(await names(`${text} ${filter}`)).toEqual(await names(text))
        },
      ),
      { ...RUNS, numRuns: 30 },
    )
  })
})
