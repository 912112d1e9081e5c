import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { CatalogueSearch } from '../catalogue-search.ts'
import { sampleListing } from '../searcher-contract.ts'
import { parseQuery } from './query.ts'

// Fixed seeds make failures reproducible; fast-check prints the smallest failing text.
const RUNS = { seed: 20_260_711, numRuns: 400 }

const LISTINGS = [
  sampleListing('mcp__slack__send_message', 'Send a message to a channel', 'slack'),
  sampleListing('mcp__slack__search', 'Search messages', 'slack'),
  sampleListing('mcp__github__create_issue', 'Create an issue: title, body_text', 'github'),
  sampleListing('read_file', 'Read a file. Datei lesen, 読む'),
]

const catalogue = new CatalogueSearch()
catalogue.sync(new Map([['all', LISTINGS]]))

const operators = [
  '+',
  '-',
  '"',
  '/',
  'select:',
  'server:',
  ',',
  '_',
  '.',
  '\\',
  '(',
  ')',
  '[',
  '*',
  '“',
  '\u200b',
]
const words = [
  'send',
  'message',
  'slack',
  'read_file',
  'github.create_issue',
  'é',
  '読む',
  '5',
  '--',
  'zebra',
]
const query = fc
  .array(
    fc.oneof(fc.constantFrom(...operators), fc.constantFrom(...words), fc.constantFrom(' ', '  ', '\n')),
    {
      maxLength: 14,
    },
  )
  .map((pieces) => pieces.join(''))

describe('any text as a query', () => {
  it('is searched for, or throws query-invalid or pattern-invalid', async () => {
    await fc.assert(
      fc.asyncProperty(fc.oneof(query, fc.string({ unit: 'grapheme', maxLength: 40 })), async (text) => {
        const code = await codeOf(text)
        expect(['found', 'query-invalid', 'pattern-invalid']).toContain(code)
      }),
      RUNS,
    )
  })

  it('is read into filters that contain a letter, a digit or an emoji', () => {
    fc.assert(
      fc.property(query, (text) => {
        const parsed = parsedOrNothing(text)
        for (const filter of [...parsed.required, ...parsed.excluded, ...parsed.phrases])
          expect(filter).toMatch(/[\p{L}\p{N}\p{Extended_Pictographic}]/u)
      }),
      RUNS,
    )
  })

  it('finds only what passes its filters, and never more than the total', async () => {
    await fc.assert(
      fc.asyncProperty(query, async (text) => {
        if ((await codeOf(text)) !== 'found') return
        const { required, excluded, servers, kind } = parseQuery(text)
        const { ranked, total } = await catalogue.search(text, { limit: 10 })
        expect(total).toBeGreaterThanOrEqual(ranked.length)
        if (kind === 'select') return
        for (const { listing } of ranked) {
          const all = plain(`${listing.name} ${listing.description}`)
          expect(required.every((word) => all.includes(plain(word)))).toBe(true)
          expect(excluded.some((word) => plain(listing.name).includes(plain(word)))).toBe(false)
          if (servers.length > 0) expect(listing.source.kind).toBe('mcp')
        }
      }),
      RUNS,
    )
  })

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

async function codeOf(text: string): Promise<string> {
  try {
    await catalogue.search(text)
    return 'found'
  } catch (thrown) {
    return (thrown as { code?: string }).code ?? String(thrown)
  }
}

function parsedOrNothing(
  text: string,
): Pick<ReturnType<typeof parseQuery>, 'required' | 'excluded' | 'phrases'> {
  try {
    return parseQuery(text)
  } catch {
    return { required: [], excluded: [], phrases: [] }
  }
}

/** Only letters and digits: filters ignore what separates words. */
function plain(text: string): string {
  return text
    .normalize('NFC')
    .toLowerCase()
    .replace(/[\s_.\-/]+/g, '')
}
