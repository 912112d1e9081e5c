import { describe, expect, it } from 'vitest'
import type { Listing } from '../tool.ts'
import { parseQuery } from './query/query.ts'
import { regex } from './regex.ts'
import { acceptEvery, type Ranking } from './searcher.ts'
import { sampleListing } from './searcher-contract.ts'

const LISTINGS = [
  sampleListing('get_weather', 'The weather at a place'),
  sampleListing('get_news', 'What happened'),
  sampleListing('set_alarm', 'Wakes you, whatever the WEATHER'),
]

async function rank(pattern: string, listings: readonly Listing[] = LISTINGS): Promise<Ranking> {
  const index = regex().open()
  index.update('all', listings)
  return await index.rank(parseQuery(pattern, { as: 'pattern' }), { limit: 10, accepts: acceptEvery })
}

async function names(pattern: string): Promise<string[]> {
  return (await rank(pattern)).matches.map(({ listing }) => listing.name)
}

describe('regex', () => {
  it('looks at name and description, whatever the case, names first', async () => {
    expect(await names('weather')).toEqual(['get_weather', 'set_alarm'])
    expect(await names('^GET_')).toEqual(['get_news', 'get_weather'])
    expect(await names('news|alarm')).toEqual(['get_news', 'set_alarm'])
  })

  it('says what matched', async () => {
    expect((await rank('weather')).matches.map(({ reasons }) => reasons)).toEqual([
      ['name matches /weather/', 'description matches /weather/'],
      ['description matches /weather/'],
    ])
  })

  it.each(['(', '[a', 'a{2,1}', '(?=x)', '(a)\\1', '*'])('refuses %j and says why', async (pattern) => {
    await expect(rank(pattern)).rejects.toMatchObject({
      code: 'pattern-invalid',
      message: expect.stringContaining(pattern),
    })
  })

  it('takes 200 characters and refuses 201', async () => {
    expect((await rank('a'.repeat(200))).total).toBe(0)
    await expect(rank('a'.repeat(201))).rejects.toMatchObject({ code: 'pattern-invalid' })
  })

  it.each(['^(a+)+$', '(a|aa)+$', '(.*)*x', '((a{1,30}){1,30})b'])(
    'is not stalled by %j',
    async (pattern) => {
      // A backtracking matcher would not come back from these within the life of the test.
      await rank(pattern, [sampleListing('evil', `${'a'.repeat(50_000)}!`)]).catch((error) => {
        expect(error).toMatchObject({ code: 'pattern-invalid' })
      })
    },
  )
})
