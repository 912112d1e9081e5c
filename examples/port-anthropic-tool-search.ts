// The program of Anthropic's guide to tool search, with the same tools: the provider defers them, the session searches.
import assert from 'node:assert/strict'
import type Anthropic from '@anthropic-ai/sdk'
import { fromAnthropic, ToolRegistry } from 'toolcrib'
import { anthropic } from 'toolcrib/anthropic'

// The tools as they were, each with its own code.
const location = {
  type: 'object' as const,
  properties: { location: { type: 'string' } },
  required: ['location'],
}
const query = { type: 'object' as const, properties: { query: { type: 'string' } }, required: ['query'] }
const getWeather = {
  name: 'get_weather',
  description: 'Get the weather at a specific location',
  input_schema: location,
}
const searchFiles = {
  name: 'search_files',
  description: 'Search through files in the workspace',
  input_schema: query,
}

const registry = new ToolRegistry({ mode: 'lazy', defer: 'all' })
registry.register(fromAnthropic(getWeather, ({ location }) => `60 degrees in ${location}`))
registry.register(fromAnthropic(searchFiles, ({ query }) => `nothing about ${query}`))
const dialect = anthropic()
const session = await registry.openSession({ dialect })

const messages = [dialect.userMessage('What is the weather in San Francisco?')]
const requests: string[] = []
let stop: string | undefined
do {
  const turn = session.turn(messages)
  requests.push(JSON.stringify(turn.request.tools))
  // client.beta.messages.create({ model: 'claude-opus-4-6', max_tokens: 2048, ...turn.request })
  const response = answer(requests.length)
  messages.push(...(await turn.answer(response)))
  stop = turn.reply?.stop
} while (stop === 'calls' || stop === 'paused')

assert.equal(stop, 'done')
// Each request declares every tool, deferred, and the search; the cached prefix never changes.
assert.match(requests[0] ?? '', /"name":"get_weather".*"defer_loading":true/)
assert.deepEqual(new Set(requests).size, 1)
// The search answered with a reference, which the provider expands to the definition; then the tool ran.
assert.match(JSON.stringify(messages), /"type":"tool_reference","tool_name":"get_weather"/)
assert.match(JSON.stringify(messages), /60 degrees in San Francisco/)

/** A model without a network: it searches, calls what it found, and answers. */
function answer(turn: number): Anthropic.Message {
  const call = (name: string, input: object) =>
    ({ type: 'tool_use', id: `toolu_${turn}`, name, input }) as Anthropic.ToolUseBlock
  const said = [
    call('tool_search', { query: 'weather at a location' }),
    call('get_weather', { location: 'San Francisco' }),
    { type: 'text', text: 'It is 60 degrees.', citations: null } as Anthropic.TextBlock,
  ][turn - 1]
  return {
    id: `msg_${turn}`,
    type: 'message',
    role: 'assistant',
    model: 'claude-opus-4-6',
    content: said ? [said] : [],
    stop_reason: turn < 3 ? 'tool_use' : 'end_turn',
    stop_sequence: null,
    usage: { input_tokens: 10, output_tokens: 5 },
  } as Anthropic.Message
}
