import fc from 'fast-check'
import { expect } from 'vitest'
import { aiSdkVoice } from '../../../../test/dialects/wire-server/voices/ai-sdk.ts'
import { anthropicVoice } from '../../../../test/dialects/wire-server/voices/anthropic.ts'
import { bedrockVoice } from '../../../../test/dialects/wire-server/voices/bedrock.ts'
import { geminiVoice } from '../../../../test/dialects/wire-server/voices/gemini.ts'
import { chatVoice } from '../../../../test/dialects/wire-server/voices/openai-chat.ts'
import { responsesVoice } from '../../../../test/dialects/wire-server/voices/openai-responses.ts'
import type { Surface } from '../session/surface.ts'
import { aiSdk } from './ai-sdk.ts'
import { anthropic } from './anthropic.ts'
import { bedrock } from './bedrock.ts'
import type { Dialect } from './dialect.ts'
import type { SpokenTurn } from './dialect-contract.ts'
import { gemini } from './gemini.ts'
import { openaiChat } from './openai-chat.ts'
import { openaiResponses } from './openai-responses.ts'

export const SURFACE: Surface = {
  tools: [{ name: 'ping', description: 'Answers.', parameters: { type: 'object' } }],
  deferredCount: 0,
  strategy: 'dispatch',
  fingerprint: 'x',
}

/** A dialect and its provider's voice, loosely typed, so that invalid events can be passed. */
export interface Speaker {
  readonly dialect: Dialect<unknown, unknown, unknown, unknown>
  stream(turn: SpokenTurn): readonly unknown[]
  respond(turn: SpokenTurn): unknown
}

export const SPEAKERS: readonly (readonly [string, Speaker])[] = [
  ['anthropic', speaker(anthropic(), anthropicVoice)],
  ['openai-chat', speaker(openaiChat(), chatVoice)],
  ['openai-responses', speaker(openaiResponses(), responsesVoice)],
  ['gemini', speaker(gemini(), geminiVoice)],
  ['bedrock', speaker(bedrock(), bedrockVoice)],
  ['ai-sdk', speaker(aiSdk({ jsonSchema: (schema): unknown => schema }), aiSdkVoice)],
]

export const TURN: SpokenTurn = {
  thinking: 'Hm.',
  text: 'Hello.',
  calls: [
    { id: 'a', name: 'ping', args: '{"n":1}' },
    { id: 'b', name: 'ping', args: '{"n":2}' },
  ],
}

/** Where to put a change: numbers select a position, so that a seed gives the same change in any tree. */
const change = fc.record({
  steps: fc.array(fc.nat(50), { minLength: 1, maxLength: 8 }),
  put: fc.oneof(
    fc.constantFrom<unknown>(null, undefined, '', 0, true, [], {}, [null], [[]], { type: null }, 'x', -1),
    // Converting it to a number or a text throws.
    fc.constant({ toString: null, valueOf: null }),
    fc.jsonValue({ maxDepth: 2 }),
  ),
})

/** Changes at random places, to apply one after another. */
export const changes = fc.array(change, { minLength: 1, maxLength: 4 })
type Changes = typeof changes extends fc.Arbitrary<infer Value> ? Value : never

/** A response or the events of a stream with parts of it replaced. */
export function changed(tree: unknown, given: Changes): unknown {
  return given.reduce<unknown>((all, { steps, put }) => replaceAt(all, steps, put), tree)
}

/** What a host does with a response: reads it and appends the messages. */
export function use(dialect: Speaker['dialect'], response: unknown): void {
  const { text, calls, unrunnable } = dialect.toReply(response, SURFACE)
  expect(typeof text).toBe('string')
  const ids = [...calls, ...unrunnable].map(({ toolCallId }) => toolCallId)
  expect(new Set(ids).size).toBe(ids.length)
  dialect.toRequest({
    surface: SURFACE,
    messages: [dialect.userMessage('hi'), ...dialect.toMessages(response, [], SURFACE)],
  })
}

function replaceAt(tree: unknown, [step = 0, ...rest]: readonly number[], put: unknown): unknown {
  if (typeof tree !== 'object' || tree === null) return put
  const keys = Object.keys(tree)
  const key = keys[step % Math.max(1, keys.length)]
  if (key === undefined) return put
  const old = (tree as Record<string, unknown>)[key]
  const value = rest.length === 0 ? put : replaceAt(old, rest, put)
  return Array.isArray(tree) ? tree.with(Number(key), value) : { ...tree, [key]: value }
}

export function speaker<Message, Request, Response, StreamEvent>(
  dialect: Dialect<Message, Request, Response, StreamEvent>,
  voice: Pick<Speaker, 'stream' | 'respond'>,
): Speaker {
  return { dialect: dialect as unknown as Speaker['dialect'], stream: voice.stream, respond: voice.respond }
}
