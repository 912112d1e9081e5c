// Vercel's AI SDK, 6 and 7, over a session. In your own code both are imported from 'ai'.
import assert from 'node:assert/strict'
import * as v6 from 'ai-v6'
import { MockLanguageModelV3 } from 'ai-v6/test'
import * as v7 from 'ai-v7'
import { MockLanguageModelV4 } from 'ai-v7/test'
import { ToolRegistry } from 'toolcrib'
import { aiSdk, type TargetCall } from 'toolcrib/ai-sdk'

const PIXEL =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
const city = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] } as const
const sent: unknown[] = []
const registry = new ToolRegistry({ mode: 'lazy' })
registry.syncMcp('weather', [
  {
    name: 'get_forecast',
    description: 'The weather forecast of a city, with a map.',
    inputSchema: city,
    annotations: { readOnlyHint: true },
    execute: (input) => ({
      ok: true,
      value: `Rain in ${(input as { city: string }).city}`,
      content: [{ type: 'image', mimeType: 'image/png', data: PIXEL }],
      structured: { rain: 0.8 },
    }),
  },
  {
    name: 'send_alert',
    description: 'Sends a weather alert to everyone in a city.',
    inputSchema: city,
    execute: (input) => ({ ok: true, value: `sent ${sent.push(input)}` }),
  },
])

// Asks a person before running a tool that does not declare itself read-only, also through call_tool.
const needsApproval = ({ annotations }: TargetCall) => annotations?.readOnlyHint !== true
const calls = [
  { toolName: 'tool_search', input: { query: 'weather forecast' } },
  { toolName: 'call_tool', input: { name: 'mcp__weather__get_forecast', arguments: { city: 'Bern' } } },
  { toolName: 'call_tool', input: { name: 'mcp__weather__send_alert', arguments: { city: 'Bern' } } },
]

// The SDK drives the loop; the session finds and runs the tools.
const dialect6 = aiSdk({ jsonSchema: (schema) => v6.jsonSchema(schema as object) })
const session6 = await registry.openSession({ dialect: dialect6 })
const options6 = {
  model: new MockLanguageModelV3({ doGenerate: script(calls) }),
  system: session6.promptNote(),
  tools: dialect6.toExecutableTools(session6, { needsApproval }),
  stopWhen: v6.stepCountIs(10),
}
const messages6: v6.ModelMessage[] = [
  { role: 'user', content: 'Do I need an umbrella in Bern? Warn people.' },
]
const asked6 = await v6.generateText({ ...options6, messages: messages6 })
const [request6] = asked6.content.filter((part) => part.type === 'tool-approval-request')
assert.deepEqual(sent, [])
// The model saw the forecast and its map; your code has the structured result.
assert.match(JSON.stringify(asked6.response.messages), /Rain in Bern.*image-data/)
assert.match(JSON.stringify(asked6.steps[1]?.toolResults), /"rain":0.8/)

messages6.push(...asked6.response.messages, {
  role: 'tool',
  content: [{ type: 'tool-approval-response', approvalId: request6?.approvalId ?? '', approved: true }],
})
const result6 = await v6.generateText({ ...options6, messages: messages6 })
assert.equal(result6.text, 'Take an umbrella.')
assert.deepEqual(sent, [{ city: 'Bern' }])

const dialect7 = aiSdk({ jsonSchema: (schema) => v7.jsonSchema(schema as object) })
const session7 = await registry.openSession({ dialect: dialect7 })
const options7 = {
  model: new MockLanguageModelV4({ doGenerate: script(calls) }),
  instructions: session7.promptNote(),
  tools: dialect7.toExecutableTools(session7, { needsApproval }),
  stopWhen: v7.isStepCount(10),
}
const messages7: v7.ModelMessage[] = [
  { role: 'user', content: 'Do I need an umbrella in Bern? Warn people.' },
]
const asked7 = await v7.generateText({ ...options7, messages: messages7 })
const [request7] = asked7.content.filter((part) => part.type === 'tool-approval-request')
messages7.push(...asked7.response.messages, {
  role: 'tool',
  content: [{ type: 'tool-approval-response', approvalId: request7?.approvalId ?? '', approved: false }],
})
const result7 = await v7.generateText({ ...options7, messages: messages7 })
assert.equal(result7.text, 'Take an umbrella.')
assert.equal(sent.length, 1)
assert.ok(session7.isActive('mcp__weather__get_forecast'))

// AI SDK 7 can defer tools itself, and ask the session for matches.
const native = await registry.openSession({ dialect: dialect7, strategy: 'native' })
const seen: string[][] = []
const found = await v7.generateText({
  model: new MockLanguageModelV4({
    doGenerate: script(
      [
        { toolName: 'tool_search', input: { query: 'weather forecast' } },
        { toolName: 'mcp__weather__get_forecast', input: { city: 'Thun' } },
      ],
      (tools) => seen.push(tools),
    ),
  }),
  prompt: 'Do I need an umbrella in Thun?',
  tools: {
    ...dialect7.toExecutableTools(native),
    tool_search: v7.toolSearch({ search: dialect7.toolSearch(native), maxResults: 1 }),
  },
  stopWhen: v7.isStepCount(10),
})
assert.equal(found.text, 'Take an umbrella.')
assert.deepEqual(seen.slice(0, 2), [['tool_search'], ['tool_search', 'mcp__weather__get_forecast']])

/** A model that needs no network: it makes these calls, one in each turn, and then answers. */
function script(
  calls: readonly { toolName: string; input: object }[],
  onTools: (names: string[]) => void = () => {},
) {
  const usage = {
    inputTokens: { total: 10, noCache: 10, cacheRead: 0, cacheWrite: 0 },
    outputTokens: { total: 5, text: 5, reasoning: 0 },
  }
  let turn = 0
  return async ({ tools = [] }: { tools?: { name: string }[] }) => {
    onTools(tools.map(({ name }) => name))
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
