import { hybrid, type SearcherName, ToolRegistry } from '@toolcrib/core'
import { staticEmbedder } from '@toolcrib/embedder'
import { describe, expect, it } from 'vitest'
import { fakeTerminal } from '../terminal/fake-terminal.fixture.ts'
import { showResult } from './run-search.ts'

const registry = new ToolRegistry({ searcher: hybrid({ embedder: staticEmbedder() }) })
registry.syncMcp(
  'files',
  ['search_files', 'list_directory', 'write_file'].map((name) => ({
    name,
    description: `Does what ${name} says.`,
    inputSchema: { type: 'object' },
    execute: () => ({ ok: true, value: '' }),
  })),
)

async function shown(query: string, searcher: SearcherName | 'hybrid' = 'hybrid'): Promise<string> {
  const { terminal, stdout } = fakeTerminal()
  const result = await registry.search(query, searcher === 'hybrid' ? {} : { searcher })
  showResult(terminal, result, { registry, faults: [], searcher })
  return stdout()
}

describe('the scores of a search', () => {
  it('are explained in one line, as the searcher means them', async () => {
    expect(await shown('search files')).toContain('\nscore: the probability that the tool is the right one\n')
    expect(await shown('search files', 'lexical')).toContain('\nscore: how well the words match, to compare')
    expect(await shown('/file/')).toContain('\nscore: how well the pattern matches, to compare')
  })

  it('are left out where there is nothing to compare', async () => {
    for (const query of ['server:files', 'select:files.write_file', '+file zebra']) {
      const text = await shown(query)
      expect(text).toContain('     –  files.write_file')
      expect(text).not.toContain('score')
    }
  })
})

describe('a search that finds nothing', () => {
  it('is explained once', async () => {
    expect(await shown('zebra')).toMatch(/^nothing matches "zebra"; try other words, .*\n$/)
    expect(await shown('"zebra zoo"')).toMatch(/^nothing matches "zebra zoo"; /)
    expect(await shown('/zebra/')).toMatch(/^nothing matches "\/zebra\/"; try another pattern, .*\n$/)
    expect(await shown('select:zebra')).toMatch(/^no such tool: zebra; find it with .*\n$/)
  })
})
