import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { sourceKey } from '../names.ts'
import { Slices } from '../slices.ts'
import type { Listing } from '../tool.ts'
import { CatalogueSearch } from './catalogue-search.ts'
import type { CatalogueFindings, CatalogueSearchOptions } from './findings.ts'
import { lexical } from './lexical.ts'
import { regex } from './regex.ts'
import type { Searcher } from './searcher.ts'
import { sampleListing } from './searcher-contract.ts'
import { weighted } from './weighted.ts'

const github = (own: string, description: string, extra?: Partial<Listing>): Listing =>
  sampleListing(`mcp__github__${own}`, description, 'github', extra)
const slack = (own: string, description: string, extra?: Partial<Listing>): Listing =>
  sampleListing(`mcp__slack__${own}`, description, 'slack', extra)

const CATALOGUE = [
  github('search', 'Search code on GitHub'),
  github('create_issue', 'Create an issue in a repository'),
  github('create_pull_request', 'Propose a change'),
  slack('search', 'Search messages'),
  slack('send_message', 'Send a message to a channel'),
  slack('delete_message', 'Delete a message from a channel'),
  sampleListing('read_file', 'Read a file', undefined, { source: { kind: 'builtin' } }),
]

function catalogueOf(listings: readonly Listing[], searcher?: Searcher): CatalogueSearch {
  const catalogue = new CatalogueSearch(searcher)
  catalogue.sync(grouped(listings))
  return catalogue
}

function grouped(listings: readonly Listing[]): Map<string, Listing[]> {
  const groups = new Map<string, Listing[]>()
  for (const listing of listings) {
    const key = sourceKey(listing.source)
    groups.set(key, [...(groups.get(key) ?? []), listing])
  }
  return groups
}

function names({ ranked }: CatalogueFindings): string[] {
  return ranked.map(({ listing }) => listing.name)
}

async function find(
  query: string,
  options?: CatalogueSearchOptions,
  listings = CATALOGUE,
): Promise<string[]> {
  return names(await catalogueOf(listings).search(query, options))
}

