import { BlockedReason, FinishReason } from '@google/genai'
import { describe, expect, it } from 'vitest'
import { geminiVoice } from '../../test/dialects/wire-server/voices/gemini.ts'
import type { Surface } from '../session/surface.ts'
import { gemini } from './gemini.ts'

const dialect = gemini()
const SURFACE: Surface = {
  tools: [{ name: 'ping', description: 'Answers.', parameters: { type: 'object' } }],
  deferredCount: 0,
  strategy: 'dispatch',
  fingerprint: 'x',
}

describe('gemini', () => {
  it('answers calls without ids by their names, in order', () => {
    const response = geminiVoice.respond({
      calls: [
        { name: 'ping', args: '{"n":1}' },
        { name: 'ping', args: '{"n":2}' },
      ],
    })
    const results = dialect.toCalls(response, SURFACE).map(({ toolCallId, name, args }) => ({
      toolCallId,
      name,
      result: { ok: true as const, value: JSON.stringify(args) },
      durationMs: 1,
    }))
    const [, answers] = dialect.toMessages(response, results, SURFACE)
    expect(answers?.parts).toEqual([
      { functionResponse: { name: 'ping', response: { output: '{"n":1}' } } },
      { functionResponse: { name: 'ping', response: { output: '{"n":2}' } } },
    ])
  })

  it('replays thoughts and their signatures as they came', () => {
    const response = geminiVoice.respond({ thinking: 'Hm.', calls: [{ id: 'a', name: 'ping', args: '{}' }] })
    const [reply] = dialect.toMessages(response, [], SURFACE)
    expect(reply?.parts).toEqual(response.candidates?.[0]?.content?.parts)
  })

  it('lets the model try again after a call it could not form', () => {
    const response = { candidates: [{ finishReason: FinishReason.MALFORMED_FUNCTION_CALL }] }
    expect(dialect.toReply(response, SURFACE)).toMatchObject({ stop: 'paused', calls: [] })
    expect(dialect.toMessages(response, [], SURFACE).map(({ role }) => role)).toEqual(['model', 'user'])
  })

  it('reports a prompt that was blocked', () => {
    const response = { promptFeedback: { blockReason: BlockedReason.SAFETY, blockReasonMessage: 'No.' } }
    expect(dialect.toReply(response, SURFACE)).toMatchObject({ stop: 'refused', refusal: 'No.' })
    expect(dialect.toMessages(response, [], SURFACE)).toEqual([])
  })

  it('shows media inside the answer, and errors as errors', () => {
    const response = geminiVoice.respond({
      calls: [
        { id: 'a', name: 'ping', args: '{}' },
        { id: 'b', name: 'ping', args: '{}' },
      ],
    })
    const [, answers] = dialect.toMessages(
      response,
      [
        {
          toolCallId: 'a',
          name: 'ping',
          result: {
            ok: true,
            value: 'sound',
            content: [{ type: 'audio', data: 'AAAA', mimeType: 'audio/wav' }],
          },
          durationMs: 1,
        },
        {
          toolCallId: 'b',
          name: 'ping',
          result: { ok: false, code: 'denied', error: 'not today' },
          durationMs: 1,
        },
      ],
      SURFACE,
    )
    expect(answers?.parts?.map(({ functionResponse }) => functionResponse)).toEqual([
      {
        id: 'a',
        name: 'ping',
        response: { output: 'sound' },
        parts: [{ inlineData: { mimeType: 'audio/wav', data: 'AAAA' } }],
      },
      { id: 'b', name: 'ping', response: { error: 'Error (denied): not today' } },
    ])
  })
})
