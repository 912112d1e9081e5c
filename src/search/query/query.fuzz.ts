import fc from 'fast-check'
import { expect } from 'vitest'
import { fuzz } from '../../../test/fuzz.ts'
import { ToolcribError } from '../../errors.ts'
import { CatalogueSearch } from '../catalogue-search.ts'
import { sampleListing } from '../searcher-contract.ts'
import { parseQuery } from './query.ts'

const LISTINGS = [
  sampleListing('mcp__slack__send_message', 'Send a message to a channel', 'slack'),
  sampleListing('mcp__github__create_issue', 'Create an issue: title, body_text', 'github'),
  sampleListing('read_file', 'Read a file. Datei lesen, 読む'),
]
const catalogue = new CatalogueSearch()
catalogue.sync(new Map([['all', LISTINGS]]))

const pieces = fc.oneof(
  fc.constantFrom(
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
  ),
  fc.constantFrom(
    'send',
    'message',
    'slack',
    'read_file',
    'github.create_issue',
    '読む',
    ' ',
    '\n',
    '\u200b',
  ),
  fc.string({ unit: 'binary', maxLength: 3 }),
)
const queries = fc.array(pieces, { maxLength: 16 }).map((all) => all.join(''))

fuzz('a query is read, or throws query-invalid or pattern-invalid', queries, async (text) => {
  for (const as of ['words', 'pattern'] as const) {
    try {
      const query = parseQuery(text, { as })
      expect(query.text).toBe(text)
      const { total, ranked } = await catalogue.search(text)
      expect(ranked.length).toBeLessThanOrEqual(LISTINGS.length)
      expect(total).toBeGreaterThanOrEqual(ranked.length)
    } catch (error) {
      if (!(error instanceof ToolcribError)) throw error
      expect(['query-invalid', 'pattern-invalid']).toContain(error.code)
    }
  }
})
