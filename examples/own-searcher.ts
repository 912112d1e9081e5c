// A custom searcher: open an index, rank its listings. Here: the shortest name that contains every word.
import assert from 'node:assert/strict'
import { type Listing, type Searcher, type Tool, ToolRegistry } from 'toolcrib'

const shortest: Searcher = {
  name: 'shortest',
  open() {
    const listings = new Map<string, readonly Listing[]>()
    return {
      update: (source, given) => void listings.set(source, given),
      rank({ words }, { limit, accepts }) {
        const fits = ({ name }: Listing) => words.every((word) => name.includes(word.toLowerCase()))
        const fitting = [...listings.values()].flat().filter((listing) => accepts(listing) && fits(listing))
        fitting.sort((a, b) => a.name.length - b.name.length)
        const matches = fitting
          .slice(0, limit)
          .map((listing) => ({ listing, score: 1 / listing.name.length, reasons: ['shortest name'] }))
        return { total: fitting.length, matches, unmatchedTerms: [] }
      },
    }
  },
}

const registry = new ToolRegistry({ searcher: shortest })
for (const name of ['file_read_all', 'file_read', 'file_write']) {
  const tool: Tool = { name, description: '', inputSchema: true, execute: () => ({ ok: true, value: name }) }
  registry.register(tool)
}
const { matches } = await registry.search('file read')
assert.deepEqual(
  matches.map(({ name }) => name),
  ['file_read', 'file_read_all'],
)
