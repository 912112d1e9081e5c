// The Claude Agent SDK over a session: the session is a server in its process. The SDK starts a program of its own, so here an MCP client takes its place.
import assert from 'node:assert/strict'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js'
import { ToolRegistry } from 'toolcrib'
import { toSdkServer } from 'toolcrib/claude-agent-sdk'

const registry = new ToolRegistry({ mode: 'lazy', strategy: 'dispatch' })
registry.syncMcp('weather', [
  {
    name: 'get_forecast',
    description: 'The weather forecast of a city, with a map.',
    inputSchema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
    annotations: { readOnlyHint: true },
    execute: (input) => ({
      ok: true,
      value: `Rain in ${(input as { city: string }).city}`,
      content: [{ type: 'image', mimeType: 'image/png', data: 'iVBORw0KGgo=' }],
    }),
  },
])
const session = await registry.openSession()

// In your program: query({ prompt, options: { mcpServers: { toolcrib: toSdkServer(session) } } })
const { instance } = toSdkServer(session)
const [near, far] = InMemoryTransport.createLinkedPair()
const client = new Client({ name: 'agent', version: '1.0.0' })
await Promise.all([instance.connect(far), client.connect(near)])

const { tools } = await client.listTools()
assert.deepEqual(
  tools.map(({ name }) => name),
  ['tool_search', 'call_tool'],
)
assert.equal(tools[0]?.annotations?.readOnlyHint, true)
const found = await client.callTool({ name: 'tool_search', arguments: { query: 'weather forecast' } })
assert.match(JSON.stringify(found.content), /get_forecast/)
const forecast = { name: 'mcp__weather__get_forecast', arguments: { city: 'Bern' } }
const called = await client.callTool({ name: 'call_tool', arguments: forecast })
assert.deepEqual(called.content, [
  { type: 'text', text: 'Rain in Bern' },
  { type: 'image', mimeType: 'image/png', data: 'iVBORw0KGgo=' },
])
const wrong = await client.callTool({ name: 'call_tool', arguments: { name: 'get_forcast' } })
assert.equal(wrong.isError, true)
await client.close()