describe('the query language', () => {
  it('returns the tools of select: in the given order, and reports missing ones', async () => {
    const findings = await catalogueOf(CATALOGUE).search('select:read_file, nope, mcp__slack__search', {
      limit: 1,
    })
    expect(names(findings)).toEqual(['read_file', 'mcp__slack__search'])
    expect(findings).toMatchObject({ kind: 'select', total: 2, missing: ['nope'] })
  })

  it('counts a rejected or unready tool as missing', async () => {
    const findings = await catalogueOf(CATALOGUE).search('select:read_file,create_issue,send_message', {
      accepts: ({ name }) => name !== 'read_file',
      isReady: ({ ownName }) => ownName !== 'create_issue',
    })
    expect(names(findings)).toEqual(['mcp__slack__send_message'])
    expect(findings.missing).toEqual(['read_file', 'create_issue'])
  })

  it('filters by +word in name, description or hint, without ranking by it', async () => {
    expect(await find('+slack search message')).toEqual([
      'mcp__slack__search',
      'mcp__slack__delete_message',
      'mcp__slack__send_message',
    ])
    expect(await find('+propose github')).toEqual(['mcp__github__create_pull_request'])
    const hinted = sampleListing('x', 'message', undefined, { searchHint: 'urgent' })
    expect(await find('+urgent message', {}, [...CATALOGUE, hinted])).toEqual(['x'])
    const [plain] = (await catalogueOf(CATALOGUE).search('send')).ranked
    const [filtered] = (await catalogueOf(CATALOGUE).search('send +slack')).ranked
    expect(filtered?.score).toBe(plain?.score)
  })

  it('keeps everything that passes +word: tools that match no other word come last, by name', async () => {
    const findings = await catalogueOf(CATALOGUE).search('+slack channel foo')
    expect(names(findings)).toEqual([
      'mcp__slack__delete_message',
      'mcp__slack__send_message',
      'mcp__slack__search',
    ])
    expect(findings).toMatchObject({ total: 3, unmatchedTerms: ['foo'] })
    expect(findings.ranked.at(-1)).toMatchObject({ score: 0, reasons: ['passes +slack'] })
    expect(await find('+slack foo', { limit: 2 })).toEqual([
      'mcp__slack__delete_message',
      'mcp__slack__search',
    ])
    expect(await find('+slack foo', { limit: 2, offset: 2 })).toEqual(['mcp__slack__send_message'])
    expect(await find('+slack channel', { limit: 2, offset: 1 })).toEqual([
      'mcp__slack__send_message',
      'mcp__slack__search',
    ])
    const isReady = ({ ownName }: Listing) => ownName !== 'search'
    expect(await find('+slack foo', { isReady })).toEqual([
      'mcp__slack__delete_message',
      'mcp__slack__send_message',
    ])
  })

  it('lists what passes only +words, by name', async () => {
    expect(await find('+slack')).toEqual([
      'mcp__slack__delete_message',
      'mcp__slack__search',
      'mcp__slack__send_message',
    ])
    expect(await find('+slack +channel -delete')).toEqual(['mcp__slack__send_message'])
    expect(await catalogueOf(CATALOGUE).search('+quokka')).toEqual({
      query: '+quokka',
      kind: 'keyword',
      total: 0,
      ranked: [],
      unmatchedTerms: ['quokka'],
    })
  })

  it.each(['-_', '-"-"', '-" "', '+_', '+"..."', '-"/"'])('ignores the filter %j', async (filter) => {
    expect(await find(`send ${filter}`)).toEqual(['mcp__slack__send_message'])
  })

  it('reads only the beginning of a query that is far too long', async () => {
    const listings = Array.from({ length: 300 }, (_, at) =>
      sampleListing(`tool_${at}`, 'x, y, z '.repeat(200)),
    )
    for (const text of [
      'a b c '.repeat(50_000),
      '+a '.repeat(100_000),
      'a,'.repeat(150_000),
      '-a_b '.repeat(60_000),
    ])
      for (const searcher of [weighted(), lexical()]) {
        const catalogue = catalogueOf([...listings, ...CATALOGUE], searcher)
        const { query, ranked } = await catalogue.search(`message ${text} zebra`)
        expect(query.length).toBeGreaterThan(250_000)
        // Neither what the end asks for nor what it excludes counts.
        expect(ranked.length).toBeGreaterThan(0)
        const names = async (end: string) =>
          (await catalogue.search(`message ${text} ${end}`)).ranked.map(({ listing }) => listing.name)
        expect(await names('delete -message +zebra')).toEqual(await names('zebra'))
      }
  })

  it('leaves out tools that contain -word', async () => {
    expect(await find('message -delete')).toEqual(['mcp__slack__send_message', 'mcp__slack__search'])
  })

  it('keeps to a server, named in the query or in the options', async () => {
    expect(await find('search server:slack')).toEqual(['mcp__slack__search'])
    expect(await find('search', { server: 'GitHub' })).toEqual(['mcp__github__search'])
    expect(await find('search server:slack', { server: 'github' })).toEqual([])
  })

  it('lists a server by name', async () => {
    const findings = await catalogueOf(CATALOGUE).search('server:slack', { limit: 2, offset: 1 })
    expect(names(findings)).toEqual(['mcp__slack__search', 'mcp__slack__send_message'])
    expect(findings.total).toBe(3)
  })

  it('requires a phrase, in names too', async () => {
    const approved = CATALOGUE.map((listing): Listing => ({ ...listing, trust: 1 }))
    expect(await find('create "pull request"', {}, approved)).toEqual(['mcp__github__create_pull_request'])
    expect(await find('"a message"')).toEqual(['mcp__slack__delete_message', 'mcp__slack__send_message'])
    expect(await find('"request pull"')).toEqual([])
  })

  it('reads a request in quotes as words if no listing contains it', async () => {
    expect((await find('"delete the message"'))[0]).toBe('mcp__slack__delete_message')
  })

  it('beside other words, requires a phrase only if the catalogue at large speaks that way', async () => {
    const evil = sampleListing('mcp__evil__do_it', 'Anything with a budget plan or budget2.xls', 'evil')
    const other = sampleListing('mcp__other__plan', 'Makes a budget plan', 'other')
    const first = async (query: string, others: readonly Listing[]) =>
      (await find(query, {}, [...CATALOGUE, ...others]))[0]
    // One unapproved source may contain it only to be found.
    expect(await first('send message "budget plan"', [evil])).toBe('mcp__slack__send_message')
    expect(await find('send message "budget plan"', {}, [...CATALOGUE, evil, other])).not.toContain(
      'mcp__slack__send_message',
    )
    expect(await first('send message "budget plan"', [{ ...evil, trust: 1 }])).toBe('mcp__evil__do_it')
    // A file name says what a tool works on, whoever contains it.
    expect(await first('send message "budget2.xls"', [{ ...evil, trust: 1 }])).toBe(
      'mcp__slack__send_message',
    )
    expect(await find('"budget plan"', {}, [...CATALOGUE, evil])).toEqual(['mcp__evil__do_it'])
  })

  it('falls back to the words of a phrase that no tool contains, and says so', async () => {
    const findings = await catalogueOf(CATALOGUE).search('send message "quarterly figures"')
    expect(names(findings)[0]).toBe('mcp__slack__send_message')
    expect(findings.unmatchedTerms).toEqual(['"quarterly figures"', 'quarterly', 'figures'])
    const one = await catalogueOf(CATALOGUE).search('send message "zebras"')
    expect(one.unmatchedTerms).toEqual(['"zebras"'])
  })

  it('hands /regex/ to the regex searcher, whatever the searcher', async () => {
    const findings = await catalogueOf(CATALOGUE, weighted()).search('/_(issue|file)$/')
    expect(findings.kind).toBe('regex')
    expect(names(findings)).toEqual(['mcp__github__create_issue', 'read_file'])
  })

  it('reads plain text as a pattern when the searcher is regex', async () => {
    expect(await find('^mcp__slack__s', { searcher: regex() })).toEqual([
      'mcp__slack__search',
      'mcp__slack__send_message',
    ])
    expect(await find('.*', { searcher: regex(), limit: 50 })).toHaveLength(CATALOGUE.length)
  })

  it('passes on what is wrong with a query or a pattern', async () => {
    await expect(find('-slack')).rejects.toMatchObject({ code: 'query-invalid' })
    await expect(find('/(/')).rejects.toMatchObject({ code: 'pattern-invalid' })
  })
})

