import fc from 'fast-check'
import { expect } from 'vitest'
import { CatalogueSearch } from '../catalogue-search.ts'
import { sampleListing } from '../searcher-contract.ts'
import { parseQuery } from './query.ts'

const LISTINGS = [
  sampleListing('mcp__slack__send_message', 'Send a message to a channel', 'slack'),
  sampleListing('mcp__slack__search', 'Search messages', 'slack'),
  sampleListing('mcp__github__create_issue', 'Create an issue: title, body_text', 'github'),
  sampleListing('read_file', 'Read a file. Datei lesen, 読む'),
]

/** A catalogue that the words below find. */
export const catalogue = new CatalogueSearch()
catalogue.sync(new Map([['all', LISTINGS]]))

const SIGNS = [
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
  '{0,9}',
  '“',
]
const WORDS = [
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
const GAPS = [' ', '  ', '\n', '\u200b']
const piece = fc.oneof(fc.constantFrom(...SIGNS), fc.constantFrom(...WORDS), fc.constantFrom(...GAPS))
const noise = fc.string({ unit: 'binary', maxLength: 3 })

/** Words and the signs of the query language, in any order. */
export const anyQuery = fc.array(piece, { maxLength: 14 }).map((pieces) => pieces.join(''))

/** The same with anything between them, or any text at all. */
export const anyText = fc.oneof(
  fc.array(fc.oneof(piece, noise), { maxLength: 16 }).map((pieces) => pieces.join('')),
  fc.string({ unit: 'grapheme', maxLength: 40 }),
)

/** A text is searched for, as words and as a pattern, or refused with a reason. */
export async function expectFoundOrRefused(text: string): Promise<void> {
  for (const as of ['words', 'pattern'] as const) {
    const query = await outcomeOf(() => parseQuery(text, { as }))
    if (query !== undefined) expect(query.text).toBe(text)
  }
  const found = await outcomeOf(() => catalogue.search(text))
  if (found === undefined) return
  expect(found.ranked.length).toBeLessThanOrEqual(LISTINGS.length)
  expect(found.total).toBeGreaterThanOrEqual(found.ranked.length)
}

/** Every filter that is read contains a letter, a digit or an emoji. */
export async function expectFilters(text: string): Promise<void> {
  const query = await outcomeOf(() => parseQuery(text))
  for (const filter of query ? [...query.required, ...query.excluded, ...query.phrases] : [])
    expect(filter).toMatch(/[\p{L}\p{N}\p{Extended_Pictographic}]/u)
}

/** Only what passes the filters is found. */
export async function expectWithinFilters(text: string): Promise<void> {
  const found = await outcomeOf(() => catalogue.search(text, { limit: 10 }))
  if (found === undefined) return
  const { required, excluded, servers, kind } = parseQuery(text)
  expect(found.total).toBeGreaterThanOrEqual(found.ranked.length)
  if (kind === 'select') return
  for (const { listing } of found.ranked) {
    const all = plain(`${listing.name} ${listing.description}`)
    expect(required.every((word) => all.includes(plain(word)))).toBe(true)
    expect(excluded.some((word) => plain(listing.name).includes(plain(word)))).toBe(false)
    if (servers.length > 0) expect(listing.source.kind).toBe('mcp')
  }
}

/** What is returned; undefined for `query-invalid` and `pattern-invalid`. Any other error fails the test. */
async function outcomeOf<Value>(read: () => Value | Promise<Value>): Promise<Value | undefined> {
  try {
    return await read()
  } catch (thrown) {
    const { code = String(thrown) } = thrown as { code?: string }
    expect(['query-invalid', 'pattern-invalid']).toContain(code)
    return undefined
  }
}

/** Only letters and digits: filters ignore what separates words. */
function plain(text: string): string {
  return text
    .normalize('NFC')
    .toLowerCase()
    .replace(/[\s_.\-/]+/g, '')
}
