import { staticEmbedder } from '@toolcrib/embedder'
import { describe, expect, it } from 'vitest'
import type { Listing } from '../tool.ts'
import { eachPartFirst, type Fitting } from './hybrid/fitting.ts'
import { hybrid } from './hybrid.ts'
import { parseQuery } from './query/query.ts'
import { POOR_BELOW } from './search-result.ts'
import { acceptEvery, type Ranking, type SearchIndex } from './searcher.ts'
import { sampleListing, searcherContract } from './searcher-contract.ts'
import type { Embedder } from './vectors/embedder.ts'
import { fakeEmbedder, slowEmbedder } from './vectors/fake-embedder.fixture.ts'

const embedder = staticEmbedder()

describe('hybrid keeps the contract of searchers', () => {
  for (const { name, run } of searcherContract(() => hybrid({ embedder }))) it(name, run)
})

describe('hybrid, on an asynchronous embedder, keeps the contract of searchers', () => {
  const slow = slowEmbedder(fakeEmbedder())
  for (const { name, run } of searcherContract(() => hybrid({ embedder: slow }))) it(name, run)
})

describe('hybrid', () => {
  const TOOLS = [
    sampleListing('mcp__sky__get_forecast', 'Tells tomorrow’s temperature and rain for a city', 'sky'),
    sampleListing('mcp__post__send_email', 'Delivers an e-mail message to its recipients', 'post'),
    sampleListing('mcp__bank__transfer_money', 'Moves an amount from one account to another', 'bank'),
    sampleListing('mcp__git__create_pull_request', 'Opens a pull request for a branch', 'git'),
    sampleListing('mcp__photos__resize_image', 'Makes a picture smaller or larger', 'photos'),
  ]
  const open = (): SearchIndex => {
    const index = hybrid({ embedder }).open()
    for (const tool of TOOLS) index.update(tool.name, [tool])
    return index
  }

  it('finds by meaning what shares no word with the query', async () => {
    const { matches } = await rank(open(), 'weather')
    expect(matches[0]?.listing.ownName).toBe('get_forecast')
    expect(matches[0]?.reasons.join()).toMatch(/means|meaning/)
  })

  it('does not report a word as unmatched if its meaning was found', async () => {
    expect((await rank(open(), 'weather')).unmatchedTerms).toEqual([])
    expect((await rank(open(), 'weather zzyzx')).unmatchedTerms).toEqual(['zzyzx'])
  })

  it('reads the newest catalogue, also if it changes while memory or the embedder is asked', async () => {
    const replacement = sampleListing('mcp__new__close_pull_request', 'Closes a pull request', 'new')
    const replace = (index: SearchIndex) => {
      index.update('mcp__git__create_pull_request', [])
      index.update('new', [replacement])
    }
    const query = parseQuery('pull request')
    const options = { limit: 5, accepts: acceptEvery }
    const remembering = open()
    const memory = {
      lifts: async () => {
        replace(remembering)
        return []
      },
    }
    const slow = hybrid({ embedder: slowEmbedder(fakeEmbedder()) }).open()
    for (const tool of TOOLS) slow.update(tool.name, [tool])
    const embedding = slow.rank(query, options)
    replace(slow)
    for (const { matches } of [await remembering.rank(query, { ...options, memory }), await embedding]) {
      expect(matches[0]?.listing).toBe(replacement)
      expect(matches[0]?.reasons).toContain('"pull" in name, description')
    }
  })

  it('ranks again among fewer listings as if there were no others', async () => {
    const index = open()
    const noMail = (listing: Listing) => listing.ownName !== 'send_email'
    for (const query of [
      'send a picture',
      'resize the image for Ann, then email the picture to my whole team',
    ]) {
      const again = index.rankAgain?.(await rank(index, query), { limit: 4, accepts: noMail })
      const fresh = await index.rank(parseQuery(query), { limit: 4, accepts: noMail })
      expect(again?.matches).toEqual(fresh.matches)
      expect(again?.confidence).toBe(fresh.confidence)
    }
  })

  it('does not rank again where hardly any candidate is left', async () => {
    const index = open()
    const ranking = await rank(index, 'send a picture')
    const accepts = ({ ownName }: Listing) => ownName === 'send_email'
    expect(index.rankAgain?.(ranking, { limit: 4, accepts })).toBeUndefined()
  })

  it('does not rank again where only the others contained words of the request', async () => {
    const index = open()
    const words = sampleListing('mcp__evil__wire_cash', 'Wire cash, wire cash', 'evil')
    index.update('evil', [words])
    const accepts = (listing: Listing) => listing !== words
    const ranking = await rank(index, 'wire cash')
    expect(index.rankAgain?.(ranking, { limit: 4, accepts })).toBeUndefined()
    const fresh = await index.rank(parseQuery('wire cash'), { limit: 4, accepts })
    expect(fresh.matches.map(({ listing }) => listing.ownName)).toContain('transfer_money')
  })

  it('does not rank again after an update', async () => {
    const index = open()
    const ranking = await rank(index, 'send a picture')
    expect(index.rankAgain?.(ranking, { limit: 4, accepts: acceptEvery })).toBeDefined()
    index.update('more', [sampleListing('mcp__more__send_picture', 'Sends a picture', 'more')])
    expect(index.rankAgain?.(ranking, { limit: 4, accepts: acceptEvery })).toBeUndefined()
  })

  it('finds the tool of each part of a request', async () => {
    const query = 'check the weather forecast in Rome tomorrow, then email the result to my whole team'
    const { matches } = await rank(open(), query, 2)
    expect(matches.map(({ listing }) => listing.ownName).sort()).toEqual(['get_forecast', 'send_email'])
    expect(matches.flatMap(({ reasons }) => reasons).join()).toContain('matches the part "')
  })

  it('puts the best tool of each part before further tools for one of them', () => {
    const fitting = (name: string, part: string | undefined, fit: number) =>
      ({ candidate: { listing: sampleListing(name, ''), part }, fit }) as Fitting
    const order = (...parts: (string | undefined)[]) => {
      const [first, second, third] = parts
      const given = [
        fitting('a', first, 0.5),
        fitting('b', first, 0.49),
        fitting('c', second, 0.48),
        fitting('d', third, 0.4),
      ]
      return eachPartFirst(given).map(({ candidate }) => candidate.listing.name)
    }
    expect(order('hotel', 'bank', 'bank')).toEqual(['a', 'c', 'b', 'd'])
    expect(order('hotel', 'hotel', 'hotel')).toEqual(['a', 'b', 'c', 'd'])
    expect(order()).toEqual(['a', 'b', 'c', 'd'])
  })

  it('prefers the tool with the words if the meanings are close, and otherwise the tool with the meaning', async () => {
    // Every text means the same as `near`; `worded` is the only one that contains the word.
    const first = async (likeness: number): Promise<string | undefined> => {
      const worded = [likeness, Math.sqrt(1 - likeness ** 2)]
      const embed = (text: string) => Float32Array.from(text.includes('worded') ? worded : [1, 0])
      const toy: Embedder = { name: 'toy', dimensions: 2, embed: (texts) => texts.map(embed) }
      const index = hybrid({ embedder: toy }).open()
      index.update('a', [sampleListing('near', 'Something else'), sampleListing('worded', 'About a quince')])
      return (await rank(index, 'quince')).matches[0]?.listing.name
    }
    expect(await first(0.8)).toBe('worded')
    expect(await first(0.2)).toBe('near')
  })

  it('gives reasons for words and for meaning', async () => {
    const [first] = (await rank(open(), 'create pull request')).matches
    expect(first?.reasons).toContain('"pull" in name, description')
    expect(first?.reasons.some((reason) => reason.includes('means') || reason.includes('meaning'))).toBe(true)
  })

  it('is more confident of a good match than of a poor one', async () => {
    const [fitting] = (await rank(open(), 'send an email')).matches
    const [poor] = (await rank(open(), 'amount of cholesterol in grilled salmon')).matches
    expect(fitting?.score).toBeGreaterThan(0.8)
    expect(poor === undefined || poor.score < 0.5).toBe(true)
  })

  it('says so when nothing matches', async () => {
    const { total, matches, unmatchedTerms } = await rank(open(), 'zzyzx qwrtplk')
    expect([total, matches.length, unmatchedTerms]).toEqual([0, 0, ['zzyzx', 'qwrtplk']])
  })

  it('finds nothing for gibberish, and shows no score of 0.00', async () => {
    expect((await rank(open(), 'asdkjh qwe')).matches).toEqual([])
    const { matches } = await rank(open(), 'send an email')
    for (const { score } of matches) expect(score).toBeGreaterThanOrEqual(0.01)
  })

  it.each([8, 40])(
    'finds nothing for gibberish that is somewhat near to %d tools, if the embedder knows its words',
    async (length) => {
      const embed = (text: string) => (text === 'wertzu' ? [0.42, Math.sqrt(1 - 0.42 ** 2)] : [1, 0])
      const toy: Embedder = { name: 'toy', dimensions: 2, embed: (texts) => texts.map(embed) }
      const found = async (given: Embedder) => {
        const index = hybrid({ embedder: given }).open()
        const tools = Array.from({ length }, (_, at) => sampleListing(`tool_${at}`, 'Does something'))
        index.update('a', tools)
        return (await rank(index, 'wertzu')).matches.length
      }
      expect(await found({ ...toy, knows: () => false })).toBe(0)
      expect(await found({ ...toy, knows: () => true })).toBe(5)
      expect(await found(toy)).toBe(5)
    },
  )

  it('counts a quoted value less than what the request does', async () => {
    const index = open()
    index.update('x', [sampleListing('mcp__zoo__about_giraffes', 'Tells about giraffes and lions', 'zoo')])
    const [first] = (await rank(index, 'send an email with the text "giraffes and lions"')).matches
    expect(first?.listing.ownName).toBe('send_email')
  })

  it('understands everyday phrases and other languages', async () => {
    const index = open()
    index.update('x', [sampleListing('mcp__web__search', 'Searches the public web', 'web')])
    const first = async (query: string) => (await rank(index, query)).matches[0]
    expect((await first('google the opening hours'))?.listing.ownName).toBe('search')
    expect((await first('google the opening hours'))?.reasons.join()).toContain('"google" ("search") in name')
    expect((await first('schicke eine Nachricht'))?.listing.ownName).toBe('send_email')
  })

  it('takes adding numbers for a sum, and asking what is known for memory, in several languages', async () => {
    const index = hybrid({ embedder }).open()
    index.update('graph', [
      sampleListing('mcp__graph__add_observations', 'Add new observations to existing entities', 'graph'),
      sampleListing('mcp__graph__read_graph', 'Read the entire knowledge graph', 'graph'),
      sampleListing('mcp__graph__delete_relations', 'Delete multiple relations', 'graph'),
    ])
    index.update('files', [
      sampleListing('mcp__files__read_text_file', 'Read the complete contents of a file as text', 'files'),
    ])
    index.update('maths', [
      sampleListing('mcp__maths__get-sum', 'Returns the sum of two numbers', 'maths'),
      sampleListing('mcp__maths__echo', 'Echoes back the input string', 'maths'),
    ])
    const first = async (query: string) => (await rank(index, query)).matches[0]?.listing.ownName
    for (const query of ['add numbers', 'what is 3 plus 4', 'zwei Zahlen addieren', '两个数相加'])
      expect(await first(query), query).toBe('get-sum')
    expect(await first('what do you know about me')).toBe('read_graph')
    expect(await first('add 3 observations')).toBe('add_observations')
  })

  it('lifts what memory knows, also what no ranking put forward, and only what is accepted', async () => {
    const memory = { lifts: () => [{ id: 'mcp__photos__resize_image', lift: 0.9 }] }
    const query = parseQuery('create pull request')
    const ranked = await open().rank(query, { limit: 5, accepts: acceptEvery, memory })
    expect(ranked.matches[0]?.listing.ownName).toBe('resize_image')
    expect(ranked.matches[0]?.reasons).toContain('served a similar request before')
    expect(ranked.vector).toHaveLength(256)
    const accepts = ({ ownName }: { ownName: string }) => ownName !== 'resize_image'
    const { matches } = await open().rank(query, { limit: 5, accepts, memory })
    expect(matches[0]?.listing.ownName).toBe('create_pull_request')
  })

  it('ignores hidden characters', async () => {
    const index = hybrid({ embedder }).open()
    index.update('a', [
      sampleListing('deliver_message', 'Sends an em\u200Bail\u{E0041}\u{E0042} to a mail\u00ADbox'),
    ])
    expect((await rank(index, 'email mailbox')).total).toBe(1)
  })

  it('leaves filters out of the meaning', async () => {
    const { matches } = await rank(open(), 'forecast -transfer_money')
    expect(matches[0]?.listing.ownName).toBe('get_forecast')
  })
})

