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
  it('searches name and description, ignoring case, names first', async () => {
    expect(await names('weather')).toEqual(['get_weather', 'set_alarm'])
    expect(await names('^GET_')).toEqual(['get_news', 'get_weather'])
    expect(await names('news|alarm')).toEqual(['get_news', 'set_alarm'])
  })

  it('takes the start of a name as registered, as clients see it, and as its server calls it', async () => {
    const listing: Listing = {
      ...sampleListing('mcp__files__list_directory', 'Shows a folder'),
      ownName: 'list_directory',
      source: { kind: 'mcp', server: 'files' },
    }
    const found = async (pattern: string) => (await rank(pattern, [listing])).matches.length
    for (const pattern of ['^mcp__files', '^files__', '^list_', '\\Alist_', '^list_directory$'])
      expect([pattern, await found(pattern)]).toEqual([pattern, 1])
    for (const pattern of ['^directory', '^iles', '^list$'])
      expect([pattern, await found(pattern)]).toEqual([pattern, 0])
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

  it('accepts 200 characters and rejects 201', async () => {
    expect((await rank('a'.repeat(200))).total).toBe(0)
    await expect(rank('a'.repeat(201))).rejects.toMatchObject({ code: 'pattern-invalid' })
  })

  it.each([
    ['^(a+)+$', 1],
    ['(a|aa)+$', 1],
    ['(.*)*x', 0],
    ['((a{1,30}){1,30})b', 0],
  ])('is not stalled by %j', async (pattern, total) => {
    // A backtracking matcher would not finish these within the test's time limit.
    expect((await rank(pattern, [sampleListing('evil', 'a'.repeat(5_000))])).total).toBe(total)
  })

  it('rejects a pattern that expands beyond the work budget', async () => {
    const listings = Array.from({ length: 200 }, (_, at) => sampleListing(`tool_${at}`, 'a'.repeat(2_000)))
    await expect(rank('a{0,999}a{0,999}b', listings)).rejects.toMatchObject({
      code: 'pattern-invalid',
      message: expect.stringContaining('3998 steps'),
    })
  })

  it('rejects a search that takes too much work, instead of silently leaving tools out', async () => {
    const listings = Array.from({ length: 200 }, (_, at) =>
      sampleListing(`tool_${at}`, String.fromCharCode(97 + (at % 26)).repeat(60_000)),
    )
    await expect(rank('x(a|b)*y', listings)).rejects.toMatchObject({
      code: 'pattern-invalid',
      message: expect.stringContaining('too much work'),
    })
  })

  it('has enough budget for an ordinary pattern over thousands of tools', async () => {
    const text = 'Returns the issues of a repository, filtered by state, label and assignee. '.repeat(4)
    const listings = Array.from({ length: 20_000 }, (_, at) => sampleListing(`get_issue_${at}`, text))
    expect((await rank('issue.*(label|ticket)s?', listings)).total).toBe(20_000)
    expect((await rank('pull_?request|merge', listings)).total).toBe(0)
  })
})
