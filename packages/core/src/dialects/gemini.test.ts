import {
  BlockedReason,
  FinishReason,
  type GenerateContentResponse,
  type Part,
  type PartialArg,
} from '@google/genai'
import { describe, expect, it } from 'vitest'
import { checkGeminiRequest } from '../../../../test/dialects/wire-server/check-gemini.ts'
import { geminiVoice } from '../../../../test/dialects/wire-server/voices/gemini.ts'
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
  it('matches results to calls without ids by name, in order', () => {
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

  it('replays thoughts and their signatures unchanged', () => {
    const response = geminiVoice.respond({ thinking: 'Hm.', calls: [{ id: 'a', name: 'ping', args: '{}' }] })
    const [reply] = dialect.toMessages(response, [], SURFACE)
    expect(reply?.parts).toEqual(response.candidates?.[0]?.content?.parts)
  })

  it('replays a signature on the part that it came with', () => {
    const parts = [{ text: 'Hel' }, { text: 'lo.' }, { text: '', thoughtSignature: 'c2ln' }]
    const [reply] = dialect.toMessages(streamed(...parts), [], SURFACE)
    expect(reply?.parts).toEqual([{ text: 'Hello.' }, { text: '', thoughtSignature: 'c2ln' }])
  })

  it('assembles arguments that arrive in pieces', () => {
    const piece = (...partialArgs: PartialArg[]): Part => ({
      functionCall: { partialArgs, willContinue: true },
    })
    const opening = { functionCall: { id: 'a', name: 'ping', willContinue: true }, thoughtSignature: 'c2ln' }
    const pieces = [
      piece({ jsonPath: '$.city', stringValue: 'Ber', willContinue: true }),
      piece({ jsonPath: '$.city', stringValue: 'gen' }, { jsonPath: '$.stops[0].day', numberValue: 2 }),
      piece({ jsonPath: "$.stops[0]['is it']", boolValue: false }),
      piece({ jsonPath: '$.stops[1]', nullValue: 'NULL_VALUE' }),
    ]
    const args = { city: 'Bergen', stops: [{ day: 2, 'is it': false }, null] }
    const whole = streamed(opening, ...pieces, { functionCall: {} })
    expect(dialect.toReply(whole, SURFACE)).toMatchObject({ calls: [{ name: 'ping', args }], unrunnable: [] })
    expect(dialect.toMessages(whole, [], SURFACE)[0]?.parts).toEqual([
      { functionCall: { id: 'a', name: 'ping', args }, thoughtSignature: 'c2ln' },
    ])
    // Nothing runs with a part of its arguments.
    expect(dialect.toReply(streamed(opening, ...pieces), SURFACE).calls).toEqual([])
    const lost = piece({ jsonPath: '$.stops[7]', numberValue: 1 })
    for (const broken of [
      streamed(opening, ...pieces, { text: 'Hm.' }),
      streamed(opening, lost, { functionCall: {} }),
      streamed(opening, piece({ jsonPath: 'city', numberValue: 1 }), { functionCall: {} }),
    ])
      expect(dialect.toReply(broken, SURFACE)).toMatchObject({
        calls: [],
        unrunnable: [{ result: { error: expect.stringContaining('a piece of the arguments is missing') } }],
      })
  })

  it('lets the model retry after a malformed call', () => {
    const response = { candidates: [{ finishReason: FinishReason.MALFORMED_FUNCTION_CALL }] }
    expect(dialect.toReply(response, SURFACE)).toMatchObject({
      stop: 'calls',
      calls: [],
      unrunnable: [{ result: { ok: false, code: 'input_invalid' } }],
    })
    expect(dialect.toMessages(response, [], SURFACE).map(({ role }) => role)).toEqual(['model', 'user'])
  })

  it('also corrects it beside other text or calls', () => {
    for (const turn of [
      { text: 'I will now call it.' },
      { calls: [{ id: 'a', name: 'ping', args: '{}' }] },
      { thinking: 'Hm.', text: 'Both.', calls: [{ id: 'a', name: 'ping', args: '{}' }] },
    ]) {
      const [candidate] = geminiVoice.respond(turn).candidates ?? []
      const response = { candidates: [{ ...candidate, finishReason: FinishReason.MALFORMED_FUNCTION_CALL }] }
      const messages = [dialect.userMessage('hi'), ...dialect.toMessages(response, [], SURFACE)]
      expect(JSON.stringify(messages.at(-1))).toContain('could not be parsed')
      const { contents } = dialect.toRequest({ surface: SURFACE, messages })
      expect(checkGeminiRequest({ contents })).toBeUndefined()
    }
  })

  it.each([
    ['OTHER', 'cut'],
    ['IMAGE_OTHER', 'cut'],
    ['NO_IMAGE', 'cut'],
    ['TOO_MANY_TOOL_CALLS', 'length'],
    ['CONTINUATION', 'paused'],
    ['MALFORMED_RESPONSE', 'cut'],
    ['SOMETHING_NEW', 'cut'],
    ['IMAGE_PROHIBITED_CONTENT', 'refused'],
    ['IMAGE_RECITATION', 'refused'],
    ['MAX_TOKENS', 'length'],
    ['STOP', 'done'],
  ])('takes %s for %s', (reason, stop) => {
    const response = { candidates: [{ finishReason: reason as FinishReason }] }
    expect(dialect.toReply(response, SURFACE).stop).toBe(stop)
  })

  it('mentions unsupported media in the text', () => {
    const response = geminiVoice.respond({ calls: [{ id: 'a', name: 'ping', args: '{}' }] })
    const content = ['image/svg+xml', 'image/gif', 'image/webp'].map((mimeType) => ({
      type: 'image' as const,
      data: 'AAAA',
      mimeType,
    }))
    const results = [
      { toolCallId: 'a', name: 'ping', result: { ok: true as const, value: '', content }, durationMs: 1 },
    ]
    const messages = [dialect.userMessage('hi'), ...dialect.toMessages(response, results, SURFACE)]
    expect(JSON.stringify(messages)).toContain('[image/svg+xml, 4 base64 characters, not shown here]')
    expect(JSON.stringify(messages)).toContain('"mimeType":"image/webp"')
    expect(checkGeminiRequest({ contents: messages })).toBeUndefined()
  })

  it('reports a prompt that was blocked', () => {
    const response = { promptFeedback: { blockReason: BlockedReason.SAFETY, blockReasonMessage: 'No.' } }
    expect(dialect.toReply(response, SURFACE)).toMatchObject({ stop: 'refused', refusal: 'No.' })
    expect(dialect.toMessages(response, [], SURFACE)).toEqual([])
  })

  it('shows media inside the result, and errors as errors', () => {
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

function streamed(...parts: readonly Part[]) {
  const reader = dialect.openStream()
  for (const part of parts)
    reader.add({ candidates: [{ content: { role: 'model', parts: [part] } }] } as GenerateContentResponse)
  reader.add({ candidates: [{ finishReason: FinishReason.STOP }] } as GenerateContentResponse)
  return reader.response()
}