describe('hybrid, asked in words that no tool contains', () => {
  const tool = (server: string, name: string, description: string) =>
    sampleListing(`mcp__${server}__${name}`, description, server)
  const TOOLS = [
    tool('memory', 'create_entities', 'Create multiple new entities in the knowledge graph'),
    tool('memory', 'add_observations', 'Add new observations to existing entities in the knowledge graph'),
    tool('memory', 'delete_entities', 'Delete multiple entities from the knowledge graph'),
    tool('memory', 'read_graph', 'Read the entire knowledge graph'),
    tool('files', 'read_text_file', 'Read the complete contents of a file as text'),
    tool('files', 'write_file', 'Create a new file or completely overwrite an existing file'),
    tool('files', 'get_file_info', 'Retrieve metadata about a file or directory: size, times, permissions'),
    tool('demo', 'get_sum', 'Returns the sum of two numbers'),
  ]
  const open = (): SearchIndex => {
    const index = hybrid({ embedder }).open()
    index.update('all', TOOLS)
    return index
  }

  it.each(['remember something about a person', 'store what I know about Anna'])(
    'finds memory for "%s"',
    async (query) => {
      const { matches, confidence } = await rank(open(), query)
      expect(matches[0]?.listing.source).toMatchObject({ server: 'memory' })
      expect(confidence).toBe(matches[0]?.score)
    },
  )

  it.each(['keep facts regarding colleagues', 'inspect my documents'])(
    'finds the nearest tools for "%s", with a low score, rather than nothing',
    async (query) => {
      const { matches } = await rank(open(), query)
      expect(matches.length).toBeGreaterThan(0)
      for (const { score } of matches) {
        expect(score).toBeGreaterThanOrEqual(0.01)
        expect(score).toBeLessThan(POOR_BELOW)
      }
    },
  )

  it.each(['asdkjh qwe', 'zzyzx qwrtplk', 'blorp', 'q w'])('finds nothing for "%s"', async (query) => {
    expect((await rank(open(), query)).matches).toEqual([])
  })

  it('finds nothing for words with a meaning that no tool is near to', async () => {
    expect((await rank(open(), 'order a pizza')).matches).toEqual([])
  })
})