describe('an exact name', () => {
  const noise = Array.from({ length: 30 }, (_, at) =>
    sampleListing(`mcp__noise${at}__search_github_search`, 'search github search', `noise${at}`),
  )
  const crowded = [...noise, ...CATALOGUE]

  it.each(['mcp__github__search', 'github.search', 'github__search', 'GitHub search', 'github/search'])(
    'comes first when written as %j',
    async (query) => expect((await find(query, {}, crowded))[0]).toBe('mcp__github__search'),
  )

  it('comes first when bare and unique', async () => {
    const listings = [...noise, github('search', 'x'), sampleListing('searchable', 'search search search')]
    const findings = await catalogueOf(listings).search('search')
    expect(names(findings)[0]).toBe('mcp__github__search')
    expect(findings.ranked[0]?.reasons[0]).toBe('exact name')
  })

  it('that several sources share puts all of theirs first, and select: lists them', async () => {
    const shared = [...noise, github('create_note', ''), slack('create_note', 'Create a note in a channel')]
    const both = ['mcp__slack__create_note', 'mcp__github__create_note']
    expect((await find('create_note', {}, shared)).slice(0, 2)).toEqual(both)
    expect((await find('create note', {}, shared)).slice(0, 2)).toEqual(both)
    expect((await find('select:create_note', {}, shared)).toSorted()).toEqual(both.toSorted())
  })

  it('comes first for every searcher, even one that finds nothing by it', async () => {
    for (const query of [
      'mcp__github__create_issue',
      'MCP__GITHUB__CREATE_ISSUE',
      'mcp.github.create-issue',
      'mcp_github_create_issue',
    ]) {
      const findings = await catalogueOf(CATALOGUE, weighted()).search(query)
      expect(names(findings)[0]).toBe('mcp__github__create_issue')
      expect(findings.ranked[0]?.reasons[0]).toBe('exact name')
      expect(findings.unmatchedTerms).toBeUndefined()
    }
  })

  it('keeps the score its searcher gives it', async () => {
    const builtin = sampleListing('search', '', undefined, { source: { kind: 'builtin' } })
    const pair = [builtin, github('search', '')]
    const { ranked } = await catalogueOf(pair, weighted()).search('search')
    expect(ranked.map(({ listing, score }) => [listing.name, score])).toEqual([
      ['search', 10],
      ['mcp__github__search', 12],
    ])
  })

  it('does not apply to a pattern', async () => {
    const findings = await catalogueOf(CATALOGUE).search('/github.create_issue/')
    expect(findings.total).toBe(0)
  })

  it('never scores below what follows it', async () => {
    const scores = (await catalogueOf(crowded).search('github.search', { limit: 20 })).ranked.map(
      ({ score }) => score,
    )
    expect(scores).toEqual(scores.toSorted((a, b) => b - a))
  })

  it('is not reported as unmatched when a filter caused the miss', async () => {
    const unmatched = async (query: string) => (await catalogueOf(CATALOGUE).search(query)).unmatchedTerms
    expect(await unmatched('+zebra send message')).toEqual(['zebra'])
    expect(await unmatched('unicorn server:nope send')).toEqual(['unicorn', 'server:nope'])
    expect(await unmatched('zebra "no such" file unicorn')).toEqual(['zebra', '"no such"', 'unicorn'])
  })

  it('is found in a list of names and within a sentence', async () => {
    expect((await find('send_message, create_issue')).slice(0, 2)).toEqual([
      'mcp__slack__send_message',
      'mcp__github__create_issue',
    ])
    expect((await find('please use mcp__slack__delete_message to tidy up'))[0]).toBe(
      'mcp__slack__delete_message',
    )
  })

  it('is found again after its source changed, and forgotten with it', async () => {
    const catalogue = catalogueOf(CATALOGUE)
    catalogue.sync(grouped([github('renamed', 'x')]))
    expect(names(await catalogue.search('select:github.renamed'))).toEqual(['mcp__github__renamed'])
    expect((await catalogue.search('select:mcp__slack__search')).missing).toEqual(['mcp__slack__search'])
  })

  it.each(['__proto__', 'constructor', 'toString'])('may be %j', async (name) => {
    expect(await find(`select:${name}`, {}, [sampleListing(name, '', undefined, { ownName: name })])).toEqual(
      [name],
    )
    expect((await catalogueOf(CATALOGUE).search(`select:${name}`)).missing).toEqual([name])
  })

  it('may repeat: listings are identified by object identity', async () => {
    const twins = [sampleListing('twin', 'first of them'), sampleListing('twin', 'the other')]
    expect(await find('twin', {}, twins)).toEqual(['twin', 'twin'])
  })
})

