import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Listing } from '../tool.ts'
import { lexical } from './lexical.ts'
import { parseQuery } from './query/query.ts'
import { acceptEvery, type Ranking, type SearchIndex } from './searcher.ts'
import { sampleListing } from './searcher-contract.ts'

function opened(listings: readonly Listing[]): SearchIndex {
  const index = lexical().open()
  index.update('all', listings)
  return index
}

async function rank(index: SearchIndex, query: string, limit = 10): Promise<Ranking> {
  return await index.rank(parseQuery(query), { limit, accepts: acceptEvery })
}

async function names(listings: readonly Listing[], query: string): Promise<string[]> {
  return (await rank(opened(listings), query)).matches.map(({ listing }) => listing.name)
}

describe('lexical', () => {
  it('matches whole words and their inflections, not substrings', async () => {
    const listings = [
      sampleListing('concatenate', 'Joins texts'),
      sampleListing('feed_cats', 'Gives cats their food'),
    ]
    expect(await names(listings, 'cat')).toEqual(['feed_cats'])
    expect(await names(listings, 'joining text')).toEqual(['concatenate'])
  })

  it('prefers the exact word of the query among words of one stem', async () => {
    const listings = [sampleListing('a', 'Shows one listing'), sampleListing('b', 'Shows one list')]
    expect(await names(listings, 'list')).toEqual(['b', 'a'])
    expect(await names(listings, 'listing')).toEqual(['a', 'b'])
  })

  it('finds by name, hint, description, parameters and server, and says where', async () => {
    const listing = sampleListing('mcp__atlas__route', 'Plans a journey', 'atlas', {
      searchHint: 'directions',
      title: 'Navigate',
      inputSchema: {
        properties: { destination: { description: 'Town to reach' }, vehicle: { enum: ['bicycle'] } },
      },
    })
    const index = opened([listing, sampleListing('other', 'Unrelated')])
    const where = async (query: string): Promise<unknown> => (await rank(index, query)).matches[0]?.reasons
    expect(await where('route')).toEqual(['"route" in name'])
    expect(await where('navigate')).toEqual(['"navigate" in name'])
    expect(await where('Directions')).toEqual(['"Directions" in hint'])
    expect(await where('journey atlas')).toEqual(['"journey" in description', '"atlas" in server'])
    expect(await where('destination')).toEqual(['"destination" in parameter names'])
    expect(await where('town')).toEqual(['"town" in parameters'])
    expect(await where('bicycle')).toEqual(['"bicycle" in parameters'])
  })

  it('names the form of a word that the tool has, where that is another', async () => {
    const listing = sampleListing(
      'schedule_meeting',
      'Schedules a meeting, with scheduled reminders',
      'планы',
      {
        inputSchema: { properties: { calendars: { description: 'Файлы, 日程表' } } },
      },
    )
    const index = opened([listing, sampleListing('other', 'Unrelated')])
    const why = async (query: string): Promise<unknown> => (await rank(index, query)).matches[0]?.reasons
    expect(await why('scheduling')).toEqual([
      '"scheduling" as "schedule" in name, as "scheduled" in description, as "schedules" in description',
    ])
    // "schedule" is in "schedules".
    expect(await why('schedule meetings')).toEqual([
      '"schedule" in name, description',
      '"meetings" as "meeting" in name, description',
    ])
    expect(await why('calendar')).toEqual(['"calendar" in parameter names'])
    expect(await why('Файлы планы')).toEqual(['"Файлы" in parameters', '"планы" in server'])
    expect(await why('schedule_meetings')).toEqual([
      '"schedule_meetings" as "schedule" in name, as "meeting" in name, description, as "scheduled" in description, as "schedules" in description',
    ])
    expect(await why('日程管理')).toEqual(['"日程管理" as "日程" in parameters'])
  })

  it('weighs a name above a description, and a rare word above a common one', async () => {
    expect(
      await names([sampleListing('a', 'Can archive mail'), sampleListing('archive', 'Can do')], 'archive'),
    ).toEqual(['archive', 'a'])
    const many = Array.from({ length: 20 }, (_, at) => sampleListing(`m${at}`, 'Handles mail'))
    expect((await names([...many, sampleListing('z', 'Handles invoices')], 'mail invoices'))[0]).toBe('z')
  })

  it('prefers tools that cover more of the query', async () => {
    const listings = [
      sampleListing('a_deploy', 'deploy deploy deploy deploy'),
      sampleListing('b_other', 'deploy the website'),
      ...Array.from({ length: 10 }, (_, at) => sampleListing(`x${at}`, 'nothing here')),
    ]
    expect((await names(listings, 'deploy website'))[0]).toBe('b_other')
  })

  it('does not let a tool that repeats words a thousand times outrank an honest one', async () => {
    const honest = sampleListing('honest', 'Translates text from one language into another', 'honest')
    const stuffed = sampleListing('stuffed', 'translate text language '.repeat(1000), 'stuffed')
    expect(await names([stuffed, honest], 'translate text into another language')).toEqual([
      'honest',
      'stuffed',
    ])
  })

  it('does not index the end of a long text', async () => {
    const words = Array.from({ length: 30_000 }, (_, at) => `w${at}`).join(' ')
    const listings = [sampleListing('long', `${words} treasure`)]
    expect(await names(listings, 'w3')).toEqual(['long'])
    expect(await names(listings, 'treasure')).toEqual([])
  })

  it('ignores polite phrases and grammar, unless there is nothing else', async () => {
    const listings = [
      sampleListing('get_weather', 'Tells the weather'),
      sampleListing('who', 'Says who is there'),
    ]
    const { matches, unmatchedTerms } = await rank(
      opened(listings),
      'please could you tell me what the weather is',
    )
    expect(matches.map(({ listing }) => listing.name)).toEqual(['get_weather'])
    expect(unmatchedTerms).toEqual([])
    expect(await names(listings, 'who')).toEqual(['who'])
  })

  it('reports the words that match nothing, as written, once, in order', async () => {
    const { unmatchedTerms } = await rank(
      opened([sampleListing('get_weather', '')]),
      'Zebra weather quokka, Zebra',
    )
    expect(unmatchedTerms).toEqual(['Zebra', 'quokka'])
  })

  it('reports no numbers, which no tool is expected to mention', async () => {
    const { unmatchedTerms } = await rank(opened([sampleListing('get_weather', '')]), 'weather 17 #42 v3')
    expect(unmatchedTerms).toEqual(['v3'])
  })

  it('finds text written without spaces, with accents, or in another alphabet', async () => {
    const listings = [
      sampleListing('jp_weather', '東京の天気予報を取得します'),
      sampleListing('cn_train', '查询火车票'),
      sampleListing('menu', 'Le menu du Café'),
      sampleListing('ru', 'Прогноз погоды'),
      sampleListing('kr', '오늘 날씨를 알려줍니다'),
    ]
    expect(await names(listings, '天気予報')).toEqual(['jp_weather'])
    expect(await names(listings, '火车')).toEqual(['cn_train'])
    expect(await names(listings, 'cafe')).toEqual(['menu'])
    expect(await names(listings, 'прогноз')).toEqual(['ru'])
    expect(await names(listings, '날씨')).toEqual(['kr'])
  })

  it('finds a name by its parts or run together', async () => {
    const listings = [sampleListing('searchGitHubIssues', '')]
    for (const query of ['search', 'issues', 'hub', 'searchGitHubIssues', 'search_issues']) {
      expect(await names(listings, query)).toEqual(['searchGitHubIssues'])
    }
  })

  it('treats words of the language itself as words', async () => {
    const listings = [sampleListing('a', '__proto__ toString'), sampleListing('b', 'constructor')]
    expect(await names(listings, '__proto__')).toEqual(['a'])
    expect(await names(listings, 'constructor')).toEqual(['b'])
    expect(await names(listings, 'hasOwnProperty valueOf')).toEqual([])
  })

  it('puts the more trusted source first among equals', async () => {
    const twin = { ownName: 'twin' }
    const listings = [
      sampleListing('a', 'Twin', undefined, { ...twin, trust: 0 }),
      sampleListing('b', 'Twin', undefined, { ...twin, trust: 1 }),
    ]
    expect(await names(listings, 'twin')).toEqual(['b', 'a'])
  })

  it('survives a query of a hundred thousand characters', async () => {
    const { total } = await rank(
      opened([sampleListing('weather', '')]),
      `weather ${'blah blubb '.repeat(10_000)}`,
    )
    expect(total).toBe(1)
  })

  it('ranks after any updates like a new index', async () => {
    const words = ['read', 'reads', 'file', 'files', 'send', 'mail', 'weather']
    const text = fc.array(fc.constantFrom(...words), { maxLength: 6 }).map((picked) => picked.join(' '))
    const update = fc.record({
      source: fc.constantFrom('a', 'b', 'c'),
      texts: fc.array(text, { maxLength: 4 }),
    })
    await fc.assert(
      fc.asyncProperty(
        fc.array(update, { maxLength: 20 }),
        text.filter((query) => query !== ''),
        async (updates, query) => {
          const updated = lexical().open()
          const held = new Map<string, Listing[]>()
          for (const [turn, { source, texts }] of updates.entries()) {
            const kept = (held.get(source) ?? []).filter((_, at) => at % 2 === 0)
            const added = texts.map((description, at) =>
              sampleListing(`${source}_${turn}_${at}`, description),
            )
            held.set(source, [...kept, ...added])
            updated.update(source, [...kept, ...added])
          }
          const fresh = lexical().open()
          for (const [source, listings] of held) fresh.update(source, listings)
          expect(await rank(updated, query)).toEqual(await rank(fresh, query))
        },
      ),
    )
  })
})

describe('one character that is a word', () => {
  it('finds the longer words that contain it', async () => {
    const listings = [sampleListing('a', '車を予約する', 'x'), sampleListing('b', '天気予報', 'x')]
    expect(await names(listings, '車')).toEqual(['a'])
  })
})
