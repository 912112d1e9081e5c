import * as v6 from 'ai-v6'
import { MockLanguageModelV3 } from 'ai-v6/test'
import * as v7 from 'ai-v7'
import { MockLanguageModelV4 } from 'ai-v7/test'
import { describe, expect, it, vi } from 'vitest'
import { aiSdk } from '../../packages/core/src/dialects/ai-sdk.ts'
import type { AiSdkStreamPart } from '../../packages/core/src/dialects/ai-sdk-stream.ts'
import { toWireName } from '../../packages/core/src/names.ts'
import type { CallResult } from '../../packages/core/src/tool.ts'
import { sampleRegistry } from './catalogue.ts'
import { converse } from './conversation.ts'

// Version 7 warns of the form of images that version 6 needs.
vi.stubGlobal('AI_SDK_LOG_WARNINGS', false)

const RAIN = 'mcp__city__get_rain'
const USAGE = {
  inputTokens: { total: 100, noCache: 30, cacheRead: 60, cacheWrite: 10 },
  outputTokens: { total: 20, text: 20, reasoning: 0 },
}
const CALLS = [
  { toolName: 'tool_search', input: { query: 'city rainfall' } },
  { toolName: 'call_tool', input: { name: RAIN, arguments: { city: 'Bergen' } } },
  { toolName: toWireName('draw.chart'), input: { of: 'rain' } },
]

/** What the model says, turn by turn: three calls, then words. */
function script() {
  let turn = 0
  return () => {
    const call = CALLS[turn++]
    if (!call) {
      return {
        content: [{ type: 'text' as const, text: 'It rains.' }],
        finishReason: { unified: 'stop' as const, raw: 'stop' },
        usage: USAGE,
        warnings: [],
      }
    }
    return {
      content: [
        {
          type: 'tool-call' as const,
          toolCallId: `call-${turn}`,
          toolName: call.toolName,
          input: JSON.stringify(call.input),
        },
      ],
      finishReason: { unified: 'tool-calls' as const, raw: 'tool_use' },
      usage: USAGE,
      warnings: [],
    }
  }
}

describe('the AI SDK', () => {
  it('6 speaks the dialect, turn by turn', async () => {
    const dialect = aiSdk<v6.Schema, v6.ModelMessage>({
      jsonSchema: (schema) => v6.jsonSchema(schema as object),
    })
    const session = await sampleRegistry().openSession({ mode: 'lazy', dialect })
    const model = new MockLanguageModelV3({ doGenerate: async () => next() })
    const next = script()
    const results: CallResult[] = []
    const messages: v6.ModelMessage[] = [{ role: 'user', content: 'Does it rain?' }]
    const text = await converse({
      dialect,
      session,
      messages,
      send: (request) => v6.generateText({ model, ...request }),
      onResults: (some) => results.push(...some),
    })
    expect(text).toBe('It rains.')
    expect(results.map(({ name, result }) => [name, result.ok])).toEqual([
      ['tool_search', true],
      [expect.any(String), true],
      ['draw.chart', true],
    ])
    expect(model.doGenerateCalls.at(-1)?.prompt.filter(({ role }) => role === 'tool')).toHaveLength(3)
  })

  it('7 speaks the dialect, turn by turn', async () => {
    const dialect = aiSdk<v7.Schema, v7.ModelMessage>({
      jsonSchema: (schema) => v7.jsonSchema(schema as object),
    })
    const session = await sampleRegistry().openSession({ mode: 'lazy', dialect })
    const next = script()
    const model = new MockLanguageModelV4({ doGenerate: async () => next() })
    const messages: v7.ModelMessage[] = [{ role: 'user', content: 'Does it rain?' }]
    const text = await converse({
      dialect,
      session,
      messages,
      send: ({ system, ...request }) =>
        v7.generateText({ model, ...request, ...(system === undefined ? {} : { instructions: system }) }),
    })
    expect(text).toBe('It rains.')
    expect(session.isActive(RAIN)).toBe(true)
  })

  it('6 runs its own loop over tools that execute', async () => {
    const dialect = aiSdk({ jsonSchema: (schema) => v6.jsonSchema(schema as object) })
    const session = await sampleRegistry().openSession({ mode: 'lazy', dialect })
    const next = script()
    const result = await v6.generateText({
      model: new MockLanguageModelV3({ doGenerate: async () => next() }),
      prompt: 'Does it rain?',
      tools: dialect.toExecutableTools(session),
      stopWhen: v6.stepCountIs(10),
    })
    expect(result.text).toBe('It rains.')
    expect(session.isActive(RAIN)).toBe(true)
    expect(JSON.stringify(result.response.messages)).toContain('iVBORw0KGgo=')
  })

  it('7 runs its own loop over tools that execute', async () => {
    const dialect = aiSdk({ jsonSchema: (schema) => v7.jsonSchema(schema as object) })
    const session = await sampleRegistry().openSession({ mode: 'lazy', dialect })
    const next = script()
    const result = await v7.generateText({
      model: new MockLanguageModelV4({ doGenerate: async () => next() }),
      prompt: 'Does it rain?',
      tools: dialect.toExecutableTools(session),
      stopWhen: v7.isStepCount(10),
    })
    expect(result.text).toBe('It rains.')
    expect(session.isActive(RAIN)).toBe(true)
  })

  it('6 and 7 stream into the same reply', async () => {
    const chunks = [
      { type: 'stream-start' as const, warnings: [] },
      { type: 'text-start' as const, id: '0' },
      { type: 'text-delta' as const, id: '0', delta: 'Let me ' },
      { type: 'text-delta' as const, id: '0', delta: 'see.' },
      { type: 'text-end' as const, id: '0' },
      { type: 'tool-call' as const, toolCallId: 'a', toolName: 'ping', input: '{}' },
      { type: 'finish' as const, finishReason: { unified: 'tool-calls' as const, raw: 'x' }, usage: USAGE },
    ]
    const dialect = aiSdk({ jsonSchema: (schema) => v6.jsonSchema(schema as object) })
    const session = await sampleRegistry().openSession({ mode: 'lazy', dialect })
    const surface = session.surface()
    const { tools } = dialect.toRequest({ surface, messages: [] })
    const six = v6.streamText({
      model: new MockLanguageModelV3({
        doStream: async () => ({ stream: v6.simulateReadableStream({ chunks }) }),
      }),
      prompt: 'hello',
      tools,
    })
    const seven = v7.streamText({
      model: new MockLanguageModelV4({
        doStream: async () => ({ stream: v7.simulateReadableStream({ chunks }) }),
      }),
      prompt: 'hello',
      tools: aiSdk({ jsonSchema: (schema) => v7.jsonSchema(schema as object) }).toRequest({
        surface,
        messages: [],
      }).tools,
    })
    for (const parts of [six.fullStream, seven.fullStream] as AsyncIterable<AiSdkStreamPart>[]) {
      const reader = dialect.openStream()
      let text = ''
      for await (const part of parts) text += reader.add(part)
      expect(text).toBe('Let me see.')
      expect(dialect.toReply(reader.response(), surface)).toEqual({
        text: 'Let me see.',
        calls: [{ toolCallId: 'a', name: 'ping', args: {} }],
        unrunnable: [],
        stop: 'calls',
        usage: { inputTokens: 30, cachedInputTokens: 60, cacheWriteTokens: 10, outputTokens: 20 },
      })
    }
  })
})