describe('a service that a request begins with', () => {
  const absent = async (query: string) => (await catalogueOf(CATALOGUE).search(query)).absentService

  it('is named if no listing mentions it', async () => {
    expect(await absent('jira create issue')).toBe('jira')
    expect(await absent('github create issue')).toBeUndefined()
  })

  it('is no other word without a match', async () => {
    expect(await absent('overdue issues')).toBeUndefined()
    expect(await absent('create an urgent issue')).toBeUndefined()
  })
})

describe('a page', () => {
  const listings = Array.from({ length: 60 }, (_, at) =>
    sampleListing(`tool_${String(at).padStart(2, '0')}`, `Handles mail in its own way, number ${at}`),
  )

  it('follows from the one before', async () => {
    const whole = await find('mail', { limit: 60 }, listings)
    const paged: string[] = []
    for (let offset = 0; offset < 60; offset += 7)
      paged.push(...(await find('mail', { limit: 7, offset }, listings)))
    expect(paged).toEqual(whole)
    expect(whole).toHaveLength(60)
  })

  it.each([
    [0, 1],
    [-3, 1],
    [2.9, 2],
    [Number.NaN, 5],
    [Number.POSITIVE_INFINITY, 60],
  ])('of limit %d holds %d', async (limit, count) => {
    expect(await find('mail', { limit }, listings)).toHaveLength(count)
  })

  it('contains the rest, even far out where thousands match', async () => {
    const thousands = Array.from({ length: 5000 }, (_, at) =>
      sampleListing(`mcp__s${at % 50}__t${at}`, `Handles mail number ${at} of ${at * 7}`, `s${at % 50}`),
    )
    expect(await find('mail', { offset: Number.MAX_SAFE_INTEGER }, thousands)).toEqual([])
    expect(await find('mail', { offset: 4990, limit: 1000 }, thousands)).toHaveLength(10)
  })

  it('is empty beyond the end and starts at 0 before the start', async () => {
    expect(await find('mail', { offset: 1000 }, listings)).toEqual([])
    expect(await find('mail', { offset: -5 }, listings)).toEqual(await find('mail', {}, listings))
  })

  it('fills up with the next ones when some are not ready, and asks only about those it reaches', async () => {
    const asked: string[] = []
    const isReady = ({ name }: Listing): boolean => asked.push(name) > 0 && Number(name.slice(-2)) % 2 === 1
    const found = await find('mail', { limit: 5, isReady }, listings)
    expect(found).toHaveLength(5)
    expect(found.every((name) => Number(name.slice(-2)) % 2 === 1)).toBe(true)
    expect(asked.length).toBeLessThan(30)
    expect(new Set(asked).size).toBe(asked.length)
  })

  it('shows what is ready even when nearly nothing is', async () => {
    const isReady = ({ name }: Listing): boolean => name === 'tool_59'
    const findings = await catalogueOf(listings).search('mail', { isReady })
    expect(names(findings)).toEqual(['tool_59'])
    expect(findings.total).toBe(1)
  })
})

