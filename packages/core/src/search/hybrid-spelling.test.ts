import { staticEmbedder } from '@toolcrib/embedder'
import { describe, expect, it } from 'vitest'
import type { Listing } from '../tool.ts'
import { CatalogueSearch } from './catalogue-search.ts'
import { hybrid } from './hybrid.ts'

const listing = (server: string, ownName: string, description: string): Listing => ({
  name: `mcp__${server}__${ownName}`,
  ownName,
  description,
  inputSchema: { type: 'object' },
  source: { kind: 'mcp', server },
  trust: 0,
})

const FILES = [
  listing('files', 'search_files', 'Search for files in a folder.'),
  listing('files', 'read_file', 'Read a file as text.'),
]
const DESK = [
  listing('desk', 'create_issue', 'Create an issue.'),
  listing('desk', 'add_days', 'Add days to a date.'),
]

function openSearch(): CatalogueSearch {
  const search = new CatalogueSearch(hybrid({ embedder: staticEmbedder() }))
  search.sync(
    new Map([
      ['mcp:files', FILES],
      ['mcp:desk', DESK],
    ]),
  )
  return search
}

describe('a word of an everyday phrase', () => {
  it('is not reported as unmatched beside a reason that names the phrase', async () => {
    const { ranked, unmatchedTerms } = await openSearch().search('jot down a zebra')
    expect(ranked.flatMap(({ reasons }) => reasons)).toContain('"jot down" ("create") in name, description')
    expect(unmatchedTerms).toEqual(['zebra'])
  })
})

describe('a request in misspelt words', () => {
  it('finds what was meant, and says how each word was read', async () => {
    const { ranked, unmatchedTerms, confidence, readAs } = await openSearch().search('serch fils')
    expect(readAs).toEqual({ serch: 'search', fils: 'files' })
    expect(await openSearch().search('search files')).not.toHaveProperty('readAs')
    expect(ranked[0]?.listing.ownName).toBe('search_files')
    expect(ranked[0]?.reasons).toEqual(
      expect.arrayContaining([
        '"serch" read as "search", in name, description',
        expect.stringMatching(/^"fils" read as "files", in name/),
      ]),
    )
    expect(unmatchedTerms).toBeUndefined()
    expect(confidence).toBeGreaterThan(0.5)
    expect((await openSearch().search('craete isue')).ranked[0]?.listing.ownName).toBe('create_issue')
    expect((await openSearch().search('Craete an isue')).ranked[0]?.listing.ownName).toBe('create_issue')
  })

  it('is one in words that no tool contains and nobody uses', async () => {
    const search = openSearch()
    const reasonsOf = async (query: string) =>
      (await search.search(query)).ranked.flatMap(({ reasons }) => reasons).join()
    // A word, a name, a value, and a request in another language.
    for (const query of ['a dinner file', 'read the file of Fils', 'read "serch"', 'quiero leer una filee'])
      expect(await reasonsOf(query)).not.toContain('read as')
    expect((await search.search('asdkjh qwe')).ranked).toEqual([])
  })

  it('means only words of tools that may be found', async () => {
    const accepts = ({ source }: Listing) => source.kind === 'mcp' && source.server === 'desk'
    const { ranked, unmatchedTerms } = await openSearch().search('serch fils', { accepts })
    expect(ranked).toEqual([])
    expect(unmatchedTerms).toEqual(['serch', 'fils'])
  })

  it('means words of tools that are still there', async () => {
    const search = openSearch()
    await search.search('serch fils')
    search.sync(new Map([['mcp:desk', [...DESK, listing('desk', 'find_mail', 'Finds mail.')]]]))
    expect((await search.search('serch fils')).ranked).toEqual([])
    expect((await search.search('fnid mial')).ranked[0]?.listing.ownName).toBe('find_mail')
  })

  it('is not read at all by an embedder that does not tell which words it knows', async () => {
    const { knows: _, ...embedder } = staticEmbedder()
    const search = new CatalogueSearch(hybrid({ embedder }))
    search.sync(new Map([['mcp:files', FILES]]))
    const { unmatchedTerms } = await search.search('serch fils')
    expect(unmatchedTerms).toEqual(['serch', 'fils'])
  })
})
