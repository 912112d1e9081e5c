import { anthropic } from '../../src/dialects/anthropic.ts'
import { fileStore } from '../../src/store/file-store.ts'
import { ToolRegistry } from '../../src/tool-registry.ts'

/** Prints the request with which another process goes on: `next-request.fixture.ts DIRECTORY`. */
const [directory = ''] = process.argv.slice(2)
const registry = new ToolRegistry({ mode: 'lazy' })
registry.syncMcp('elsewhere', [
  {
    name: 'tool',
    description: 'Does something else.',
    inputSchema: { type: 'object' },
    execute: () => ({ ok: true, value: '' }),
  },
])
const store = fileStore({ directory })
const dialect = anthropic()
const session = await registry.openSession({ id: 'c', dialect, store })
process.stdout.write(JSON.stringify(session.turn([dialect.userMessage('hello')]).request))
await session.close()
await store.close()