describe('a rejected listing', () => {
  it('leaves no trace: not as a match, in the total, or in the terms', async () => {
    const accepts = ({ source }: Listing): boolean => source.kind !== 'mcp'
    const findings = await catalogueOf(CATALOGUE).search('read repository channel', { accepts })
    expect(names(findings)).toEqual(['read_file'])
    expect(findings).toMatchObject({ total: 1, unmatchedTerms: ['repository', 'channel'] })
  })

  it('gives an empty result when nothing matches, without filler', async () => {
    expect(await catalogueOf(CATALOGUE).search('quokka')).toEqual({
      query: 'quokka',
      kind: 'keyword',
      total: 0,
      ranked: [],
      unmatchedTerms: ['quokka'],
    })
  })
})

describe('clones of another source', () => {
  const schema = { type: 'object', properties: { query: {}, page: {} } }
  const original = sampleListing(
    'mcp__alpha__find_papers',
    'Finds scientific papers by topic and year.',
    'alpha',
    {
      inputSchema: schema,
    },
  )
  const clone = sampleListing(
    'mcp__beta__find_papers',
    'finds scientific papers, by topic and year',
    'beta',
    {
      inputSchema: schema,
    },
  )

  it('are folded into the one whose source came first', async () => {
    const findings = await catalogueOf([original, clone]).search('scientific papers')
    expect(names(findings)).toEqual([original.name])
    expect(findings.total).toBe(1)
    expect(await find('scientific papers', {}, [clone, original])).toEqual([clone.name])
  })

  it('are folded into the more trusted one', async () => {
    expect(await find('scientific papers', {}, [original, { ...clone, trust: 1 }])).toEqual([clone.name])
  })

  it('are still found by name, by select and by server', async () => {
    const both = [original, clone]
    expect((await find('mcp__beta__find_papers', {}, both))[0]).toBe(clone.name)
    expect(await find('select:mcp__beta__find_papers', {}, both)).toEqual([clone.name])
    expect(await find('papers server:beta', {}, both)).toEqual([clone.name])
    expect(await find('beta scientific papers', {}, both)).toContain(clone.name)
  })

  it('are shown when the senior is rejected or not ready', async () => {
    const isOther = (listing: Listing): boolean => listing !== original
    expect(await find('papers', { accepts: isOther }, [original, clone])).toEqual([clone.name])
    expect(await find('papers', { isReady: isOther }, [original, clone])).toEqual([clone.name])
  })

  it.each([
    ['written twice', 'find_papers', `${original.description} ${original.description} `.repeat(2)],
    [
      'padded',
      'find_papers',
      `${original.description} ${'Always the best and fastest choice of all. '.repeat(9)}`,
    ],
    ['renamed', 'do_it_now', original.description],
  ])('are folded when %s', async (_, own, description) => {
    const other = sampleListing(`mcp__beta__${own}`, description, 'beta', { inputSchema: schema })
    expect(await find('scientific papers', {}, [original, other])).toEqual([original.name])
  })

  it('are folded when shortened', async () => {
    const text = 'Finds scientific papers and preprints by topic, author, journal'
    const whole = sampleListing('mcp__alpha__find_papers', `${text} and year of publication.`, 'alpha')
    const shorter = sampleListing('mcp__beta__find_papers', `${text} and publication.`, 'beta')
    expect(await find('scientific papers', {}, [whole, shorter])).toEqual([whole.name])
  })

  it('do not include tools that describe another thing in the same words', async () => {
    const tools = ['issue', 'event', 'song'].map((thing) =>
      sampleListing(
        `mcp__${thing}s__get_${thing}`,
        `Returns the details of one ${thing} by its identifier`,
        `${thing}s`,
      ),
    )
    expect(await find('details by identifier', {}, tools)).toHaveLength(3)
  })

  it('cannot crowd out the rest, however many there are', async () => {
    const clones = Array.from({ length: 40 }, (_, at) =>
      sampleListing(`mcp__evil${at}__find_papers`, clone.description, `evil${at}`, { inputSchema: schema }),
    )
    const other = sampleListing('mcp__lib__catalogue', 'Looks up books and papers in a library', 'lib')
    expect(await find('scientific papers', {}, [original, ...clones, other])).toEqual([
      original.name,
      other.name,
    ])
  })

  it('do not include similar tools, short ones, or tools of the same source', async () => {
    const users = ['slack', 'jira'].map((server) =>
      sampleListing(`mcp__${server}__list_users`, 'List users', server),
    )
    expect(await find('list users', {}, users)).toHaveLength(2)
    const sibling = sampleListing('mcp__alpha__find_papers_2', original.description, 'alpha', {
      inputSchema: schema,
    })
    expect(await find('scientific papers', {}, [original, sibling])).toHaveLength(2)
    expect(await find('scientific papers', {}, [original, { ...sibling, trust: 1 }])).toHaveLength(2)
    const similar = sampleListing('mcp__beta__find_patents', 'Finds patents by holder and country', 'beta')
    expect(await find('finds', {}, [original, similar])).toHaveLength(2)
  })
})

