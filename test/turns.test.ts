import { beforeEach, describe, expect, it } from 'vitest'
import { aiSdk } from '../packages/core/src/dialects/ai-sdk.ts'
import { anthropic } from '../packages/core/src/dialects/anthropic.ts'
import { bedrock } from '../packages/core/src/dialects/bedrock.ts'
import type { Dialect } from '../packages/core/src/dialects/dialect.ts'
import type { ProviderVoice, SpokenTurn } from '../packages/core/src/dialects/dialect-contract.ts'
import { gemini } from '../packages/core/src/dialects/gemini.ts'
import { minimax } from '../packages/core/src/dialects/minimax.ts'
import { openaiChat } from '../packages/core/src/dialects/openai-chat.ts'
import { openaiResponses } from '../packages/core/src/dialects/openai-responses.ts'
import type { Session } from '../packages/core/src/session/session.ts'
import { ToolRegistry } from '../packages/core/src/tool-registry.ts'
import { sampleRegistry } from './dialects/catalogue.ts'
import type { Body } from './dialects/wire-server/body.ts'
import { checkAnthropicRequest } from './dialects/wire-server/check-anthropic.ts'
import { checkBedrockRequest } from './dialects/wire-server/check-bedrock.ts'
import { checkChatRequest } from './dialects/wire-server/check-chat.ts'
import { checkGeminiRequest } from './dialects/wire-server/check-gemini.ts'
import { checkResponsesRequest } from './dialects/wire-server/check-responses.ts'
import { aiSdkVoice } from './dialects/wire-server/voices/ai-sdk.ts'
import { anthropicVoice } from './dialects/wire-server/voices/anthropic.ts'
import { bedrockVoice } from './dialects/wire-server/voices/bedrock.ts'
import { geminiVoice } from './dialects/wire-server/voices/gemini.ts'
import { chatVoice } from './dialects/wire-server/voices/openai-chat.ts'
import { NATIVE_SEARCH, responsesVoice } from './dialects/wire-server/voices/openai-responses.ts'
import { tool } from './helpers.ts'

type AnyDialect = Dialect<unknown, object, unknown, unknown>
type AnyVoice = ProviderVoice<unknown, object, unknown, unknown>

/** A provider for these tests: its dialect, how it speaks, and what it refuses. */
interface Provider {
  readonly name: string
  readonly dialect: AnyDialect
  readonly voice: AnyVoice
  check(body: Body): string | undefined
}

function provider<Message, Request extends object, Response, StreamEvent>(
  name: string,
  dialect: Dialect<Message, Request, Response, StreamEvent>,
  voice: ProviderVoice<Message, Request, Response, StreamEvent>,
  check: Provider['check'],
): Provider {
  // Each provider reads only what its own voice said.
  return { name, dialect: dialect as unknown as AnyDialect, voice: voice as unknown as AnyVoice, check }
}

const PROVIDERS = [
  provider('anthropic', anthropic(), anthropicVoice, checkAnthropicRequest),
  provider('minimax', minimax(), anthropicVoice, checkAnthropicRequest),
  provider('openai-chat', openaiChat(), chatVoice, checkChatRequest),
  provider('openai-responses', openaiResponses(), responsesVoice, checkResponsesRequest),
  provider('bedrock', bedrock(), bedrockVoice, checkBedrockRequest),
  provider('gemini', gemini(), geminiVoice, checkGeminiRequest),
  // Its request is read by the SDK itself, in test/dialects/ai-sdk.test.ts: no server sees it in this form.
  provider('ai-sdk', aiSdk({ jsonSchema: (schema) => schema }), aiSdkVoice, () => undefined),
]

const RAIN = 'mcp__city__get_rain'

