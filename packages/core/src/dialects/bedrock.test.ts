import { describe, expect, it } from 'vitest'
import { checkBedrockRequest } from '../../../../test/dialects/wire-server/check-bedrock.ts'
import { bedrockVoice } from '../../../../test/dialects/wire-server/voices/bedrock.ts'
import type { Surface } from '../session/surface.ts'
import { bedrock } from './bedrock.ts'

const dialect = bedrock()
const SURFACE: Surface = {
  tools: [{ name: 'ping', description: 'Answers.', parameters: { type: 'object' } }],
  deferredCount: 0,
  strategy: 'dispatch',
  fingerprint: 'x',
}
const NO_TOOLS: Surface = { ...SURFACE, tools: [] }

describe('bedrock', () => {
  it('declares the tools of the history where there are no others, since calls need a toolConfig', () => {
    const response = bedrockVoice.respond({ calls: [{ id: 'a', name: 'ping', args: '{}' }] })
    const messages = [dialect.userMessage('hi'), ...dialect.toMessages(response, [], SURFACE)]
    const request = dialect.toRequest({ surface: NO_TOOLS, messages })
    expect(request.toolConfig?.tools).toMatchObject([
      { toolSpec: { name: 'ping', description: 'No longer available.' } },
    ])
    expect(checkBedrockRequest({ ...request })).toBeUndefined()
    const plain = dialect.toRequest({ surface: NO_TOOLS, messages: [dialect.userMessage('hi')] })
    expect(plain).not.toHaveProperty('toolConfig')
  })

  it('joins messages of one role, which must alternate', () => {
    const messages = [dialect.userMessage('one'), dialect.userMessage('two')]
    expect(dialect.toRequest({ surface: SURFACE, messages }).messages).toEqual([
      { role: 'user', content: [{ text: 'one' }, { text: 'two' }] },
    ])
  })

  it('sends pictures as bytes, also after the history was read from JSON', () => {
    const response = bedrockVoice.respond({ calls: [{ id: 'a', name: 'ping', args: '{}' }] })
    const content = [{ type: 'image' as const, data: 'AQID', mimeType: 'image/png' }]
    const result = { ok: true as const, value: '', content }
    const results = [{ toolCallId: 'a', name: 'ping', result, durationMs: 1 }]
    const history = [dialect.userMessage('hi'), ...dialect.toMessages(response, results, SURFACE)]
    const restored = JSON.parse(JSON.stringify(history))
    for (const messages of [history, restored]) {
      const { messages: sent } = dialect.toRequest({ surface: SURFACE, messages })
      expect(sent[2]?.content).toEqual([
        {
          toolResult: {
            toolUseId: 'a',
            content: [{ image: { format: 'png', source: { bytes: new Uint8Array([1, 2, 3]) } } }],
          },
        },
      ])
    }
  })

  it('gives every document of a conversation its own name', () => {
    const pdf = {
      type: 'resource' as const,
      resource: { uri: 'x', mimeType: 'application/pdf', blob: 'AQID' },
    }
    const result = { ok: true as const, value: '', content: [pdf, pdf] }
    const turn = (id: string) => {
      const response = bedrockVoice.respond({ calls: [{ id, name: 'ping', args: '{}' }] })
      return dialect.toMessages(response, [{ toolCallId: id, name: 'ping', result, durationMs: 1 }], SURFACE)
    }
    const first = [dialect.userMessage('hi'), ...turn('a')]
    const whole = dialect.toRequest({ surface: SURFACE, messages: [...first, ...turn('b'), ...turn('c')] })
    expect(checkBedrockRequest({ ...whole })).toBeUndefined()
    const before = dialect.toRequest({ surface: SURFACE, messages: first })
    expect(whole.messages.slice(0, 3)).toEqual(before.messages)
  })

  it('marks the ends of tools, system prompt and messages for models that have a cache', () => {
    const request = bedrock({ cache: true }).toRequest({
      surface: SURFACE,
      messages: [dialect.userMessage('hi')],
      system: 'Be brief.',
    })
    const mark = { cachePoint: { type: 'default' } }
    expect(request.toolConfig?.tools.at(-1)).toEqual(mark)
    expect(request.system?.at(-1)).toEqual(mark)
    expect(request.messages.at(-1)?.content.at(-1)).toEqual(mark)
    expect(checkBedrockRequest({ ...request })).toBeUndefined()
  })

  it.each([
    ['guardrail_intervened', 'refused'],
    ['model_context_window_exceeded', 'length'],
    ['malformed_model_output', 'cut'],
    ['malformed_tool_use', 'cut'],
    ['stop_sequence', 'done'],
  ])('takes %s for %s', (stopReason, stop) => {
    const response = { ...bedrockVoice.respond({ text: 'x' }), stopReason }
    expect(dialect.toReply(response, SURFACE).stop).toBe(stop)
  })

  it('reports an error in the middle of a stream', () => {
    const reader = dialect.openStream()
    reader.add({ contentBlockDelta: { contentBlockIndex: 0, delta: { text: 'I a' } } })
    reader.add({ throttlingException: { message: 'slow down' } } as object)
    expect(dialect.toReply(reader.response(), SURFACE)).toMatchObject({
      text: 'I a',
      stop: 'cut',
      error: { code: 'throttlingException', message: 'slow down' },
    })
  })
})