describe('indexes', () => {
  /** A searcher that records the updates of its index. */
  function recording(): { searcher: Searcher; updates: string[] } {
    const updates: string[] = []
    const inner = weighted()
    const open: Searcher['open'] = () => {
      const index = inner.open()
      return {
        update: (source, listings) => {
          updates.push(`${source} ${listings.length}`)
          index.update(source, listings)
        },
        rank: async (query, options) => index.rank(query, options),
      }
    }
    return { searcher: { name: 'recording', open }, updates }
  }

  it('are opened once, on first use, and updated only with changes', async () => {
    const { searcher, updates } = recording()
    const catalogue = new CatalogueSearch(searcher)
    const groups = grouped(CATALOGUE)
    catalogue.sync(groups)
    expect(updates).toEqual([])
    await catalogue.search('search')
    expect(updates.splice(0)).toEqual(['mcp:github 3', 'mcp:slack 3', 'builtin 1'])
    catalogue.sync(new Map(groups))
    await catalogue.search('search')
    expect(updates).toEqual([])
    catalogue.sync(new Map([...groups, ['mcp:slack', []]]))
    groups.delete('builtin')
    catalogue.sync(groups)
    await catalogue.search('search')
    expect(updates).toEqual(['builtin 0'])
  })

  it('follow a searcher named for one search', async () => {
    const { searcher, updates } = recording()
    const catalogue = catalogueOf(CATALOGUE)
    await catalogue.search('search', { searcher })
    await catalogue.search('search', { searcher })
    expect(updates).toHaveLength(3)
  })

  it('may rank asynchronously: a searcher may return a promise', async () => {
    const { searcher } = recording()
    expect(names(await catalogueOf(CATALOGUE, searcher).search('channel'))).toEqual([
      'mcp__slack__delete_message',
      'mcp__slack__send_message',
    ])
  })
})