describe.each(PROVIDERS)('a turn with $name', ({ name, dialect, voice, check }) => {
  let session: Session<AnyDialect>
  let messages: unknown[]

  beforeEach(async () => {
    session = await sampleRegistry().openSession({ mode: 'lazy', dialect })
    messages = [dialect.userMessage('Does it rain in Bergen?')]
  })

  const openTurn = (options = { system: 'Be brief.' }) => {
    const turn = session.turn(messages, options)
    expect(check(bodyOf(turn.request))).toBeUndefined()
    return turn
  }

  it('puts the tools, the system prompt, the note and the messages into the request', () => {
    const { request, surface } = openTurn()
    expect(surface).toEqual(session.surface())
    expect(request).toEqual(
      dialect.toRequest({
        surface,
        messages,
        system: 'Be brief.',
        note: session.promptNote(),
        cacheKey: session.id,
      }),
    )
    const text = JSON.stringify(request)
    expect(text).toContain('Be brief.')
    expect(text).toContain('Does it rain in Bergen?')
    expect(text).toContain(JSON.stringify(session.promptNote()).slice(1, -1))
  })

  it.each(['whole', 'stream'] as const)('runs what the model asks for until it is done (%s)', async (way) => {
    const texts: string[] = []
    const say = async (spoken: SpokenTurn) => {
      const turn = openTurn()
      if (way === 'whole') messages.push(...(await turn.answer(voice.respond(spoken))))
      else {
        for await (const text of turn.stream(voice.stream(spoken))) texts.push(text)
        messages.push(...(await turn.answer()))
      }
      return turn
    }
    const searched = await say({ text: 'I look.', calls: [searchCall(name)] })
    expect(searched.reply?.calls).toMatchObject([{ name: 'tool_search' }])
    expect(session.isActive(RAIN)).toBe(true)

    const called = await say({ calls: [rainCall(name, session)] })
    expect(session.reached(called.reply?.calls[0] ?? missing())).toMatchObject({
      name: RAIN,
      args: { city: 'Bergen' },
    })
    expect(JSON.stringify(messages)).toContain('get_rain was given')

    const done = await say({ text: 'It rains.' })
    expect(done.reply).toMatchObject({ text: 'It rains.', calls: [], stop: 'done' })
    expect(messages).toHaveLength(new Set(messages).size)
    openTurn()
    if (way === 'stream') expect(texts.join('')).toBe('I look.It rains.')
  })

  it('answers what came when a stream breaks', async () => {
    const turn = openTurn()
    const broken = (async function* () {
      yield* voice.stream({ text: 'I am half w' }).slice(0, -1)
      throw new Error('connection reset')
    })()
    const read = async () => {
      const texts: string[] = []
      for await (const text of turn.stream(broken)) texts.push(text)
    }
    await expect(read()).rejects.toThrow('connection reset')
    messages.push(...(await turn.answer()), dialect.userMessage('Go on.'))
    expect(turn.reply?.text).toBe('I am half w')
    openTurn()
  })

  it('shows the surface of its own moment, and answers with it', async () => {
    const before = openTurn()
    const sent = JSON.stringify([before.surface, before.request])
    await session.activate([RAIN])
    messages.push(...(await before.answer(voice.respond({ calls: [{ id: 'p', name: 'ping', args: '{}' }] }))))
    expect(JSON.stringify([before.surface, before.request])).toBe(sent)
    expect(JSON.stringify(messages)).toContain('ping was given')
  })
})