describe('the score of hybrid, in a small catalogue', () => {
  const tool = (server: string, name: string, description: string) =>
    sampleListing(`mcp__${server}__${name}`, description, server)
  const TOOLS = [
    tool('memory', 'create_entities', 'Create multiple new entities in the knowledge graph'),
    tool('memory', 'delete_relations', 'Delete multiple relations from the knowledge graph'),
    tool('memory', 'search_nodes', 'Search for nodes in the knowledge graph based on a query'),
    tool('files', 'read_text_file', 'Read the complete contents of a file from the file system as text'),
    tool('files', 'write_file', 'Create a new file or completely overwrite an existing file'),
    tool(
      'files',
      'get_file_info',
      'Retrieve detailed metadata about a file or directory: size, creation time, last modified time, permissions',
    ),
    tool(
      'demo',
      'get_env',
      'Returns all environment variables, helpful for debugging the server configuration',
    ),
    tool('demo', 'trigger_elicitation', 'Trigger a request from the server for user elicitation'),
    tool('demo', 'get_sum', 'Returns the sum of two numbers'),
  ]
  const scoreOf = async (query: string): Promise<number> => {
    const index = hybrid({ embedder }).open()
    index.update('all', TOOLS)
    return (await rank(index, query)).matches[0]?.score ?? 0
  }

  it.each(['what time is it', 'restart the server', 'create a pull request', 'what size of shoes do I need'])(
    'is low if one common word of "%s" is all that matches',
    async (query) => {
      expect(await scoreOf(query)).toBeLessThan(0.25)
    },
  )

  it.each(['read a file', 'show environment variables', 'write hello to notes.txt'])(
    'is high for "%s", which has a tool',
    async (query) => {
      expect(await scoreOf(query)).toBeGreaterThan(0.5)
    },
  )

  it('is higher for a tool that exists than for one that would be similar', async () => {
    expect(await scoreOf('delete relations')).toBeGreaterThan(0.9)
    expect(await scoreOf('delete a file')).toBeLessThan(0.6)
  })
})