describe('a large catalogue', () => {
  /** Slices that are over at each step, and how often the work paused. */
  function countedSlices() {
    let time = 0
    const counted = { pauses: 0 }
    const defer = (next: () => void) => {
      counted.pauses++
      setImmediate(next)
    }
    return { counted, slices: new Slices({ now: () => time++, defer, sliceMs: 1 }) }
  }
  const WORDS = ['invoice', 'issue', 'message', 'file', 'order']
  const many = (server: string, count: number, text: string) =>
    Array.from({ length: count }, (_, at) =>
      sampleListing(`mcp__${server}__t${at}`, `${text} ${WORDS[at % WORDS.length]} ${at}`, server),
    )

  it('is indexed in slices before a search', async () => {
    const { counted, slices } = countedSlices()
    const catalogue = new CatalogueSearch()
    const groups = grouped(many('a', 1_000, 'Create'))
    await catalogue.prepare(groups, slices)
    expect(counted.pauses).toBeGreaterThan(15)
    catalogue.sync(groups)
    const found = await catalogue.search('create invoice')
    expect(found).toEqual(await catalogueOf(many('a', 1_000, 'Create')).search('create invoice'))
  })

  it('finds the same, however its lists change while it is prepared', async () => {
    const lists = fc.dictionary(
      fc.constantFrom('a', 'b', 'c'),
      fc.record({ count: fc.constantFrom(0, 1, 70, 200), text: fc.constantFrom('Create', 'Delete') }),
    )
    const known = new Map<string, Listing[]>()
    const groupsOf = (servers: Record<string, { count: number; text: string }>) =>
      grouped(
        Object.entries(servers).flatMap(([server, { count, text }]) => {
          const key = `${server} ${text}`
          const all = known.get(key) ?? many(server, 200, text)
          known.set(key, all)
          return all.slice(0, count)
        }),
      )
    await fc.assert(
      fc.asyncProperty(fc.array(lists, { minLength: 1, maxLength: 4 }), async (given) => {
        const catalogue = new CatalogueSearch()
        const { slices } = countedSlices()
        const all = given.map(groupsOf)
        // None waits for the one before, and a search may come at any time.
        const preparing = all.map((groups) => catalogue.prepare(groups, slices))
        catalogue.sync(all[0] as Map<string, Listing[]>)
        await catalogue.search('create message')
        await Promise.all(preparing)
        const last = all.at(-1) as Map<string, Listing[]>
        catalogue.sync(last)
        // Which of two sources was there first counts.
        const unprepared = new CatalogueSearch()
        for (const groups of all) unprepared.sync(groups)
        for (const query of ['create invoice', 'delete the order 7', 't3'])
          expect(await catalogue.search(query)).toEqual(await unprepared.search(query))
      }),
      { numRuns: 30 },
    )
  })
})
