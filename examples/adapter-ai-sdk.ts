// Vercel's AI SDK, versions 6 and 7, with a session. In your own code, import from 'ai'.
import assert from 'node:assert/strict'
import * as v6 from 'ai-v6'
import { MockLanguageModelV3 } from 'ai-v6/test'
import * as v7 from 'ai-v7'
import { MockLanguageModelV4 } from 'ai-v7/test'
import { ToolRegistry } from 'toolcrib'
import { aiSdk } from 'toolcrib/ai-sdk'

const registry = new ToolRegistry({ mode: 'lazy' })
registry.syncMcp('weather', [
  {
    name: 'get_forecast',
    description: 'The weather forecast of a city.',
    inputSchema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
    execute: (input) => ({ ok: true, value: `Rain in ${(input as { city: string }).city}` }),
  },
])

// The SDK drives the loop; the session finds and runs the tools.
const dialect6 = aiSdk({ jsonSchema: (schema) => v6.jsonSchema(schema as object) })
const session6 = await registry.openSession({ dialect: dialect6 })
const result6 = await v6.generateText({
  model: new MockLanguageModelV3({ doGenerate: script() }),
  system: session6.promptNote(),
  prompt: 'What is the weather in Bern?',
  tools: dialect6.toExecutableTools(session6),
  stopWhen: v6.stepCountIs(10),
})
assert.equal(result6.text, 'Take an umbrella.')
assert.match(JSON.stringify(result6.response.messages), /Rain in Bern/)

const dialect7 = aiSdk({ jsonSchema: (schema) => v7.jsonSchema(schema as object) })
const session7 = await registry.openSession({ dialect: dialect7 })
const result7 = await v7.generateText({
  model: new MockLanguageModelV4({ doGenerate: script() }),
  instructions: session7.promptNote(),
  prompt: 'What is the weather in Bern?',
  tools: dialect7.toExecutableTools(session7),
  stopWhen: v7.isStepCount(10),
})
assert.equal(result7.text, 'Take an umbrella.')
assert.ok(session7.isActive('mcp__weather__get_forecast'))

/** A scripted model without network: it searches, calls what it found, and answers. */
function script() {
  const usage = {
    inputTokens: { total: 10, noCache: 10, cacheRead: 0, cacheWrite: 0 },
    outputTokens: { total: 5, text: 5, reasoning: 0 },
  }
  const calls = [
    { toolName: 'tool_search', input: { query: 'weather forecast' } },
    { toolName: 'call_tool', input: { name: 'mcp__weather__get_forecast', arguments: { city: 'Bern' } } },
  ]
  let turn = 0
  return async () => {
    const call = calls[turn++]
    const content = call
      ? {
          type: 'tool-call' as const,
          toolCallId: `${turn}`,
          toolName: call.toolName,
          input: JSON.stringify(call.input),
        }
      : { type: 'text' as const, text: 'Take an umbrella.' }
    const unified = call ? ('tool-calls' as const) : ('stop' as const)
    return { content: [content], finishReason: { unified, raw: unified }, usage, warnings: [] }
  }
}
