import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type AgentResult, type Model, readAnswer, runAgent } from '../../packages/core/src/agent/index.ts'
import { anthropic } from '../../packages/core/src/dialects/anthropic.ts'
import { bedrock } from '../../packages/core/src/dialects/bedrock.ts'
import type { Dialect } from '../../packages/core/src/dialects/dialect.ts'
import type { ProviderVoice, SpokenTurn } from '../../packages/core/src/dialects/dialect-contract.ts'
import { gemini } from '../../packages/core/src/dialects/gemini.ts'
import { minimax } from '../../packages/core/src/dialects/minimax.ts'
import { openaiChat } from '../../packages/core/src/dialects/openai-chat.ts'
import { openaiResponses } from '../../packages/core/src/dialects/openai-responses.ts'
import { ToolRegistry } from '../../packages/core/src/index.ts'
import type { Body } from '../dialects/wire-server/body.ts'
import { checkAnthropicRequest, checkMiniMaxRequest } from '../dialects/wire-server/check-anthropic.ts'
import { checkBedrockRequest } from '../dialects/wire-server/check-bedrock.ts'
import { checkChatRequest } from '../dialects/wire-server/check-chat.ts'
import { checkGeminiRequest } from '../dialects/wire-server/check-gemini.ts'
import { checkResponsesRequest } from '../dialects/wire-server/check-responses.ts'
import { anthropicVoice } from '../dialects/wire-server/voices/anthropic.ts'
import { bedrockVoice } from '../dialects/wire-server/voices/bedrock.ts'
import { geminiVoice } from '../dialects/wire-server/voices/gemini.ts'
import { chatVoice } from '../dialects/wire-server/voices/openai-chat.ts'
import { NATIVE_SEARCH, responsesVoice } from '../dialects/wire-server/voices/openai-responses.ts'

/** What a model says to one request, and what happens on the way. */
interface Turn {
  readonly spoken: SpokenTurn
  /** Whether the stream ends early, or the user stops it, after so many events. */
  readonly ending: 'whole' | { readonly cutAfter: number } | { readonly cancelAfter: number }
}

type Limits = { readonly maxIterations?: number; readonly maxTokens?: number }

const call = fc.record({
  id: fc.constantFrom('a', 'b', 'call_0', ''),
  name: fc.constantFrom('ping', 'tool_search', 'call_tool', 'nothing_like_it'),
  args: fc.constantFrom(
    '',
    '{}',
    '{"n":1}',
    '{"query":"send a mail"}',
    '{"name":"mcp__mail__send"}',
    '{"n": ',
    'null',
  ),
})
const ending: fc.Arbitrary<Turn['ending']> = fc.oneof(
  fc.constant('whole' as const),
  fc.nat(16).map((cutAfter) => ({ cutAfter })),
  fc.nat(16).map((cancelAfter) => ({ cancelAfter })),
)
const turn: fc.Arbitrary<Turn> = fc.record({
  spoken: fc.record(
    {
      text: fc.constantFrom('', 'Hello.', 'I am half w'),
      thinking: fc.constantFrom('Hm.'),
      calls: fc.array(call, { maxLength: 3 }),
      stop: fc.constantFrom('length' as const, 'refused' as const),
    },
    { requiredKeys: [] },
  ),
  ending,
})
const limits: fc.Arbitrary<Limits> = fc.constantFrom<Limits>({}, { maxIterations: 1 }, { maxTokens: 1 })

const says = (spoken: SpokenTurn, way: Turn['ending'] = 'whole'): Turn => ({ spoken, ending: way })
const calling = says({ calls: [{ id: 'a', name: 'ping', args: '{}' }] })
/** Each way to end at least once, whatever chance brings. Two cut answers in a row use up the retries. */
const EVERY_STOP: [Turn[], Limits][] = [
  [[says({ text: 'I am half w', stop: 'length' }), calling], {}],
  [[says({ stop: 'refused' }), calling], {}],
  [[says({ text: 'Hello.' }, { cancelAfter: 2 }), calling], {}],
  [[says({ text: 'Hello.' }, { cutAfter: 2 }), says({ text: 'Hello.' }, { cutAfter: 3 }), calling], {}],
  [[calling, calling, calling, calling], { maxIterations: 1 }],
  [[calling, calling], { maxTokens: 1 }],
]

