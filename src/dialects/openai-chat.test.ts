import type OpenAI from 'openai'
import { describe, expect, it } from 'vitest'
import { chatVoice } from '../../test/dialects/wire-server/voices/openai-chat.ts'
import type { Surface } from '../session/surface.ts'
import { openaiChat } from './openai-chat.ts'

const dialect = openaiChat()
const SURFACE: Surface = {
  tools: [{ name: 'ping', description: 'Answers.', parameters: { type: 'object' } }],
  deferredCount: 0,
  strategy: 'dispatch',
  fingerprint: 'x',
}

describe('servers that speak Chat Completions in their own way', () => {
  it('may give every streamed call the index 0', () => {
    const reply = read(
      call({ index: 0, id: 'a', function: { name: 'ping', arguments: '{"n":' } }),
      call({ index: 0, function: { arguments: '1}' } }),
      call({ index: 0, id: 'b', function: { name: 'ping', arguments: '{"n":2}' } }),
      chunk({}, 'tool_calls'),
    )
    expect(reply.calls.map(({ toolCallId, args }) => [toolCallId, args])).toEqual([
      ['a', { n: 1 }],
      ['b', { n: 2 }],
    ])
  })

  it('may leave ids out', () => {
    const response = chatVoice.respond({
      calls: [
        { name: 'ping', args: '{}' },
        { name: 'ping', args: '{}' },
      ],
    })
    const ids = dialect.toCalls(response, SURFACE).map(({ toolCallId }) => toolCallId)
    expect(ids).toEqual(['call_0', 'call_1'])
    expect(chatVoice.callIds(dialect.toMessages(response, [], SURFACE))).toEqual({ calls: ids, answers: ids })
  })

  it('may send arguments as an object', () => {
    const args = { n: 1 } as unknown as string
    const reply = read(
      call({ index: 0, id: 'a', function: { name: 'ping', arguments: args } }),
      chunk({}, 'tool_calls'),
    )
    expect(reply.calls[0]?.args).toEqual({ n: 1 })
  })

  it('may say "stop" although there are calls', () => {
    const reply = read(
      call({ index: 0, id: 'a', function: { name: 'ping', arguments: '{}' } }),
      chunk({}, 'stop'),
    )
    expect([reply.stop, reply.calls.length]).toEqual(['calls', 1])
  })

  it('get their reasoning back', () => {
    const response = chatVoice.respond({ thinking: 'Hm.', calls: [{ id: 'a', name: 'ping', args: '{}' }] })
    expect(dialect.toMessages(response, [], SURFACE)[0]).toMatchObject({ reasoning_content: 'Hm.' })
    const reader = dialect.openStream()
    for (const event of chatVoice.stream({ thinking: 'Hm.', text: 'Yes.' })) reader.add(event)
    expect(dialect.toMessages(reader.response(), [], SURFACE)[0]).toMatchObject({ reasoning_content: 'Hm.' })
  })

  it('may answer with no choice at all', () => {
    const response = { ...chatVoice.respond({ text: 'x' }), choices: [] }
    expect(dialect.toReply(response, SURFACE)).toMatchObject({ stop: 'cut', calls: [], text: '' })
    expect(dialect.toMessages(response, [], SURFACE)).toEqual([])
  })

  it('show pictures after the answers, for tool messages hold only text', () => {
    const response = chatVoice.respond({ calls: [{ id: 'a', name: 'ping', args: '{}' }] })
    const content = [{ type: 'image' as const, data: 'AAAA', mimeType: 'image/png' }]
    const result = {
      toolCallId: 'a',
      name: 'ping',
      result: { ok: true as const, value: '', content },
      durationMs: 1,
    }
    expect(dialect.toMessages(response, [result], SURFACE).slice(1)).toEqual([
      { role: 'tool', tool_call_id: 'a', content: '(1 image below)' },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'From ping:' },
          { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } },
        ],
      },
    ])
  })
})

type Delta = OpenAI.ChatCompletionChunk.Choice.Delta
type FinishReason = OpenAI.ChatCompletionChunk.Choice['finish_reason']

function read(...chunks: OpenAI.ChatCompletionChunk[]) {
  const reader = dialect.openStream()
  for (const part of chunks) reader.add(part)
  return dialect.toReply(reader.response(), SURFACE)
}

function call(delta: OpenAI.ChatCompletionChunk.Choice.Delta.ToolCall): OpenAI.ChatCompletionChunk {
  return chunk({ tool_calls: [delta] })
}

function chunk(delta: Delta, finish_reason: FinishReason = null): OpenAI.ChatCompletionChunk {
  return {
    id: 'x',
    object: 'chat.completion.chunk',
    created: 1,
    model: 'test',
    choices: [{ index: 0, delta, finish_reason }],
  }
}
