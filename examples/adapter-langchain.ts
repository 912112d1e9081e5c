// LangChain with a session: its tools are the session's surface, and each call goes through the session.
import assert from 'node:assert/strict'
import { AIMessage, type BaseMessage, HumanMessage } from '@langchain/core/messages'
import { DynamicStructuredTool, type ToolRunnableConfig } from '@langchain/core/tools'
import { FakeStreamingChatModel } from '@langchain/core/utils/testing'
import { type Session, ToolRegistry } from 'toolcrib'
import { aiSdk } from 'toolcrib/ai-sdk'

/** The adapter: executable tools with plain JSON Schemas, converted to the framework's type. */
const neutral = aiSdk({ jsonSchema: (schema) => schema })

function toLangChainTools(session: Session): DynamicStructuredTool[] {
  return Object.entries(neutral.toExecutableTools(session)).map(
    ([name, { description, inputSchema, execute }]) =>
      new DynamicStructuredTool({
        name,
        description,
        schema: inputSchema,
        async func(input: unknown, _manager, config?: ToolRunnableConfig) {
          const toolCallId = config?.toolCall?.id ?? name
          const result = await execute(input, { toolCallId, abortSignal: config?.signal })
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

// A scripted model without network: it searches, calls what it found, and answers.
const calling = (id: string, name: string, args: Record<string, unknown>) =>
  new AIMessage({ content: '', tool_calls: [{ type: 'tool_call', id, name, args }] })
const answers = [
  calling('1', 'tool_search', { query: 'weather forecast' }),
  calling('2', 'call_tool', { name: 'mcp__weather__get_forecast', arguments: { city: 'Bern' } }),
  new AIMessage('Take an umbrella.'),
]

const tools = toLangChainTools(session)
const messages: BaseMessage[] = [new HumanMessage('What is the weather in Bern?')]
for (const answer of answers) {
  const model = new FakeStreamingChatModel({ responses: [answer] }).bindTools(tools)
  const reply = (await model.invoke(messages)) as AIMessage
  messages.push(reply)
  for (const call of answer.tool_calls ?? []) {
    const chosen = tools.find(({ name }) => name === call.name)
    messages.push(await chosen?.invoke({ ...call, type: 'tool_call' }))
  }
}

assert.equal(messages.at(-1)?.content, 'Take an umbrella.')
assert.ok(messages.some((message) => message.getType() === 'tool' && message.content === 'Rain in Bern'))
assert.ok(session.isActive('mcp__weather__get_forecast'))

// Errors are returned as text for the model, not thrown.
const wrong = await tools[1]?.invoke({
  type: 'tool_call',
  id: '3',
  name: 'call_tool',
  args: { name: 'get_forcast' },
})
assert.match(String(wrong?.content), /Unknown tool/)
