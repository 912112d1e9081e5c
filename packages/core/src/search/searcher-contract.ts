import type { Listing } from '../tool.ts'
import { parseQuery } from './query/query.ts'
import { acceptEvery, type Ranking, type RankOptions, type Searcher, type SearchIndex } from './searcher.ts'

/** A rule that every searcher must satisfy; `run` throws if it is violated. */
export interface SearcherCheck {
  readonly name: string
  run(): Promise<void>
}

/**
 * The contract of every searcher, however it ranks, for any test runner:
 * `for (const { name, run } of searcherContract(mySearcher)) it(name, run)`.
 */
export function searcherContract(makeSearcher: () => Searcher): SearcherCheck[] {
  const open = (): SearchIndex => {
    const index = makeSearcher().open()
    index.update('mcp:disk', FILES)
    index.update('mcp:mail', MAIL)
    return index
  }
  const check = (name: string, run: () => Promise<void>): SearcherCheck => ({ name, run })

  return [
    check('finds a listing by a word of its name', async () => {
      const { matches } = await rank(open(), 'calendar')
      expect(names(matches), ['mcp__mail__open_calendar'])
    }),
    check('finds nothing, and reports the term, when nothing matches', async () => {
      const { total, matches, unmatchedTerms } = await rank(open(), 'xylophone')
      expect([total, matches.length, unmatchedTerms], [0, 0, ['xylophone']])
    }),
    check('returns no more than the limit, the best of them, and counts them all', async () => {
      const all = await rank(open(), 'file')
      const { total, matches } = await rank(open(), 'file', { limit: 1 })
      expect([total, names(matches)], [3, names(all.matches).slice(0, 1)])
    }),
    check('ranks by score, best first', async () => {
      const { matches } = await rank(open(), 'file')
      const scores = matches.map(({ score }) => score)
      expect(
        scores,
        scores.toSorted((a, b) => b - a),
      )
    }),
    check('orders equal scores by name, in any order of arrival', async () => {
      const index = makeSearcher().open()
      // The same own name, since to an embedder a single letter makes a difference.
      const twin = (name: string) => sampleListing(name, 'does a thing', undefined, { ownName: 'twin' })
      index.update('plugin:b', [twin('twin_b')])
      index.update('plugin:a', [twin('twin_c'), twin('twin_a')])
      expect(names((await rank(index, 'twin')).matches), ['twin_a', 'twin_b', 'twin_c'])
    }),
    check('gives a reason for every match', async () => {
      const { matches } = await rank(open(), 'file')
      expect(
        matches.map(({ reasons }) => reasons.length > 0 && reasons.every((reason) => reason !== '')),
        [true, true, true],
      )
    }),
    check('leaves no trace of a rejected listing', async () => {
      const accepts = (listing: Listing): boolean => listing.ownName !== 'open_calendar'
      const { total, matches, unmatchedTerms } = await rank(open(), 'calendar', { accepts })
      expect([total, matches.length, unmatchedTerms], [0, 0, ['calendar']])
    }),
    check('forgets what an update leaves out, and finds what it brings', async () => {
      const index = open()
      index.update('mcp:mail', [sampleListing('mcp__mail__archive', 'Puts a message away', 'mail')])
      expect(names((await rank(index, 'calendar')).matches), [])
      expect(names((await rank(index, 'archive')).matches), ['mcp__mail__archive'])
    }),
    check('forgets a source that an empty update removes, and no other', async () => {
      const index = open()
      index.update('mcp:mail', [])
      index.update('mcp:unknown', [])
      expect(names((await rank(index, 'calendar')).matches), [])
      expect((await rank(index, 'file')).total, 2)
    }),
    check('ranks the same after the same listings are added again', async () => {
      const index = open()
      const before = await rank(index, 'file')
      index.update('mcp:disk', [...FILES])
      expect(await rank(index, 'file'), before)
    }),
    check('ranks after many changes like a new index', async () => {
      const index = open()
      for (let turn = 0; turn < 20; turn++) index.update('mcp:disk', turn % 2 === 0 ? FILES.slice(1) : MAIL)
      index.update('mcp:disk', FILES)
      expect(await rank(index, 'file'), await rank(open(), 'file'))
    }),
    check('keeps two indexes apart', async () => {
      const searcher = makeSearcher()
      const [filled, empty] = [searcher.open(), searcher.open()]
      filled.update('mcp:mail', MAIL)
      expect((await rank(empty, 'calendar')).total, 0)
      expect((await rank(filled, 'calendar')).total, 1)
    }),
    check('accepts names and texts of any kind', async () => {
      const index = makeSearcher().open()
      index.update('plugin:odd', ODD)
      index.update('constructor', [])
      for (const { name } of ODD) {
        const { matches } = await rank(index, name)
        expect(names(matches).includes(name), true)
      }
      index.update('plugin:odd', [])
      expect((await rank(index, 'constructor')).total, 0)
    }),
  ]
}

/** A listing for tests: of an MCP server if one is named, otherwise of a plugin. */
export function sampleListing(
  name: string,
  description: string,
  server?: string,
  extra?: Partial<Listing>,
): Listing {
  return {
    name,
    ownName: name.split('__').at(-1) || name,
    description,
    inputSchema: { type: 'object' },
    source: server === undefined ? { kind: 'plugin', plugin: 'sample' } : { kind: 'mcp', server },
    trust: 0,
    ...extra,
  }
}

const FILES = [
  sampleListing('mcp__disk__read_file', 'Returns the content of a file', 'disk'),
  sampleListing('mcp__disk__write_file', 'Replaces the content of a file', 'disk'),
  sampleListing('mcp__disk__list_directory', 'Tells what lies in a folder', 'disk'),
]

const MAIL = [
  sampleListing('mcp__mail__send', 'Sends a message, with a file if there is one', 'mail'),
  sampleListing('mcp__mail__open_calendar', 'Shows the days ahead', 'mail'),
]

const RECURSIVE: Record<string, unknown> = { type: 'object', description: 'itself' }
RECURSIVE.properties = { child: RECURSIVE, children: { type: 'array', items: RECURSIVE } }

const ODD: readonly Listing[] = [
  sampleListing('constructor', ''),
  sampleListing('prototype', '', undefined, { inputSchema: true }),
  sampleListing('recursive', 'Its schema contains itself', undefined, { inputSchema: RECURSIVE }),
  sampleListing('refusing', 'Takes nothing', undefined, { inputSchema: false }),
  sampleListing('n'.repeat(200), 'A name of 200 letters'),
  sampleListing('wordy', 'word '.repeat(20_000)),
]

async function rank(index: SearchIndex, text: string, options?: Partial<RankOptions>): Promise<Ranking> {
  return await index.rank(parseQuery(text), { limit: 10, accepts: acceptEvery, ...options })
}

function names(matches: Ranking['matches']): string[] {
  return matches.map(({ listing }) => listing.name)
}

function expect(actual: unknown, expected: unknown): void {
  const [got, wanted] = [JSON.stringify(actual), JSON.stringify(expected)]
  if (got !== wanted) throw new Error(`expected ${wanted}, got ${got}`)
}
