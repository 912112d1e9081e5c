// LangChain over a session: its tools are the session's surface, and each call goes through the session.
import assert from 'node:assert/strict'
import { AIMessage, type BaseMessage, HumanMessage, ToolMessage } from '@langchain/core/messages'
import { FakeStreamingChatModel } from '@langchain/core/utils/testing'
import { ToolRegistry } from 'toolcrib'
import type { TargetCall } from 'toolcrib/ai-sdk'
import { toLangChainTools } from 'toolcrib/langchain'

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

// A model without a network: it searches, calls what it found, and answers.
const calling = (id: string, name: string, args: Record<string, unknown>) =>
  new AIMessage({ content: '', tool_calls: [{ type: 'tool_call', id, name, args }] })
const answers = [
  calling('1', 'tool_search', { query: 'weather forecast' }),
  calling('2', 'call_tool', { name: 'mcp__weather__get_forecast', arguments: { city: 'Bern' } }),
  calling('3', 'call_tool', { name: 'mcp__weather__send_alert', arguments: { city: 'Bern' } }),
  new AIMessage('Take an umbrella.'),
]

// Your loop would ask a person here: an interrupt of LangGraph, a question in a terminal. In this example nobody agrees.
const approve = async (_call: { name: string; args: object }) => false

const tools = toLangChainTools(session, { needsApproval })
const messages: BaseMessage[] = [new HumanMessage('Do I need an umbrella in Bern? Warn people.')]
for (const answer of answers) {
  const model = new FakeStreamingChatModel({ responses: [answer] }).bindTools(tools)
  const reply = (await model.invoke(messages)) as AIMessage
  messages.push(reply)
  for (const call of answer.tool_calls ?? []) {
    const chosen = tools.find(({ name }) => name === call.name)
    const needsApproval = chosen?.metadata?.needsApproval as ((input: unknown) => boolean) | undefined
    const mayRun = !needsApproval?.(call.args) || (await approve(call))
    messages.push(
      mayRun
        ? await chosen?.invoke({ ...call, type: 'tool_call' })
        : new ToolMessage({ tool_call_id: call.id ?? '', content: 'Error (denied): the user said no' }),
    )
  }
}

const results = messages.filter((message) => ToolMessage.isInstance(message))
assert.equal(messages.at(-1)?.content, 'Take an umbrella.')
assert.deepEqual(results[1]?.content, [
  { type: 'text', text: 'Rain in Bern' },
  { type: 'image', mimeType: 'image/png', data: 'iVBORw0KGgo=' },
])
assert.deepEqual(results[1]?.artifact, { rain: 0.8 })
assert.match(String(results[2]?.content), /denied/)
assert.deepEqual(sent, [])
assert.ok(session.isActive('mcp__weather__get_forecast'))

// Failures are returned as text for the model, not thrown.
const wrong = await tools[1]?.invoke({
  type: 'tool_call',
  id: '3',
  name: 'call_tool',
  args: { name: 'get_forcast' },
})
assert.match(String(wrong?.content), /Unknown tool/)
