// Tools from zod, valibot and arktype schemas: the model sees JSON Schema, execute receives what the library parsed.
import assert from 'node:assert/strict'
import { type } from 'arktype'
import { defineTool, ToolRegistry } from 'toolcrib'
import * as v from 'valibot'
import { z } from 'zod'

const registry = new ToolRegistry()
registry.register(
  defineTool({
    name: 'add',
    description: 'Adds two numbers.',
    inputSchema: z.object({ a: z.number(), b: z.number().default(1) }),
    execute: ({ a, b }) => ({ ok: true, value: String(a + b) }),
  }),
)
registry.register(
  defineTool({
    name: 'greet',
    description: 'Greets a person.',
    inputSchema: v.object({ name: v.string() }),
    execute: ({ name }) => ({ ok: true, value: `Hello, ${name}` }),
  }),
)
registry.register(
  defineTool({
    name: 'shout',
    description: 'Says it louder.',
    inputSchema: type({ text: 'string > 0' }),
    execute: ({ text }) => ({ ok: true, value: text.toUpperCase() }),
  }),
)

const calls = [
  { toolCallId: '1', name: 'add', args: { a: 41 } },
  { toolCallId: '2', name: 'greet', args: { name: 'Ada' } },
  { toolCallId: '3', name: 'shout', args: { text: '' } },
]
const results = await registry.executeParallel(calls, { sessionId: 'demo' })
assert.deepEqual(results[0]?.result, { ok: true, value: '42' })
assert.deepEqual(results[1]?.result, { ok: true, value: 'Hello, Ada' })
assert.equal(results[2]?.result.ok, false)
console.log(results)
