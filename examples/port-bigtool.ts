// The quickstart of LangGraph bigtool: an agent over the functions of a maths library, which it finds by their descriptions.
import assert from 'node:assert/strict'
import { defineTool, ToolRegistry } from 'toolcrib'
import { runAgent, scriptedModel } from 'toolcrib/agent'
import { memoryStore } from 'toolcrib/stores'

const DESCRIPTIONS = {
  acos: 'Return the arc cosine (measured in radians) of x.',
  asin: 'Return the arc sine (measured in radians) of x.',
  atan: 'Return the arc tangent (measured in radians) of x.',
  cbrt: 'Return the cube root of x.',
  ceil: 'Return the smallest integer that is at least x.',
  cos: 'Return the cosine of x (measured in radians).',
  exp: 'Return e raised to the power of x.',
  floor: 'Return the largest integer that is at most x.',
  log: 'Return the natural logarithm of x.',
  log10: 'Return the base 10 logarithm of x.',
  sin: 'Return the sine of x (measured in radians).',
  sqrt: 'Return the square root of x.',
  tan: 'Return the tangent of x (measured in radians).',
} as const

// The tool registry. Its search embeds the descriptions, by default with the embedder that is installed.
const registry = new ToolRegistry({ mode: 'lazy', defer: 'all' })
for (const [name, description] of Object.entries(DESCRIPTIONS))
  registry.register(
    defineTool({
      name,
      description,
      inputSchema: { type: 'object', properties: { x: { type: 'number' } }, required: ['x'] },
      execute: ({ x }) => Math[name as keyof typeof DESCRIPTIONS](x),
    }),
  )

// A model without a network: it retrieves tools, calls one, and answers.
const model = scriptedModel([
  { calls: [{ name: 'tool_search', args: { query: 'arc cosine', limit: 2 } }] },
  { calls: [{ name: 'acos', args: { x: 0.5 } }] },
  { text: 'The arc cosine of 0.5 is about 1.0472 radians.' },
])

// The agent of one thread: what it retrieves stays bound to the thread, in the store too.
const store = memoryStore()
const open = () => registry.openSession({ id: 'thread-1', store, strategy: 'append' })
const session = await open()
const { messages, stop } = await runAgent({
  model,
  session,
  messages: 'Use available tools to calculate the arc cosine of 0.5.',
})
assert.equal(stop, 'done')
assert.match(JSON.stringify(messages), /1\.0471975511965979/)
const bound = model.requests.map(({ tools = [] }) =>
  tools.map((tool) => (tool.type === 'function' ? tool.function.name : tool.type)),
)
assert.deepEqual(bound[0], ['tool_search'])
assert.equal(bound[1]?.[1], 'acos')
await session.close()
assert.equal((await open()).isActive('acos'), true)
