import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { geminiVoice } from '../../../../test/dialects/wire-server/voices/gemini.ts'
import { chatVoice } from '../../../../test/dialects/wire-server/voices/openai-chat.ts'
import { isRecord } from '../json.ts'
import { anthropic } from './anthropic.ts'
import { gemini } from './gemini.ts'
import { openaiChat } from './openai-chat.ts'
import { changed, changes, SPEAKERS, SURFACE, speaker, TURN, use } from './speakers.fixture.ts'

describe.each(SPEAKERS)('the reader of %s', (name, { dialect, stream, respond }) => {
  it('accepts any event, and gives a history that pairs calls with results', () => {
    fc.assert(
      fc.property(changes, (given) => {
        const events = changed(stream(TURN), given)
        const reader = dialect.openStream()
        for (const event of Array.isArray(events) ? events : [])
          expect(typeof reader.add(event)).toBe('string')
        use(dialect, reader.response())
      }),
      { numRuns: 150 },
    )
  })

  // The AI SDK parses a provider's response itself and passes on only well-formed ones.
  it.skipIf(name === 'ai-sdk')('and the dialect accept any whole response', () => {
    fc.assert(
      fc.property(changes, (given) => {
        const response = changed(respond(TURN), given)
        if (isRecord(response)) use(dialect, response)
      }),
      { numRuns: 150 },
    )
  })

  it('reads 20,000 calls', () => {
    const calls = Array.from({ length: 20_000 }, (_, index) => ({
      id: `c${index}`,
      name: 'ping',
      args: `{"n":${index}}`,
    }))
    const reader = dialect.openStream()
    for (const event of stream({ calls })) reader.add(event)
    const read = dialect.toCalls(reader.response(), SURFACE)
    expect(read).toHaveLength(20_000)
    expect(read.at(-1)).toEqual({ toolCallId: 'c19999', name: 'ping', args: { n: 19_999 } })
  })
})

it('the reader of openai-chat passes over calls that are null', () => {
  const { dialect } = speaker(openaiChat(), chatVoice)
  const reader = dialect.openStream()
  reader.add({ choices: [{ delta: { tool_calls: [null] } }] })
  expect(dialect.toCalls(reader.response(), SURFACE)).toEqual([])
})

it('the reader of gemini passes over parts that are null', () => {
  const { dialect } = speaker(gemini(), geminiVoice)
  const reader = dialect.openStream()
  const parts = [null, { text: 'hi' }, null, { functionCall: { name: 'ping', args: {} } }]
  expect(reader.add({ candidates: [{ content: { parts } }] })).toBe('hi')
  expect(dialect.toCalls(reader.response(), SURFACE)).toMatchObject([{ name: 'ping' }])
  expect(dialect.toCalls({ candidates: [{ content: { parts } }] }, SURFACE)).toMatchObject([{ name: 'ping' }])
})

describe('the reader of anthropic, if a block starts again', () => {
  const start = (content_block: object) => ({ type: 'content_block_start', index: 0, content_block }) as never
  const delta = (value: object) => ({ type: 'content_block_delta', index: 0, delta: value }) as never
  const text = (said: string) => delta({ type: 'text_delta', text: said })
  const json = (partial_json: string) => delta({ type: 'input_json_delta', partial_json })
  const stop = { type: 'content_block_stop', index: 0 } as never
  const call = (id: string) => start({ type: 'tool_use', id, name: 'ping', input: {} })
  const read = (events: readonly never[]) => {
    const reader = anthropic().openStream()
    const streamed = events.map((event) => reader.add(event)).join('')
    return { streamed, content: reader.response().content }
  }

  it('keeps the text that was streamed, once', () => {
    const again = start({ type: 'text', text: '' })
    const { streamed, content } = read([again, again, text('Hel'), again, text('lo'), stop])
    expect(streamed).toBe('Hello')
    expect(content.map((block) => 'text' in block && block.text).join('')).toBe(streamed)
  })

  it('keeps the blocks of a server that gives all of them one index', () => {
    const { content } = read([start({ type: 'text', text: 'Hi' }), stop, call('a'), json('{"n":1}'), stop])
    expect(content).toMatchObject([{ text: 'Hi' }, { id: 'a', input: { n: 1 } }])
    const unfinished = read([start({ type: 'text', text: 'Hi' }), stop, call('a'), json('{"n":')])
    expect(unfinished.content).toMatchObject([{ text: 'Hi' }])
  })

  it('makes a call once, with the arguments of its last start', () => {
    for (const between of [[], [stop]])
      expect(read([call('a'), json('{"n":'), ...between, call('a'), json('{"n":1}'), stop]).content).toEqual([
        { type: 'tool_use', id: 'a', name: 'ping', input: { n: 1 } },
      ])
  })
})
