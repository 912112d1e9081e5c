// A conversation that continues after a restart, with the same tools and the same bytes.
import assert from 'node:assert/strict'
import { type Tool, ToolRegistry } from 'toolcrib'

function startServer(): ToolRegistry {
  const registry = new ToolRegistry({ mode: 'lazy' })
  const tool = (name: string): Tool => ({
    name,
    description: `Can ${name} a document.`,
    inputSchema: { type: 'object', properties: { id: { type: 'string' } } },
    execute: () => ({ ok: true, value: name }),
  })
  registry.syncMcp('docs', ['read', 'write', 'share', 'export'].map(tool))
  return registry
}

const before = await startServer().openSession({ id: 'chat-42' })
await before.activate(['mcp__docs__read', 'mcp__docs__share'])
const saved = JSON.stringify(before)

const after = await startServer().openSession({ state: JSON.parse(saved) })
assert.equal(after.id, 'chat-42')
assert.equal(JSON.stringify(after.surface()), JSON.stringify(before.surface()))
console.log(after.context())
