import { describe, expect, it } from 'vitest'
import type { Surface } from '../session/surface.ts'
import { type AiSdkMessage, type AiSdkResponse, aiSdk } from './ai-sdk.ts'

const dialect = aiSdk({ jsonSchema: (schema) => schema })
const SURFACE: Surface = {
  tools: [{ name: 'ping', description: 'Answers.', parameters: { type: 'object' } }],
  deferredCount: 0,
  strategy: 'dispatch',
  fingerprint: 'x',
}

describe('a call that the AI SDK could not read', () => {
  const call = { toolCallId: 'a', toolName: 'ping', input: '{"n": ', invalid: true }

  it('is answered when it came in a stream, and goes back with arguments that are an object', () => {
    const reader = dialect.openStream()
    reader.add({ type: 'tool-call', ...call })
    reader.add({ type: 'finish-step', finishReason: 'tool-calls' })
    const messages = dialect.toMessages(reader.response(), [], SURFACE)
    expect(messages).toMatchObject([
      { role: 'assistant', content: [{ type: 'tool-call', toolCallId: 'a', input: {} }] },
      {
        role: 'tool',
        content: [
          { toolCallId: 'a', output: { type: 'error-text', value: expect.stringContaining('read') } },
        ],
      },
    ])
  })

  it('is not answered twice when the SDK has answered it', () => {
    const own: AiSdkMessage[] = [
      { role: 'assistant', content: [{ type: 'tool-call', toolCallId: 'a', toolName: 'ping', input: {} }] },
      {
        role: 'tool',
        content: [
          {
            type: 'tool-result',
            toolCallId: 'a',
            toolName: 'ping',
            output: { type: 'error-text', value: 'not JSON' },
          },
        ],
      },
    ]
    const response: AiSdkResponse = {
      text: '',
      finishReason: 'tool-calls',
      toolCalls: [call],
      response: { messages: own },
      usage: {},
    }
    expect(dialect.toMessages(response, [], SURFACE)).toEqual(own)
  })
})