describe('a run that ended in any way goes on from its messages, unchanged', () => {
  it.each([
    ['anthropic', () => resumes(anthropic(), anthropicVoice, checkAnthropicRequest)],
    ['minimax', () => resumes(minimax(), thinkingVoice, checkMiniMaxRequest)],
    ['openai-chat', () => resumes(openaiChat(), chatVoice, checkChatRequest)],
    ['openai-responses', () => resumes(openaiResponses(), searchingVoice, checkResponsesRequest)],
    ['bedrock', () => resumes(bedrock(), bedrockVoice, checkBedrockRequest)],
    ['gemini', () => resumes(gemini(), geminiVoice, checkGeminiRequest)],
  ])('%s', (_name, property) => property())
})

/** MiniMax always thinks, and wants its thinking back. */
const thinkingVoice: typeof anthropicVoice = {
  ...anthropicVoice,
  stream: (spoken) => anthropicVoice.stream({ thinking: 'Hm.', ...spoken }),
}

/** OpenAI's models search through the provider's own tool. */
const searchingVoice: typeof responsesVoice = {
  ...responsesVoice,
  stream: ({ calls = [], ...spoken }) =>
    responsesVoice.stream({
      ...spoken,
      calls: calls.map((each) => (each.name === 'tool_search' ? { ...each, name: NATIVE_SEARCH } : each)),
    }),
}

async function resumes<Message, Request extends object, Response, StreamEvent>(
  dialect: Dialect<Message, Request, Response, StreamEvent>,
  voice: ProviderVoice<Message, Request, Response, StreamEvent>,
  check: (body: Body) => string | undefined,
): Promise<void> {
  const stops = new Set<string>()
  await fc.assert(
    fc.asyncProperty(fc.array(turn, { minLength: 1, maxLength: 8 }), limits, async (turns, limit) => {
      const script = [...turns]
      const refusals: string[] = []
      let controller = new AbortController()
      const model: Model<Message, Request, Response> = {
        id: 'scripted',
        dialect,
        async send(request, options) {
          const refusal = check(bodyOf(request))
          if (refusal !== undefined) refusals.push(refusal)
          const next = script.shift()
          const events = next
            ? play(voice.stream(next.spoken), next.ending, controller)
            : play(voice.stream({ text: 'Done.' }), 'whole', controller)
          return readAnswer(events, dialect.openStream(), options)
        },
      }
      const session = await openSession(dialect)
      let messages: readonly Message[] = [dialect.userMessage('hello')]
      let result: AgentResult<Message> | undefined
      do {
        controller = new AbortController()
        result = await runAgent({
          model,
          session,
          messages,
          signal: controller.signal,
          timing: { now: () => 0, random: () => 0, sleep: async () => {} },
          retry: { maxRetries: 1 },
          ...limit,
        })
        stops.add(result.limit ?? result.stop)
        expect(result.messages.slice(0, messages.length)).toEqual(messages)
        // As after a restart of the program.
        messages = JSON.parse(JSON.stringify(result.messages)) as Message[]
      } while (script.length > 0)
      expect(refusals).toEqual([])
    }),
    { numRuns: 60, examples: EVERY_STOP },
  )
  expect([...stops]).toEqual(
    expect.arrayContaining([
      'done',
      'length',
      'cancelled',
      'failed',
      'refused',
      'maxIterations',
      'maxTokens',
    ]),
  )
}

async function openSession(dialect: Dialect) {
  const registry = new ToolRegistry({ mode: 'lazy' })
  const tool = (name: string) => ({
    name,
    description: `Does ${name}.`,
    inputSchema: { type: 'object' as const },
    execute: () => ({ ok: true as const, value: 'fine' }),
  })
  registry.register(tool('ping'))
  registry.syncMcp('mail', [tool('send'), tool('list')])
  return registry.openSession({ dialect })
}

/** The events of an answer, as far as they come. */
async function* play<StreamEvent>(
  events: readonly StreamEvent[],
  ending: Turn['ending'],
  controller: AbortController,
): AsyncGenerator<StreamEvent> {
  const reaches = ending === 'whole' ? events.length : Object.values(ending)[0]
  yield* events.slice(0, reaches)
  if (ending === 'whole') return
  if ('cancelAfter' in ending) controller.abort()
  throw new TypeError('terminated')
}

/** What goes over the wire. */
function bodyOf(request: object): Body {
  const { config, ...rest } = JSON.parse(JSON.stringify(request))
  return { ...rest, ...config }
}