describe('hybrid, when its embedder fails', () => {
  const SEND = sampleListing('send_message', 'Sends a message to a channel')
  const DELETE = sampleListing('delete_message', 'Deletes a message')
  const vectorsOf = (texts: readonly string[]) => texts.map(() => Float32Array.from([1, 0]))
  const broken: readonly [string, Embedder['embed'], string][] = [
    ['throws', () => fail(), 'the model is down'],
    ['rejects', async () => fail(), 'the model is down'],
    ['returns too few vectors', (texts) => vectorsOf(texts).slice(1), 'vectors for'],
    ['returns other dimensions', (texts) => texts.map(() => [1, 0, 0]), '3 dimensions instead of 2'],
    ['returns NaN', (texts) => texts.map(() => [Number.NaN, 0]), 'not finite'],
    ['returns Infinity', async (texts) => texts.map(() => [Number.POSITIVE_INFINITY, 0]), 'not finite'],
    ['returns texts', (texts) => texts.map(() => ['1', '0']) as never, 'not finite'],
    ['returns no vectors', () => undefined as never, 'did not return an array'],
    ['returns no vector', (texts) => texts.map(() => null) as never, 'neither'],
  ]

  it.each(broken)('ranks by words alone when it %s, and says why', async (_, embed, reason) => {
    const index = hybrid({ embedder: { name: 'broken', dimensions: 2, embed } }).open()
    index.update('a', [DELETE, SEND])
    const { matches, total, failure } = await rank(index, 'send message')
    expect([total, matches.map(({ listing }) => listing.name)]).toEqual([
      2,
      ['send_message', 'delete_message'],
    ])
    expect(matches[0]?.score).toBe(1)
    expect(String(failure)).toContain(reason)
  })

  it('does not wait for an embedder that hangs, and tries again later', async () => {
    const timers: (() => void)[] = []
    const schedule = (_: number, fire: () => void) => {
      timers.push(fire)
      return () => {}
    }
    let calls = 0
    const embed = (): Promise<never> => {
      calls++
      return new Promise(() => {})
    }
    const index = hybrid({ embedder: { name: 'hanging', dimensions: 2, embed }, schedule }).open()
    index.update('a', [DELETE, SEND])
    const search = rank(index, 'send message')
    timers.shift()?.()
    const { matches, failure } = await search
    expect(matches[0]?.listing.name).toBe('send_message')
    expect(String(failure)).toContain('did not respond within 10000 ms')
    const callsBefore = calls
    expect(String((await rank(index, 'send message')).failure)).toContain('did not respond')
    expect(calls).toBe(callsBefore)
    timers.shift()?.()
    const later = rank(index, 'send message')
    expect(calls).toBeGreaterThan(callsBefore)
    timers.shift()?.()
    await later
  })

  it('ranks by meaning again once the embedder is back', async () => {
    let isDown = true
    const embed = async (texts: readonly string[]) => (isDown ? fail() : vectorsOf(texts))
    const index = hybrid({ embedder: { name: 'flaky', dimensions: 2, embed } }).open()
    index.update('a', [SEND])
    expect((await rank(index, 'zzyzx')).total).toBe(0)
    isDown = false
    const { total, failure } = await rank(index, 'zzyzx')
    expect([total, failure]).toEqual([1, undefined])
  })

  it('accepts vectors of plain numbers', async () => {
    const embed = (texts: readonly string[]) => texts.map(() => [0.6, 0.8])
    const index = hybrid({ embedder: { name: 'plain', dimensions: 2, embed } }).open()
    index.update('a', [SEND])
    expect(await rank(index, 'zzyzx')).toMatchObject({ total: 1, unmatchedTerms: [] })
  })

  it('reads requests by their own method, if the embedder has one', async () => {
    const read: Record<'tools' | 'requests', string[]> = { tools: [], requests: [] }
    const reader = (kind: 'tools' | 'requests') => (texts: readonly string[]) => {
      read[kind].push(...texts)
      return texts.map(() => [0.6, 0.8])
    }
    const embedder = {
      name: 'two ways',
      dimensions: 2,
      embed: reader('tools'),
      embedRequests: reader('requests'),
    }
    const index = hybrid({ embedder }).open()
    index.update('a', [SEND])
    await rank(index, 'zzyzx')
    expect(read.tools).toHaveLength(1)
    expect(new Set(read.requests)).toEqual(new Set(['zzyzx']))
  })

  it.each([
    [{ dimensions: 2, embed: vectorsOf }, 'a name'],
    [{ name: 'x', dimensions: 0, embed: vectorsOf }, 'dimensions'],
    [{ name: 'x', dimensions: 2.5, embed: vectorsOf }, 'dimensions'],
    [{ name: 'x', dimensions: 2, relatedFrom: 2, embed: vectorsOf }, 'relatedFrom'],
    [{ name: 'x', dimensions: 2 }, 'embed'],
    [{ name: 'x', dimensions: 2, embed: vectorsOf, embedRequests: 2 }, 'embedRequests'],
  ])('refuses %j, which is not an embedder', (given, missing) => {
    expect(() => hybrid({ embedder: given as never })).toThrow(missing)
    expect(() => hybrid({ embedder: given as never })).toThrow(
      expect.objectContaining({ code: 'config-invalid' }),
    )
  })

  function fail(): never {
    throw new Error('the model is down')
  }
})

async function rank(index: SearchIndex, text: string, limit = 5): Promise<Ranking> {
  return await index.rank(parseQuery(text), { limit, accepts: acceptEvery })
}
