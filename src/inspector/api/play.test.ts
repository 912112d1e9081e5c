import { defineTool, hybrid, ToolRegistry, usageMemory } from 'toolcrib'
import { staticEmbedder } from 'toolcrib/embedders'
import { connectServers } from 'toolcrib/mcp'
import { memoryStore } from 'toolcrib/stores'
import { expect, it, onTestFinished } from 'vitest'
import { createInspector } from '../inspector.ts'

it('teaches the memory of the registry nothing', async () => {
  const memory = usageMemory({ store: memoryStore() })
  const registry = new ToolRegistry({
    mode: 'lazy',
    searcher: hybrid({ embedder: staticEmbedder() }),
    memory,
  })
  registry.syncMcp('files', [
    tool('list_allowed_directories', 'Lists the directories that may be read.', '/notes'),
    tool('list_directory', 'Lists the files of a directory.', '[FILE] hours.txt'),
    tool('read_text_file', 'Reads the first lines of a text file.', 'Open from seven to five.'),
  ])
  registry.syncMcp('everything', [tool('get-sum', 'Adds two numbers.', '1542')])

  const lines = await play(registry)

  const called = lines.filter(({ kind }) => kind === 'call')
  expect(called.map(({ ok }) => ok)).toEqual([true, true, true])
  for (const { tool: name } of called)
    expect(lines.some(({ found }) => found?.includes(name ?? ''))).toBe(true)
  expect(await memory.episodes()).toEqual([])
})

function tool(name: string, description: string, value: string) {
  return defineTool({
    name,
    description,
    inputSchema: { type: 'object' },
    execute: () => ({ ok: true, value }),
  })
}

interface Line {
  readonly kind: string
  readonly ok?: boolean
  readonly tool?: string
  readonly found?: readonly string[]
}

/** Everything that the page is sent of the conversation. */
async function play(registry: ToolRegistry): Promise<Line[]> {
  const servers = connectServers(registry, { mcpServers: {} })
  const inspector = createInspector({
    registry,
    servers,
    access: { check: async () => ({}), checkAddress: () => undefined },
    schedule: (_delayMs, fire) => {
      const immediate = setImmediate(fire)
      return () => clearImmediate(immediate)
    },
  })
  onTestFinished(async () => {
    await inspector.close()
    await servers.close()
  })
  const headers = { 'x-toolcrib-page': '1' }
  const response = await inspector.fetch(
    new Request('http://localhost/api/play', { method: 'POST', headers, body: '{}' }),
  )
  const text = await response.text()
  return text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
}
