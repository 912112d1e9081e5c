import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { aiSdk } from '../../packages/core/src/dialects/ai-sdk.ts'
import { anthropic } from '../../packages/core/src/dialects/anthropic.ts'
import { bedrock } from '../../packages/core/src/dialects/bedrock.ts'
import type { Dialect } from '../../packages/core/src/dialects/dialect.ts'
import type { ProviderVoice, SpokenTurn } from '../../packages/core/src/dialects/dialect-contract.ts'
import { gemini } from '../../packages/core/src/dialects/gemini.ts'
import { minimax } from '../../packages/core/src/dialects/minimax.ts'
import { openaiChat } from '../../packages/core/src/dialects/openai-chat.ts'
import { openaiResponses } from '../../packages/core/src/dialects/openai-responses.ts'
import type { Surface } from '../../packages/core/src/session/surface.ts'
import type { CallResult } from '../../packages/core/src/tool.ts'
import type { Body } from './wire-server/body.ts'
import { checkAiSdkRequest } from './wire-server/check-ai-sdk.ts'
import { checkAnthropicRequest } from './wire-server/check-anthropic.ts'
import { checkBedrockRequest } from './wire-server/check-bedrock.ts'
import { checkChatRequest } from './wire-server/check-chat.ts'
import { checkGeminiRequest } from './wire-server/check-gemini.ts'
import { checkResponsesRequest } from './wire-server/check-responses.ts'
import { aiSdkVoice } from './wire-server/voices/ai-sdk.ts'
import { anthropicVoice } from './wire-server/voices/anthropic.ts'
import { bedrockVoice } from './wire-server/voices/bedrock.ts'
import { geminiVoice } from './wire-server/voices/gemini.ts'
import { chatVoice } from './wire-server/voices/openai-chat.ts'
import { responsesVoice } from './wire-server/voices/openai-responses.ts'

const SURFACE: Surface = {
  tools: [
    { name: 'ping', description: 'Answers.', parameters: { type: 'object' } },
    { name: 'draw.chart', description: 'Draws.', parameters: { type: 'object' } },
  ],
  deferredCount: 0,
  strategy: 'dispatch',
  fingerprint: 'x',
}

/** What a model says and how far it comes: everything a server was ever seen to send. */
interface Turn {
  readonly spoken: SpokenTurn
  /** Whole, as a stream, or as a stream that ends after so many events. */
  readonly way: 'whole' | 'stream' | number
  /** How many of the calls were run before the host stopped. */
  readonly ran: number
  /** Whether the user speaks after it. */
  readonly isAnswered: boolean
}

const spokenCall = fc.record(
  {
    id: fc.constantFrom('a', 'b', 'call_0', 'functions.ping:0', 'x'.repeat(80), ''),
    name: fc.constantFrom('ping', 'draw_chart_0123456789', 'functions.ping', 'made up', '', 'x'.repeat(90)),
    args: fc.oneof(
      fc.constantFrom('', ' ', 'null', '{}', '{"n":1}', '{"n": ', '[1]', '"text"', 'n=1', '{"a":{"b":"}"}}'),
      fc.json({ maxDepth: 2 }),
    ),
  },
  { requiredKeys: ['name', 'args'] },
)

const turn: fc.Arbitrary<Turn> = fc.record({
  spoken: fc.record(
    {
      text: fc.constantFrom('', ' ', 'Hello.', 'I am half w'),
      thinking: fc.constantFrom('Hm.', ''),
      calls: fc.array(spokenCall, { maxLength: 4 }),
      stop: fc.constantFrom('refused' as const, 'length' as const),
    },
    { requiredKeys: [] },
  ),
  way: fc.oneof(fc.constantFrom('whole' as const, 'stream' as const), fc.nat(24)),
  ran: fc.nat(4),
  isAnswered: fc.boolean(),
})

describe('whatever the model said, and wherever its stream was cut', () => {
  it.each([
    ['anthropic', () => holds(anthropic(), anthropicVoice, checkAnthropicRequest)],
    ['minimax', () => holds(minimax(), anthropicVoice, checkAnthropicRequest)],
    ['openai-chat', () => holds(openaiChat(), chatVoice, checkChatRequest)],
    ['openai-responses', () => holds(openaiResponses(), responsesVoice, checkResponsesRequest)],
    ['bedrock', () => holds(bedrock(), bedrockVoice, checkBedrockRequest)],
    ['gemini', () => holds(gemini(), geminiVoice, checkGeminiRequest)],
    [
      'ai-sdk',
      () => holds(aiSdk({ jsonSchema: (schema): unknown => schema }), aiSdkVoice, checkAiSdkRequest),
    ],
  ])('%s accepts the history at every turn, also after a restart', (_name, property) => property())
})

function holds<Message, Request extends object, Response, StreamEvent>(
  dialect: Dialect<Message, Request, Response, StreamEvent>,
  voice: ProviderVoice<Message, Request, Response, StreamEvent>,
  check: (body: Body) => string | undefined,
): void {
  const bodyOf = (messages: readonly Message[]): Body => {
    const { config, ...rest } = JSON.parse(JSON.stringify(dialect.toRequest({ surface: SURFACE, messages })))
    return { ...rest, ...config }
  }
  fc.assert(
    fc.property(fc.array(turn, { minLength: 1, maxLength: 5 }), (turns) => {
      const messages: Message[] = [dialect.userMessage('hello')]
      let sent: readonly unknown[] = messagesOf(bodyOf(messages))
      for (const { spoken, way, ran, isAnswered } of turns) {
        const response = speak(dialect, voice, spoken, way)
        const calls = dialect.toCalls(response, SURFACE)
        messages.push(...dialect.toMessages(response, calls.slice(0, ran).map(ok), SURFACE))
        if (isAnswered) messages.push(dialect.userMessage('go on'))
        const body = bodyOf(messages)
        expect(check(body)).toBeUndefined()
        const restored = JSON.parse(JSON.stringify(messages)) as Message[]
        expect(bodyOf(restored)).toEqual(body)
        // Nothing that was sent is ever changed, but for the word that stood in for the user's at the end.
        const before = isStandIn(sent.at(-1)) ? sent.slice(0, -1) : sent
        expect(messagesOf(body).slice(0, before.length)).toEqual(before)
        sent = messagesOf(body)
      }
    }),
    { numRuns: 200 },
  )
}

function speak<Message, Request, Response, StreamEvent>(
  dialect: Dialect<Message, Request, Response, StreamEvent>,
  voice: ProviderVoice<Message, Request, Response, StreamEvent>,
  spoken: SpokenTurn,
  way: Turn['way'],
): Response {
  if (way === 'whole') return voice.respond(spoken)
  const reader = dialect.openStream()
  const events = voice.stream(spoken)
  for (const event of way === 'stream' ? events : events.slice(0, way)) reader.add(event)
  return reader.response()
}

function ok({ toolCallId, name }: { toolCallId: string; name: string }): CallResult {
  return { toolCallId, name, result: { ok: true, value: 'fine' }, durationMs: 1 }
}

/** What the model reads, piece by piece: Bedrock joins the messages of one role. */
function messagesOf(body: Body): readonly unknown[] {
  const messages = (body.messages ?? body.contents ?? body.input) as Body[]
  return messages.flatMap((message): unknown[] =>
    Array.isArray(message.content) ? message.content.map((piece) => [message.role, piece]) : [message],
  )
}

function isStandIn(message: unknown): boolean {
  return JSON.stringify(message).includes('Continue from where you stopped.')
}
