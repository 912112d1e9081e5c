import {
  type Attributes,
  context,
  ROOT_CONTEXT,
  type Span,
  type SpanStatus,
  type Tracer,
  trace,
} from '@opentelemetry/api'
import { afterEach, describe, expect, test } from 'vitest'
import { runAgent } from '../agent/run-agent.ts'
import { scriptedModel } from '../agent/scripted-model.ts'
import { ToolRegistry } from '../tool-registry.ts'
import { entryOf, fakeTool, runOne } from './fake-scope.fixture.ts'

interface Recorded {
  name: string
  attributes: Attributes
  status?: SpanStatus
  isEnded: boolean
}

/** A tracer provider that only remembers. */
function listen(): Recorded[] {
  const spans: Recorded[] = []
  const startSpan: Tracer['startSpan'] = (name, options) => {
    const recorded: Recorded = { name, attributes: { ...options?.attributes }, isEnded: false }
    spans.push(recorded)
    const span: Span = {
      spanContext: () => ({ traceId: '1'.repeat(32), spanId: '2'.repeat(16), traceFlags: 1 }),
      setAttribute: (key, value) => {
        recorded.attributes[key] = value
        return span
      },
      setAttributes: () => span,
      addEvent: () => span,
      addLink: () => span,
      addLinks: () => span,
      setStatus: (status) => {
        recorded.status = status
        return span
      },
      updateName: (updated) => {
        recorded.name = updated
        return span
      },
      end: () => {
        recorded.isEnded = true
      },
      isRecording: () => true,
      recordException: () => {},
    }
    return span
  }
  const tracer = { startSpan, startActiveSpan: () => undefined as never } as Tracer
  trace.setGlobalTracerProvider({ getTracer: () => tracer })
  return spans
}

afterEach(() => trace.disable())

describe('a call leaves a span', () => {
  test('with the names that the conventions give, and neither arguments nor results', async () => {
    const spans = listen()
    await runOne(fakeTool(), { password: 'sesame' })
    expect(spans).toEqual([
      {
        name: 'execute_tool echo',
        attributes: {
          'gen_ai.operation.name': 'execute_tool',
          'gen_ai.tool.name': 'echo',
          'gen_ai.tool.call.id': 'call-1',
          'gen_ai.tool.type': 'function',
          'gen_ai.conversation.id': 's',
        },
        isEnded: true,
      },
    ])
  })

  test('that carries the code of a failure', async () => {
    const spans = listen()
    await runOne(fakeTool({ inputSchema: false }), {})
    expect(spans[0]).toMatchObject({
      attributes: { 'error.type': 'input_invalid' },
      status: { code: 2 },
      isEnded: true,
    })
  })

  test('and is answered all the same when the tracer fails', async () => {
    const getTracer = () => {
      throw new Error('boom')
    }
    trace.setGlobalTracerProvider({ getTracer })
    expect(await runOne(fakeTool(), { n: 1 })).toEqual({ ok: true, value: '{"n":1}' })
  })

  test('and runs once when a span or the context fails', async () => {
    const boom = () => {
      throw new Error('boom')
    }
    const tracer = { startSpan: () => ({ spanContext: boom }), startActiveSpan: boom } as unknown as Tracer
    trace.setGlobalTracerProvider({ getTracer: () => tracer })
    expect(await runOne(fakeTool(), { n: 1 })).toEqual({ ok: true, value: '{"n":1}' })
    trace.disable()

    listen()
    context.setGlobalContextManager({
      active: () => ROOT_CONTEXT,
      with: (_context, run, _self, ...given) => {
        run(...given)
        return boom() as never
      },
      bind: (_context, target) => target,
      enable: () => ({}) as never,
      disable: () => ({}) as never,
    })
    let times = 0
    const tool = fakeTool({ execute: () => ({ ok: true, value: String(++times) }) })
    try {
      expect(await runOne(tool, {})).toEqual({ ok: true, value: '1' })
    } finally {
      context.disable()
    }
  })

  test('named after the tool it resolved to', async () => {
    const spans = listen()
    const tool = fakeTool({ name: 'target' })
    const resolve = () => ({ entry: entryOf(tool), args: {} })
    await runOne(fakeTool({ name: 'call_tool' }), {}, { scope: { resolve } })
    expect(spans[0]?.name).toBe('execute_tool target')
  })
})

describe('a request to a model leaves a span', () => {
  test('with its model, why it stopped and its tokens, and no text', async () => {
    const spans = listen()
    const session = await new ToolRegistry().openSession({ id: 's' })
    const usage = { inputTokens: 10, cachedInputTokens: 90, outputTokens: 7 }
    const model = scriptedModel([new Error('no such model'), { text: 'A secret.', ...usage }])
    const timing = { now: () => 0, random: () => 0, sleep: async () => {} }
    await runAgent({ model, session, messages: 'Hi.', timing })
    await runAgent({ model, session, messages: 'Hi.', timing })
    expect(spans.map(({ name, isEnded }) => [name, isEnded])).toEqual([
      ['chat scripted', true],
      ['chat scripted', true],
    ])
    expect(spans[0]).toMatchObject({ attributes: { 'error.type': 'Error' }, status: { code: 2 } })
    expect(spans[1]?.attributes).toEqual({
      'gen_ai.operation.name': 'chat',
      'gen_ai.provider.name': 'openai',
      'gen_ai.request.model': 'scripted',
      'gen_ai.conversation.id': 's',
      'gen_ai.response.finish_reasons': ['done'],
      'gen_ai.usage.input_tokens': 100,
      'gen_ai.usage.cache_read.input_tokens': 90,
      'gen_ai.usage.cache_creation.input_tokens': 0,
      'gen_ai.usage.output_tokens': 7,
    })
  })
})
