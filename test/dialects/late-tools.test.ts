import { type Session, ToolRegistry } from 'toolcrib'
import { describe, expect, it } from 'vitest'
import { anthropic } from '../../src/dialects/anthropic.ts'
import { bedrock } from '../../src/dialects/bedrock.ts'
import type { Dialect } from '../../src/dialects/dialect.ts'
import type { ProviderVoice } from '../../src/dialects/dialect-contract.ts'
import { gemini } from '../../src/dialects/gemini.ts'
import { minimax } from '../../src/dialects/minimax.ts'
import { openaiChat } from '../../src/dialects/openai-chat.ts'
import { openaiResponses } from '../../src/dialects/openai-responses.ts'
import { tool } from '../helpers.ts'
import type { Body } from './wire-server/body.ts'
import { checkAnthropicRequest } from './wire-server/check-anthropic.ts'
import { checkBedrockRequest } from './wire-server/check-bedrock.ts'
import { checkChatRequest } from './wire-server/check-chat.ts'
import { checkGeminiRequest } from './wire-server/check-gemini.ts'
import { checkResponsesRequest } from './wire-server/check-responses.ts'
import { anthropicVoice } from './wire-server/voices/anthropic.ts'
import { bedrockVoice } from './wire-server/voices/bedrock.ts'
import { geminiVoice } from './wire-server/voices/gemini.ts'
import { chatVoice } from './wire-server/voices/openai-chat.ts'
import { NATIVE_SEARCH, responsesVoice } from './wire-server/voices/openai-responses.ts'

const TURNS = 30

describe('a session over 30 turns in which servers join, leave and change', () => {
  it.each([
    ['anthropic', () => converse(anthropic({ inlineTools: true }), anthropicVoice, checkAnthropicRequest)],
    ['openai-responses', () => converse(openaiResponses(), responsesVoice, checkResponsesRequest)],
    ['openai-chat', () => converse(openaiChat(), chatVoice, checkChatRequest)],
    ['gemini', () => converse(gemini(), geminiVoice, checkGeminiRequest)],
    ['minimax', () => converse(minimax(), anthropicVoice, checkAnthropicRequest)],
    ['bedrock', () => converse(bedrock(), bedrockVoice, checkBedrockRequest)],
  ])('%s never changes a byte that was sent', async (_name, run) => {
    const { turns, faults, texts } = await run()
    expect(faults).toEqual([])
    expect(turns).toHaveLength(TURNS)
    for (const [index, turn] of turns.entries()) {
      expect(turn.prefix).toBe(turns[0]?.prefix)
      const before = turns[index - 1]
      if (before) expect(turn.messages.startsWith(before.messages.slice(0, -1))).toBe(true)
    }
    // It was a conversation: late tools were found and ran, those that left say so, changed ones show their schema.
    expect(texts).toContain('joined_5__tool ran')
    expect(texts).toContain('pinned_12__tool ran')
    expect(texts).toMatch(/first__tool.{0,4} is no longer available/)
    expect(texts).toContain('Its parameters: {')
    expect(texts).toContain('servers_joined')
  })
})

describe('a session with a dialect', () => {
  const open = async (more: object = {}) => {
    const registry = new ToolRegistry({ mode: 'lazy' })
    registry.register(tool('ping'))
    registry.syncMcp('first', [tool('tool')])
    const session = await registry.openSession({ dialect: anthropic(), ...more })
    return { registry, session }
  }

  it('shows the same surface, the very object, until something changes', async () => {
    for (const more of [
      {},
      { strategy: 'append' },
      { dialect: undefined },
      { dialect: undefined, mode: 'full' },
    ]) {
      const { registry, session } = await open(more)
      const surface = session.surface()
      expect(session.surface()).toBe(surface)
      // The same definitions, registered again, are no change either.
      registry.syncMcp('first', [tool('tool')])
      expect(session.surface()).toBe(surface)
      registry.syncMcp('second', [tool('tool')])
      expect(session.surface()).not.toBe(surface)
      expect(session.surface()).toBe(session.surface())
      expect(Object.isFrozen(session.surface())).toBe(true)
    }
  })

  it('adds late tools at the end, in the order they came, and takes none away', async () => {
    const { registry, session } = await open()
    const { tools, deferredTools, fingerprint } = session.surface()
    registry.syncMcp('zebra', [tool('tool')])
    const late = () => session.surface().lateTools?.map(({ name }) => name)
    expect(late()).toEqual(['mcp__zebra__tool'])
    expect(session.surface().fingerprint).not.toBe(fingerprint)
    registry.syncMcp('ape', [tool('tool')], { lazy: false })
    registry.unregisterMcp('zebra')
    registry.unregisterMcp('first')
    registry.unregister('ping')
    expect(late()).toEqual(['mcp__zebra__tool', 'mcp__ape__tool'])
    expect(session.surface()).toMatchObject({ tools, deferredTools, deferredCount: 1 })
    expect(session.stats()).toMatchObject({ total_registered: 1, deferred: 1 })
    registry.syncMcp('zebra', [tool('tool')])
    expect(late()).toEqual(['mcp__zebra__tool', 'mcp__ape__tool'])
  })

  it('refuses a tool that has left with the reason, and one that was never there as unknown', async () => {
    const { registry, session } = await open()
    session.surface()
    registry.unregisterMcp('first')
    registry.unregister('ping')
    const run = async (name: string) =>
      (await session.execute([{ toolCallId: '1', name, args: {} }]))[0]?.result
    for (const name of ['ping', 'mcp__first__tool']) {
      expect(await run(name)).toEqual({
        ok: false,
        code: 'not_available',
        error: `"${name}" is no longer available: it was removed. Find tools with tool_search.`,
      })
    }
    expect(await run('pong')).toMatchObject({ error: expect.stringContaining('Unknown tool: pong.') })
  })

  it('declares a tool that joined during the turn in which it was found', async () => {
    const { registry, session } = await open()
    const turn = session.turn([{ role: 'user', content: 'hello' }])
    registry.syncMcp('second', [answering('second')])
    const search = { id: 'c', name: 'tool_search', args: '{"query":"answer"}' }
    const messages = await turn.answer(anthropicVoice.respond({ calls: [search] }))
    expect(JSON.stringify(messages)).toContain('"tool_reference","tool_name":"mcp__second__tool"')
    const { tools } = session.turn([{ role: 'user', content: 'hello' }, ...messages]).request
    expect(JSON.stringify(tools.at(-1))).toContain('mcp__second__tool')
  })

  it('makes a new first request when the provider takes no more tools', async () => {
    const { registry, session } = await open({ dialect: { ...anthropic(), maxTools: 5 } })
    expect(session.surface()).toMatchObject({ strategy: 'native' })
    registry.syncMcp('second', [tool('a')])
    expect(session.surface()).toMatchObject({ strategy: 'native', lateTools: [{ name: 'mcp__second__a' }] })
    registry.syncMcp('third', [tool('a'), tool('b')])
    const { strategy, tools, lateTools } = session.surface()
    expect({ strategy, tools: tools.map(({ name }) => name), lateTools }).toEqual({
      strategy: 'dispatch',
      tools: ['ping', 'tool_search', 'call_tool'],
      lateTools: undefined,
    })
  })

  it('follows the catalogue as long as nothing is deferred', async () => {
    const registry = new ToolRegistry()
    registry.register(tool('ping'))
    const session = await registry.openSession({ dialect: anthropic() })
    expect(session.surface().tools.map(({ name }) => name)).toEqual(['ping'])
    registry.syncMcp(
      'many',
      Array.from({ length: 20 }, (_, index) => tool(`t${index}`)),
    )
    expect(session.surface().tools.map(({ name }) => name)).toEqual(['ping', 'tool_search'])
    expect(session.surface().deferredTools).toHaveLength(20)
  })
})

