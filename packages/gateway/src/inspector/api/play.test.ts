import { defineTool, hybrid, ToolRegistry, usageMemory } from '@toolcrib/core'
import { staticEmbedder } from '@toolcrib/embedder'
import { connectServers } from '@toolcrib/mcp'
import { memoryStore } from '@toolcrib/mcp/stores'
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
    tool('write_file', 'Writes a file.', 'written'),
    tool('list_directory', 'Lists the files of a directory.', 'hours.txt', { readOnlyHint: true }),
  ])
  registry.syncMcp('mail', [tool('send', 'Sends an email.', 'sent')])

  const lines = await play(registry)

  expect(lines.flatMap(({ kind, text = '' }) => (kind === 'person' ? [text] : []))).toEqual([
    'Lists the files of a directory',
    'Sends an email',
    'Order me a pizza.',
  ])
  // Only what says that it reads is called.
  const called = lines.filter(({ kind }) => kind === 'call')
  expect(called).toMatchObject([{ tool: 'mcp__files__list_directory', ok: true, text: 'hours.txt' }])
  expect(lines.find(({ kind }) => kind === 'search')?.found).toContain('mcp__files__list_directory')
  expect(await memory.episodes()).toEqual([])
})

function tool(name: string, description: string, value: string, annotations = {}) {
  return defineTool({
    name,
    description,
    annotations,
    inputSchema: { type: 'object' },
    execute: () => ({ ok: true, value }),
  })
}

interface Line {
  readonly kind: string
  readonly ok?: boolean
  readonly text?: string
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
