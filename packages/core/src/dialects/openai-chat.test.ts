import type OpenAI from 'openai'
import { describe, expect, it } from 'vitest'
import { chatVoice } from '../../../../test/dialects/wire-server/voices/openai-chat.ts'
import type { Surface } from '../session/surface.ts'
import { openaiChat } from './openai-chat.ts'

const dialect = openaiChat()
const SURFACE: Surface = {
  tools: [{ name: 'ping', description: 'Answers.', parameters: { type: 'object' } }],
  deferredCount: 0,
  strategy: 'dispatch',
  fingerprint: 'x',
}

describe('servers that deviate from Chat Completions', () => {
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

  it('may continue the second call with index 0 and without an id', () => {
    const reply = read(
      call({ index: 0, id: 'a', function: { name: 'ping', arguments: '{"n":1}' } }),
      call({ index: 0, id: 'b', function: { name: 'ping', arguments: '{"n":' } }),
      call({ index: 0, function: { arguments: '2}' } }),
      chunk({}, 'tool_calls'),
    )
    expect(reply.calls.map(({ toolCallId, args }) => [toolCallId, args])).toEqual([
      ['a', { n: 1 }],
      ['b', { n: 2 }],
    ])
  })

  it('may leave out ids as well, so that only a name opens a call', () => {
    const reply = read(
      call({ index: 0, function: { name: 'ping', arguments: '{"n":1' } }),
      call({ index: 0, function: { name: 'ping', arguments: '}' } }),
      call({ index: 0, function: { name: 'ping', arguments: '' } }),
      call({ index: 0, function: { arguments: '{"n":2}' } }),
      call({ index: 0, function: { name: 'pong', arguments: '{}' } }),
      chunk({}, 'tool_calls'),
    )
    expect(reply.calls.map(({ name, args }) => [name, args])).toEqual([
      ['ping', { n: 1 }],
      ['ping', { n: 2 }],
      ['pong', {}],
    ])
  })

  it('get back the fields they add to a stream: reasoning, and marks on calls', () => {
    const detail = (entry: object) => chunk({ reasoning_details: [entry] } as Delta)
    const marked = { google: { thought_signature: 'sig' } }
    const message = replay(
      detail({ type: 'reasoning.text', index: 0, text: 'Let ', format: 'x' }),
      detail({ type: 'reasoning.text', index: 0, text: 'me.', format: 'x', signature: null }),
      detail({ type: 'reasoning.text', index: 0, signature: 'abc' }),
      detail({ type: 'reasoning.encrypted', index: 1, data: 'zzz' }),
      call({ index: 0, id: 'a', function: { name: 'ping', arguments: '{' }, extra_content: marked } as Call),
      call({ index: 0, function: { arguments: '}' } }),
      chunk({}, 'tool_calls'),
    )
    expect(message).toMatchObject({
      reasoning_details: [
        { type: 'reasoning.text', index: 0, text: 'Let me.', format: 'x', signature: 'abc' },
        { type: 'reasoning.encrypted', index: 1, data: 'zzz' },
      ],
      tool_calls: [{ id: 'a', extra_content: marked }],
    })
  })

  it('get back the marks on calls whose ids they left out', () => {
    const marked = { google: { thought_signature: 'sig' } }
    const message = replay(
      call({ index: 0, function: { name: 'ping', arguments: '{}' }, extra_content: marked } as Call),
      chunk({}, 'tool_calls'),
    )
    expect(message).toMatchObject({ tool_calls: [{ extra_content: marked }] })
  })

  it('may return an error instead of choices, or abort with one', () => {
    const body = { error: { code: 502, message: 'upstream is down' } } as unknown as OpenAI.ChatCompletion
    expect(dialect.toReply(body, SURFACE)).toMatchObject({ stop: 'cut', error: body['error' as never] })
    expect(dialect.toMessages(body, [], SURFACE)).toEqual([])
    expect(read(chunk({ content: 'I a' }), chunk({}, 'error' as never)).stop).toBe('cut')
    const broken = { ...chunk({}), error: { message: 'gone' } }
    expect(read(chunk({ content: 'I a' }, 'stop'), broken)).toMatchObject({
      stop: 'cut',
      error: { message: 'gone' },
    })
  })

  it('may count what they read from the cache in their own field', () => {
    const usage = { prompt_tokens: 100, completion_tokens: 5, total_tokens: 105, prompt_cache_hit_tokens: 64 }
    const response = { ...chatVoice.respond({ text: 'x' }), usage }
    expect(dialect.toReply(response, SURFACE).usage).toMatchObject({
      inputTokens: 36,
      cachedInputTokens: 64,
    })
  })

  it('may leave ids out', () => {
    const response = chatVoice.respond({
      calls: [
        { name: 'ping', args: '{}' },
        { name: 'ping', args: '{}' },
      ],
    })
    const ids = dialect.toCalls(response, SURFACE).map(({ toolCallId }) => toolCallId)
    expect(new Set(ids).size).toBe(2)
    const later = dialect.toCalls({ ...response, id: 'later' }, SURFACE)
    expect(later.map(({ toolCallId }) => ids.includes(toolCallId))).toEqual([false, false])
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

  it.each([
    ['', '{}'],
    ['null', '{}'],
    ['{"n": 1}', '{"n": 1}'],
    ['{"n": ', '{}'],
    ['[1]', '{}'],
    [{ n: 1 }, '{"n":1}'],
    [null, '{}'],
  ])('get back the arguments %j as %s', (args, replayed) => {
    const response = chatVoice.respond({ calls: [{ id: 'a', name: 'ping', args: args as string }] })
    const [message] = dialect.toMessages(response, [], SURFACE)
    expect(message).toMatchObject({ tool_calls: [{ function: { name: 'ping', arguments: replayed } }] })
  })

  it('get back ids of any form, and a new one for a duplicate', () => {
    const response = chatVoice.respond({ calls: [{ id: 'functions.ping:0', name: 'ping', args: '{}' }] })
    const turn = dialect.toMessages(response, [], SURFACE)
    const { messages } = dialect.toRequest({ surface: SURFACE, messages: [...turn, ...turn] })
    const ids = ['functions.ping:0', 'functions.ping:0_2']
    expect(chatVoice.callIds(messages)).toEqual({ calls: ids, answers: ids })
  })

  it('get a name that they accept in place of one that the model made up', () => {
    const response = chatVoice.respond({ calls: [{ id: 'a', name: 'functions.ping', args: '{}' }] })
    const [message] = dialect.toMessages(response, [], SURFACE)
    expect(message).toMatchObject({
      tool_calls: [{ function: { name: expect.stringMatching(/^functions_ping_/) } }],
    })
  })

  it('get a user message where the model spoke last, or twice', () => {
    const said = dialect.toMessages(chatVoice.respond({ text: 'I am', stop: 'length' }), [], SURFACE)
    const roles = (messages: typeof said) =>
      dialect.toRequest({ surface: SURFACE, messages }).messages.map(({ role }) => role)
    expect(roles(said)).toEqual(['assistant', 'user'])
    expect(roles([...said, ...said])).toEqual(['assistant', 'user', 'assistant', 'user'])
  })

  it('get words of the model between results and the user', () => {
    const called = dialect.toMessages(
      chatVoice.respond({ calls: [{ id: 'a', name: 'ping', args: '{}' }] }),
      [],
      SURFACE,
    )
    const { messages } = dialect.toRequest({
      surface: SURFACE,
      messages: [dialect.userMessage('hi'), ...called, dialect.userMessage('stop this')],
    })
    expect(messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'assistant', 'user'])
    expect(messages[3]?.content).not.toBe('')
  })

  it('may send thoughts and words as a list, whole or in pieces', () => {
    const thought = (text: string) => ({ type: 'thinking', thinking: [{ type: 'text', text }] })
    const whole = chatVoice.respond({ text: 'x' })
    const content = [thought('Hm.'), { type: 'text', text: 'Yes.' }]
    Object.assign(whole.choices[0]?.message ?? {}, { content })
    expect(dialect.toReply(whole, SURFACE)).toMatchObject({ text: 'Yes.', stop: 'done' })
    expect(dialect.toMessages(whole, [], SURFACE)).toEqual([{ role: 'assistant', content }])

    const pieces = [[thought('H')], [thought('m.')], [{ type: 'text', text: 'Y' }], 'es', '.']
    const reader = dialect.openStream()
    const words = pieces.map((piece) => reader.add(chunk({ content: piece } as unknown as Delta)))
    reader.add(chunk({}, 'stop'))
    expect(words).toEqual(['', '', 'Y', 'es', '.'])
    expect(dialect.toReply(reader.response(), SURFACE).text).toBe('Yes.')
    expect(dialect.toMessages(reader.response(), [], SURFACE)).toEqual([{ role: 'assistant', content }])
  })

  it('do not get back fields that they only send', () => {
    const channel = { channel: 'analysis' }
    const message = replay(
      chunk({ reasoning: 'H', ...channel } as Delta),
      chunk({ reasoning: 'm.', ...channel } as Delta),
      chunk({ content: 'Yes.' }, 'stop'),
    )
    expect(message).toEqual({ role: 'assistant', content: 'Yes.', reasoning: 'Hm.' })
  })

  it('may report "stop" although there are calls', () => {
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

  it('may return no choices', () => {
    const response = { ...chatVoice.respond({ text: 'x' }), choices: [] }
    expect(dialect.toReply(response, SURFACE)).toMatchObject({ stop: 'cut', calls: [], text: '' })
    expect(dialect.toMessages(response, [], SURFACE)).toEqual([])
  })

  it('may take no images: with that option, results only mention them', () => {
    const content = [{ type: 'image' as const, data: 'AAAA', mimeType: 'image/png' }]
    const result = { ok: true as const, value: 'A map.', content }
    const response = chatVoice.respond({ calls: [{ id: 'a', name: 'ping', args: '{}' }] })
    const results = [{ toolCallId: 'a', name: 'ping', result, durationMs: 1 }]
    const messages = openaiChat({ images: false }).toMessages(response, results, SURFACE)
    expect(messages.map(({ role }) => role)).toEqual(['assistant', 'tool'])
    expect(messages[1]?.content).toBe('A map.\n[image/png, 4 base64 characters, not shown here]')
  })

  it('get images after the results, since tool messages contain only text', () => {
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

type Call = OpenAI.ChatCompletionChunk.Choice.Delta.ToolCall

/** The answer as it is replayed. */
function replay(...chunks: OpenAI.ChatCompletionChunk[]) {
  const reader = dialect.openStream()
  for (const part of chunks) reader.add(part)
  return dialect.toMessages(reader.response(), [], SURFACE)[0]
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
