// The program of the AI SDK's guide to toolSearch(), with the same tools and model, and a session in place of toolSearch().
import assert from 'node:assert/strict'
import { generateText, isStepCount, jsonSchema, tool } from 'ai-v7' // "ai" in your project
import { MockLanguageModelV4 } from 'ai-v7/test'
import { fromAiSdk, ToolRegistry } from 'toolcrib'
import { aiSdk } from 'toolcrib/ai-sdk'
import { z } from 'zod'

// The tools as they were.
const tools = {
  getWeather: tool({
    description: 'Get the current weather at a location',
    inputSchema: z.object({ location: z.string() }),
    execute: async ({ location }) => ({ location, temperature: 72 }),
  }),
  sendEmail: tool({
    description: 'Send an email to a recipient',
    inputSchema: z.object({ to: z.string(), subject: z.string() }),
    execute: async ({ to }) => `Sent to ${to}`,
  }),
  createTicket: tool({
    description: 'Create a ticket in the issue tracker',
    inputSchema: z.object({ title: z.string() }),
    execute: async ({ title }) => `Created ${title}`,
  }),
}

/** The names of the definitions in each request. */
const seen: string[][] = []

// Instead of toolSearch({ maxResults }): a registry, and a session of the conversation.
const registry = new ToolRegistry({ mode: 'lazy', defer: 'all' })
registry.registerAll(fromAiSdk(tools))
const dialect = aiSdk({ jsonSchema })
const session = await registry.openSession({ dialect })

const { text, steps } = await generateText({
  model: model(),
  tools: dialect.toExecutableTools(session),
  stopWhen: isStepCount(5),
  prompt: 'What is the weather in San Francisco?',
})
assert.equal(text, 'It is 72 degrees.')
// The search found the one tool that fits, with its schema, and its result is the tool's own.
const [search, call] = steps.map(({ toolResults }) => JSON.stringify(toolResults[0]?.output))
assert.match(search ?? '', /"activated":\["getWeather"\]/)
assert.match(call ?? '', /"temperature":72/)
// In every step, the model got the same two definitions.
assert.deepEqual(
  seen.map((names) => names.join(' ')),
  Array(3).fill('tool_search call_tool'),
)

/** A model without a network: it searches, calls what it found, and answers. */
function model() {
  const calls = [
    { toolName: 'tool_search', input: { query: 'weather at a location' } },
    { toolName: 'call_tool', input: { name: 'getWeather', arguments: { location: 'San Francisco' } } },
  ]
  return new MockLanguageModelV4({
    doGenerate: async ({ tools: given = [] }) => {
      seen.push(given.map(({ name }) => name))
      const next = calls.shift()
      const input = next && JSON.stringify(next.input)
      return {
        content: next
          ? [{ type: 'tool-call', toolCallId: next.toolName, toolName: next.toolName, input: input ?? '' }]
          : [{ type: 'text', text: 'It is 72 degrees.' }],
        finishReason: { unified: next ? 'tool-calls' : 'stop', raw: undefined },
        usage: {
          inputTokens: { total: 10, noCache: 10, cacheRead: 0, cacheWrite: 0 },
          outputTokens: { total: 5, text: 5, reasoning: 0 },
        },
        warnings: [],
      }
    },
  })
}
