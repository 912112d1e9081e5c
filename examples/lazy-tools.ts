// Thirty tools, and the model sees only a search: it searches, the match is activated, and it calls that.
import assert from 'node:assert/strict'
import { defineTool, ToolRegistry } from 'toolcrib'

const registry = new ToolRegistry({ mode: 'lazy', defer: 'all' })
for (const topic of ['billing', 'shipping', 'weather', 'calendar', 'inventory']) {
  for (const verb of ['list', 'get', 'create', 'update', 'delete', 'export']) {
    registry.register(
      defineTool({
        name: `${topic}_${verb}`,
        description: `${verb} ${topic} records`,
        inputSchema: { type: 'object', properties: { id: { type: 'string' } } },
        execute: ({ id }) => ({ ok: true, value: `${verb} ${topic} ${id ?? ''}`.trim() }),
      }),
    )
  }
}

const session = await registry.openSession()
assert.deepEqual(
  session.surface().tools.map(({ name }) => name),
  ['tool_search'],
)

// Turn 1: the model searches for what it needs.
await session.execute([
  { toolCallId: '1', name: 'tool_search', args: { query: 'create a calendar record', limit: 1 } },
])

// Turn 2: the tool is on the surface, and the model calls it.
assert.deepEqual(
  session.surface().tools.map(({ name }) => name),
  ['tool_search', 'calendar_create'],
)
const [answer] = await session.execute([
  { toolCallId: '2', name: 'calendar_create', args: { id: 'standup' } },
])
assert.deepEqual(answer?.result, { ok: true, value: 'create calendar standup' })
console.log(session.context())