describe('a turn', () => {
  const open = () => sampleRegistry().openSession({ dialect: openaiChat() })
  const refused = (message: RegExp) =>
    expect.objectContaining({ code: 'config-invalid', message: expect.stringMatching(message) })
  const thrownBy = (action: () => unknown) => {
    try {
      action()
    } catch (error) {
      return error
    }
    return 'nothing thrown'
  }

  it('needs a session with a dialect', async () => {
    const without = await sampleRegistry().openSession()
    expect(thrownBy(() => without.turn([]))).toEqual(refused(/needs a dialect.*dialect: anthropic\(\)/))
    const barely = await sampleRegistry().openSession({ dialect: { strategy: 'append' } })
    expect(thrownBy(() => barely.turn([]))).toEqual(refused(/needs a dialect/))
  })

  it('takes the dialect of the registry, and a fork its own', async () => {
    const { ToolRegistry } = await import('../packages/core/src/tool-registry.ts')
    const session = await new ToolRegistry({ dialect: openaiChat() }).openSession()
    expect(session.turn([]).request).toHaveProperty('messages')
    const child = session.fork({ dialect: gemini() })
    expect(child.turn([]).request).toHaveProperty('contents')
    expect(session.fork().turn([]).request).toHaveProperty('messages')
  })

  it.each([
    [{ sytem: 'x' }, /no option "sytem"; did you mean "system"\?/],
    [{ system: 7 }, /system is 7; it must be a string/],
    ['Be brief.', /takes its options as an object/],
  ])('refuses the options %j', async (options, message) => {
    const session = await open()
    expect(thrownBy(() => session.turn([], options as never))).toEqual(refused(message))
  })

  it('has no reply before it is answered, and needs a response or a stream', async () => {
    const turn = (await open()).turn([])
    expect(turn.reply).toBeUndefined()
    await expect(turn.answer()).rejects.toEqual(
      refused(/answer\(\) needs a response, or stream\(\) before it/),
    )
  })

  it('says what the model refused and what it cost', async () => {
    const turn = (await open()).turn([])
    await turn.answer(chatVoice.respond({ text: 'No.', stop: 'refused' }))
    expect(turn.reply).toMatchObject({ stop: 'refused' })
    expect(turn.reply?.usage.outputTokens).toBeGreaterThan(0)
  })

  it('prefers the response it is given to the one that was streamed', async () => {
    const turn = (await open()).turn([])
    for await (const _ of turn.stream(chatVoice.stream({ text: 'streamed' })));
    await turn.answer(chatVoice.respond({ text: 'given' }))
    expect(turn.reply?.text).toBe('given')
  })
})

/** What goes over the wire: Gemini's client spreads `config` into the body. */
function bodyOf(request: object): Body {
  const { config, ...rest } = JSON.parse(JSON.stringify(request))
  return { ...rest, ...config }
}

function searchCall(name: string) {
  const args = JSON.stringify({ query: 'city rainfall', limit: 3 })
  return { id: 's', name: name === 'openai-responses' ? NATIVE_SEARCH : 'tool_search', args }
}

/** Calls the tool in the way the surface offers. */
function rainCall(name: string, session: Session<AnyDialect>) {
  const args = { city: 'Bergen' }
  if (session.surface().strategy === 'dispatch')
    return { id: 'r', name: 'call_tool', args: JSON.stringify({ name: RAIN, arguments: args }) }
  const wireName = name === 'openai-responses' ? `mcp__city::${RAIN}` : RAIN
  return { id: 'r', name: wireName, args: JSON.stringify(args) }
}

function missing(): never {
  throw new Error('no call')
}

describe('an answer', () => {
  it('runs the calls of a response once, however often it is asked for', async () => {
    let runs = 0
    const registry = new ToolRegistry()
    registry.register({ ...tool('count'), execute: () => ({ ok: true, value: String(++runs) }) })
    const session = await registry.openSession({ dialect: anthropic() })
    const turn = session.turn([{ role: 'user', content: 'go' }])
    const response = messageWith('tool_use')
    expect(await turn.answer(response)).toEqual(await turn.answer(response))
    expect(runs).toBe(1)
  })

  it('runs no call of a model that declined', async () => {
    let runs = 0
    const registry = new ToolRegistry()
    registry.register({ ...tool('count'), execute: () => ({ ok: true, value: String(++runs) }) })
    const session = await registry.openSession({ dialect: anthropic() })
    await session.turn([{ role: 'user', content: 'go' }]).answer(messageWith('refusal'))
    expect(runs).toBe(0)
  })

  it('grows by dispatch where native deferral would send more tools than the provider takes', async () => {
    const registry = new ToolRegistry({ mode: 'lazy' })
    registry.syncMcp(
      's',
      Array.from({ length: 12 }, (_, index) => tool(`t${index}`)),
    )
    const small = { ...anthropic(), maxTools: 10 }
    expect((await registry.openSession({ dialect: small })).surface().strategy).toBe('dispatch')
    expect((await registry.openSession({ dialect: anthropic() })).surface().strategy).toBe('native')
  })

  function messageWith(stop: 'tool_use' | 'refusal') {
    return {
      id: 'msg_1',
      type: 'message',
      role: 'assistant',
      model: 'm',
      content: [{ type: 'tool_use', id: 'toolu_1', name: 'count', input: {} }],
      stop_reason: stop,
      stop_sequence: null,
      usage: { input_tokens: 1, output_tokens: 1 },
    } as never
  }
})
