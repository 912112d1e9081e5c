// OpenAI's Agents SDK over a session: it runs the loop, the session finds and runs the tools.
import assert from 'node:assert/strict'
import { Agent, type Model, type ModelResponse, run, setTracingDisabled, Usage } from '@openai/agents'
import { ToolRegistry } from 'toolcrib'
import type { TargetCall } from 'toolcrib/ai-sdk'
import { toAgentsTools } from 'toolcrib/openai-agents'

// Asks a person before running a tool that does not declare itself read-only, also through call_tool.
const needsApproval = ({ annotations }: TargetCall) => annotations?.readOnlyHint !== true

// A lazy registry with one server: the model sees only the search tool and call_tool.
const city = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] } as const
const sent: unknown[] = []
const registry = new ToolRegistry({ mode: 'lazy', strategy: 'dispatch' })
registry.syncMcp('weather', [
  {
    name: 'get_forecast',
    description: 'The weather forecast of a city, with a map.',
    inputSchema: city,
    annotations: { readOnlyHint: true },
    execute: (input) => ({
      ok: true,
      value: `Rain in ${(input as { city: string }).city}`,
      content: [{ type: 'image', mimeType: 'image/png', data: 'iVBORw0KGgo=' }],
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
const session = await registry.openSession()

// A model without a network: it searches, calls what it found, and answers with the result.
const call = (callId: string, name: string, args: object): ModelResponse['output'][number] => ({
  type: 'function_call',
  callId,
  name,
  arguments: JSON.stringify(args),
  status: 'completed',
})
const outputs: ModelResponse['output'][] = [
  [call('1', 'tool_search', { query: 'weather forecast' })],
  [call('2', 'call_tool', { name: 'mcp__weather__get_forecast', arguments: { city: 'Bern' } })],
  [call('3', 'call_tool', { name: 'mcp__weather__send_alert', arguments: { city: 'Bern' } })],
]
const seen: string[] = []
const model: Model = {
  async getResponse({ input, tools }) {
    assert.match(JSON.stringify(tools), /"query"/)
    const last = Array.isArray(input) ? input.at(-1) : undefined
    if (last?.type === 'function_call_result') seen.push(JSON.stringify(last.output))
    const text = { type: 'output_text' as const, text: 'Take an umbrella.' }
    const answer: ModelResponse['output'] = [
      { type: 'message', role: 'assistant', status: 'completed', content: [text] },
    ]
    return { usage: new Usage(), output: outputs.shift() ?? answer }
  },
  getStreamedResponse() {
    throw new Error('not streamed here')
  },
}

setTracingDisabled(true)
const agent = new Agent({
  name: 'weather',
  instructions: session.promptNote(),
  model,
  tools: toAgentsTools(session, { needsApproval }),
})
const asked = await run(agent, 'Do I need an umbrella in Bern? Warn people.')

// The forecast has run, with its map; the alert waits for a person.
assert.match(seen[1] ?? '', /Rain in Bern.*image/)
assert.deepEqual(sent, [])
assert.equal(asked.interruptions.length, 1)
for (const interruption of asked.interruptions) asked.state.approve(interruption)
const result = await run(agent, asked.state)

assert.equal(result.finalOutput, 'Take an umbrella.')
assert.deepEqual(sent, [{ city: 'Bern' }])
assert.ok(session.isActive('mcp__weather__get_forecast'))
