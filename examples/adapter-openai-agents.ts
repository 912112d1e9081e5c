// OpenAI's Agents SDK with a session: the SDK runs the loop, the session finds and runs the tools.
import assert from 'node:assert/strict'
import { Agent, type Model, type ModelResponse, run, setTracingDisabled, tool, Usage } from '@openai/agents'
import { type Session, ToolRegistry } from 'toolcrib'
import { aiSdk } from 'toolcrib/ai-sdk'

/** The adapter: executable tools with plain JSON Schemas, converted to the framework's type. */
const neutral = aiSdk({ jsonSchema: (schema) => schema })

function toAgentsTools(session: Session) {
  return Object.entries(neutral.toExecutableTools(session)).map(
    ([name, { description, inputSchema, execute }]) =>
      tool({
        name,
        description,
        strict: false,
        // An open schema, as the SDK requires: the session validates arguments against the tool's own schema.
        parameters: {
          ...inputSchema,
          properties: inputSchema.properties as Record<string, object>,
          required: inputSchema.required ?? [],
          additionalProperties: true,
        },
        async execute(input, _context, details) {
          const toolCallId = details?.toolCall?.callId ?? name
          const result = await execute(input, { toolCallId, abortSignal: details?.signal })
          return result.ok ? result.value : `Error (${result.code}): ${result.error}`
        },
      }),
  )
}

// A lazy registry with one server: the model sees only a search tool and call_tool.
const registry = new ToolRegistry({ mode: 'lazy' })
registry.syncMcp('weather', [
  {
    name: 'get_forecast',
    description: 'The weather forecast of a city.',
    inputSchema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
    execute: (input) => ({ ok: true, value: `Rain in ${(input as { city: string }).city}` }),
  },
])
const session = await registry.openSession({ dialect: neutral })

// A scripted model without network: it searches, calls what it found, and answers with the result.
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
  tools: toAgentsTools(session),
})
const result = await run(agent, 'What is the weather in Bern?')

assert.equal(result.finalOutput, 'Take an umbrella.')
assert.match(seen[1] ?? '', /Rain in Bern/)
assert.ok(session.isActive('mcp__weather__get_forecast'))