interface Sent {
  readonly prefix: string
  readonly messages: string
}

/** What happens before each turn, and the tool that the model calls in it. */
const STEPS: { readonly [turn: number]: (registry: ToolRegistry) => void } = {
  5: (registry) => void registry.syncMcp('joined_5', [answering('joined_5')]),
  9: (registry) => void registry.unregisterMcp('first'),
  12: (registry) => void registry.syncMcp('pinned_12', [answering('pinned_12')], { lazy: false }),
  15: (registry) =>
    void registry.syncMcp('first', [
      { ...answering('first'), inputSchema: { type: 'object', required: ['now'], properties: { now: {} } } },
    ]),
  18: (registry) => void registry.register(tool('later')),
  22: (registry) => void registry.unregister('ping'),
  25: (registry) => void registry.unregisterMcp('joined_5'),
}

const CALLED: { readonly [turn: number]: string } = {
  3: 'mcp__first__tool',
  7: 'mcp__joined_5__tool',
  10: 'mcp__first__tool',
  13: 'mcp__pinned_12__tool',
  17: 'mcp__first__tool',
  23: 'ping',
  26: 'mcp__joined_5__tool',
}

async function converse<Message, Request extends object, Response, StreamEvent>(
  dialect: Dialect<Message, Request, Response, StreamEvent>,
  voice: ProviderVoice<Message, Request, Response, StreamEvent>,
  check: (body: Body) => string | undefined,
): Promise<{ turns: readonly Sent[]; faults: readonly string[]; texts: string }> {
  const registry = new ToolRegistry({ mode: 'lazy' })
  registry.register(tool('ping'))
  registry.syncMcp('first', [answering('first')])
  const session = await registry.openSession({ id: 'c', dialect })
  const messages: Message[] = [dialect.userMessage('hello')]
  const turns: Sent[] = []
  const faults: string[] = []
  for (let index = 0; index < TURNS; index++) {
    STEPS[index]?.(registry)
    const turn = (session as Session<typeof dialect>).turn(messages as never, { system: 'Be brief.' })
    const request = turn.request as Request
    const { config, ...rest } = JSON.parse(JSON.stringify(request))
    const fault = check({ ...rest, ...config })
    if (fault !== undefined) faults.push(`turn ${index}: ${fault}`)
    turns.push(partsOf(request))
    const call = spoken(dialect.name, dialect.strategy, CALLED[index])
    const response = voice.respond({ thinking: 'Hm.', calls: [{ id: `c${index}`, ...call }] })
    messages.push(...((await turn.answer(response as never)) as unknown as Message[]))
  }
  return { turns, faults, texts: JSON.stringify(messages) }
}

/** A search for everything, or a call of one tool as the model of this provider makes it. */
function spoken(dialect: string, strategy: string, name: string | undefined) {
  const isResponses = dialect === 'openai-responses'
  if (name === undefined)
    return { name: isResponses ? NATIVE_SEARCH : 'tool_search', args: '{"query":"answer","limit":10}' }
  if (strategy === 'dispatch' && name !== 'ping')
    return { name: 'call_tool', args: JSON.stringify({ name, arguments: {} }) }
  const [, server] = name.split('__')
  return { name: isResponses && server !== undefined ? `mcp__${server}::${name}` : name, args: '{}' }
}

function answering(server: string) {
  return tool('tool', {
    description: `Gives the answer of ${server}.`,
    execute: () => ({ ok: true, value: `${server}__tool ran` }),
  })
}

function partsOf(request: object): Sent {
  const { messages, contents, input, ...prefix } = request as Record<string, unknown>
  return { prefix: JSON.stringify(prefix), messages: JSON.stringify(messages ?? contents ?? input) }
}
