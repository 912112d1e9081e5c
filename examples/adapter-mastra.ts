// Mastra over a session. It accepts tools of the AI SDK, which it recognises by their "parameters".
// Mastra is large, so it is not a dependency here: `npm install --no-save @mastra/core@1` runs the second half.
import assert from 'node:assert/strict'
import { jsonSchema } from 'ai-v6'
import { ToolRegistry } from 'toolcrib'
import type { TargetCall } from 'toolcrib/ai-sdk'
import { toMastraTools } from 'toolcrib/mastra'

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

// A person is asked before anything runs that does not call itself read-only.
const needsApproval = ({ annotations }: TargetCall) => annotations?.readOnlyHint !== true
const session = await registry.openSession()
const tools = toMastraTools(session, { jsonSchema: (schema) => jsonSchema(schema), needsApproval })

// What Mastra requires of a tool: a description, a schema and an executor.
assert.deepEqual(Object.keys(tools), ['tool_search', 'call_tool'])
const found = await tools.tool_search?.execute({ query: 'weather forecast' }, { toolCallId: '0' })
assert.match(found?.ok ? found.value : '', /get_forecast/)
const forecast = { name: 'mcp__weather__get_forecast', arguments: { city: 'Bern' } }
const alert = { name: 'mcp__weather__send_alert', arguments: { city: 'Bern' } }
assert.equal(tools.call_tool?.requireApproval(forecast), false)
assert.equal(tools.call_tool?.requireApproval(alert), true)
const result = await tools.call_tool?.execute(forecast, { toolCallId: '1' })
assert.deepEqual(result?.structured, { rain: 0.8 })
assert.match(JSON.stringify(tools.call_tool?.toModelOutput(result)), /Rain in Bern.*image-data/)

const Agent = await loadAgent()
if (Agent) {
  const instructions = session.promptNote()
  const search = { toolName: 'tool_search', input: { query: 'weather forecast' } }
  const calling = (input: object) => model([search, { toolName: 'call_tool', input }])
  const reader = new Agent({ id: 'weather', name: 'weather', instructions, model: calling(forecast), tools })
  const result = await reader.generate('Do I need an umbrella in Bern?', { maxSteps: 5 })
  assert.equal(result.text, 'Take an umbrella.')
  assert.match(JSON.stringify(result.toolResults), /Rain in Bern/)
  assert.ok(session.isActive('mcp__weather__get_forecast'))

  // The alert waits for a person: approve it with agent.approveToolCallGenerate().
  const writer = new Agent({ id: 'alerts', name: 'alerts', instructions, model: calling(alert), tools })
  const asked = await writer.generate('Warn people in Bern.', { maxSteps: 5 })
  assert.equal(asked.finishReason, 'suspended')
  assert.deepEqual(sent, [])
}

interface MastraAgent {
  generate(
    prompt: string,
    options: { maxSteps: number },
  ): Promise<{ text: string; toolResults: unknown; finishReason?: string }>
}

async function loadAgent(): Promise<(new (options: object) => MastraAgent) | undefined> {
  const name = '@mastra/core/agent'
  const module = await import(name).catch(() => undefined)
  if (!module) console.log('@mastra/core is not installed; only the tools were tried')
  return module?.Agent
}

/** A model that needs no network: it makes these calls, one in each turn, and then answers. */
function model(calls: readonly { toolName: string; input: object }[]): object {
  let turn = 0
  return {
    specificationVersion: 'v2',
    provider: 'offline',
    modelId: 'offline',
    supportedUrls: {},
    doGenerate: async () => {
      const call = calls[turn++]
      const content = call
        ? {
            type: 'tool-call',
            toolCallId: `${turn}`,
            toolName: call.toolName,
            input: JSON.stringify(call.input),
          }
        : { type: 'text', text: 'Take an umbrella.' }
      const usage = { inputTokens: 1, outputTokens: 1, totalTokens: 2 }
      return { content: [content], finishReason: call ? 'tool-calls' : 'stop', usage, warnings: [] }
    },
  }
}
