// The agent loop: a model searches for a tool, calls it and answers. Replace scriptedModel with anthropicModel,
// openaiChatModel …
import assert from 'node:assert/strict'
import { defineTool, ToolRegistry } from 'toolcrib'
import { runAgent, scriptedModel } from 'toolcrib/agent'

const registry = new ToolRegistry({ mode: 'lazy' })
registry.syncMcp('weather', [
  defineTool({
    name: 'get_forecast',
    description: 'The weather forecast of a city.',
    inputSchema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
    execute: ({ city }) => ({ ok: true, value: `Rain in ${city}` }),
  }),
])

const model = scriptedModel([
  {
    calls: [{ name: 'tool_search', args: { query: 'weather forecast' } }],
    inputTokens: 300,
    outputTokens: 20,
  },
  {
    calls: [{ name: 'call_tool', args: { name: 'mcp__weather__get_forecast', arguments: { city: 'Bern' } } }],
    inputTokens: 80,
    cachedInputTokens: 300,
    outputTokens: 20,
  },
  { text: 'Take an umbrella.', inputTokens: 40, cachedInputTokens: 380, outputTokens: 10 },
])
const session = await registry.openSession({ dialect: model.dialect })

const words: string[] = []
const result = await runAgent({
  model,
  session,
  system: 'You know the weather.',
  messages: 'Do I need an umbrella in Bern?',
  prices: { input: 3, cachedInput: 0.3, output: 15 },
  hooks: { before_tool_call: ({ name }) => (name.includes('delete') ? { deny: 'not here' } : undefined) },
  onEvent: (event) => {
    if (event.type === 'text') words.push(event.text)
  },
})

assert.equal(result.text, 'Take an umbrella.')
assert.equal(words.join(''), result.text)
assert.equal(result.stop, 'done')
assert.equal(result.iterations, 3)
assert.equal(result.ledger.cachedInputTokens, 680)
assert.ok((result.ledger.costUsd ?? 0) > 0)

// You own the history: continue with it.
const next = await runAgent({
  model,
  session,
  messages: [...result.messages, model.dialect.userMessage('Thanks')],
})
assert.equal(next.stop, 'done')
