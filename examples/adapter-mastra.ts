// Mastra with a session. It accepts AI SDK tools, which it recognises by their "parameters". Mastra is large, so it
// is not a dependency here: run `npm install --no-save @mastra/core` to enable the second half.
import assert from 'node:assert/strict'
import { jsonSchema } from 'ai-v6'
import { type Session, ToolRegistry } from 'toolcrib'
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

const dialect = aiSdk({ jsonSchema: (schema) => jsonSchema(schema as object) })
const session = await registry.openSession({ dialect })
const tools = toMastraTools(session)

/** The adapter. */
function toMastraTools(session: Session) {
  const entries = Object.entries(dialect.toExecutableTools(session))
  return Object.fromEntries(
    entries.map(([name, { description, inputSchema, execute }]) => [
      name,
      {
        description,
        parameters: inputSchema,
        async execute(input: unknown, options: { toolCallId: string; abortSignal?: AbortSignal }) {
          const result = await execute(input, options)
          return result.ok ? result.value : `Error (${result.code}): ${result.error}`
        },
      },
    ]),
  )
}

// What Mastra requires of a tool: a description, a schema and an executor.
assert.deepEqual(Object.keys(tools), ['tool_search', 'call_tool'])
const found = await tools.tool_search?.execute({ query: 'weather forecast' }, { toolCallId: '0' })
assert.match(found ?? '', /get_forecast/)

const Agent = await loadAgent()
if (Agent) {
  const instructions = session.promptNote()
  const agent = new Agent({ id: 'weather', name: 'weather', instructions, model: model(), tools })
  const result = await agent.generate('What is the weather in Bern?', { maxSteps: 5 })
  assert.equal(result.text, 'Take an umbrella.')
  assert.match(JSON.stringify(result.toolResults), /Rain in Bern/)
  assert.ok(session.isActive('mcp__weather__get_forecast'))
}

interface MastraAgent {
  generate(prompt: string, options: { maxSteps: number }): Promise<{ text: string; toolResults: unknown }>
}

async function loadAgent(): Promise<(new (options: object) => MastraAgent) | undefined> {
  const name = '@mastra/core/agent'
  const module = await import(name).catch(() => undefined)
  if (!module) console.log('@mastra/core is not installed; only the tools were tested')
  return module?.Agent
}

/** A scripted model without network: it searches, calls what it found, and answers. */
function model(): object {
  const calls = [
    { toolName: 'tool_search', input: { query: 'weather forecast' } },
    { toolName: 'call_tool', input: { name: 'mcp__weather__get_forecast', arguments: { city: 'Bern' } } },
  ]
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
