import { describe, expect, it } from 'vitest'
import { anthropic } from '../../packages/core/src/dialects/anthropic.ts'
import { bedrock } from '../../packages/core/src/dialects/bedrock.ts'
import type { Dialect } from '../../packages/core/src/dialects/dialect.ts'
import type { ProviderVoice } from '../../packages/core/src/dialects/dialect-contract.ts'
import { gemini } from '../../packages/core/src/dialects/gemini.ts'
import { minimax } from '../../packages/core/src/dialects/minimax.ts'
import { openaiChat } from '../../packages/core/src/dialects/openai-chat.ts'
import { openaiResponses } from '../../packages/core/src/dialects/openai-responses.ts'
import type { Surface } from '../../packages/core/src/session/surface.ts'
import type { CallResult, ToolDefinition } from '../../packages/core/src/tool.ts'
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

describe('over 30 turns in which servers join and leave', () => {
  it.each([
    [
      'anthropic',
      () => conversation(anthropic({ inlineTools: true }), anthropicVoice, checkAnthropicRequest),
    ],
    ['openai-responses', () => conversation(openaiResponses(), responsesVoice, checkResponsesRequest)],
    ['minimax', () => conversation(minimax(), anthropicVoice, checkAnthropicRequest)],
    ['openai-chat', () => conversation(openaiChat(), chatVoice, checkChatRequest)],
    ['bedrock', () => conversation(bedrock(), bedrockVoice, checkBedrockRequest)],
    ['gemini', () => conversation(gemini(), geminiVoice, checkGeminiRequest)],
  ])('%s never changes a byte that was sent', (_name, converse) => {
    const { turns, faults } = converse()
    expect(faults).toEqual([])
    for (const [index, turn] of turns.entries()) {
      expect(turn.prefix).toBe(turns[0]?.prefix)
      const before = turns[index - 1]
      if (before) expect(turn.messages.startsWith(before.messages.slice(0, -1))).toBe(true)
    }
  })

  it('anthropic without inline tools and without call_tool only adds to the end of its tools', () => {
    const { turns, faults } = conversation(anthropic(), anthropicVoice, checkAnthropicRequest)
    expect(faults).toEqual([])
    for (const [index, turn] of turns.entries()) {
      const before = turns[index - 1]
      if (!before) continue
      expect(turn.tools.slice(0, before.tools.length)).toEqual(before.tools)
      expect(turn.messages.startsWith(before.messages.slice(0, -1))).toBe(true)
    }
    expect(turns.at(-1)?.tools.length).toBe((turns[0]?.tools.length ?? 0) + 6)
  })

  it('anthropic defines a tool that joined late where it was found, once', () => {
    const { turns } = conversation(anthropic({ inlineTools: true }), anthropicVoice, checkAnthropicRequest)
    const last = turns.at(-1)?.messages ?? ''
    expect(last.match(/"tool_addition"/g)).toHaveLength(3)
    expect(last).toContain('Found mcp__late_5__tool_0; the definitions follow.')
    // A tool that was there from the start is referred to, also after its server has left.
    expect(last).toContain('"tool_reference","tool_name":"mcp__first__tool_0"')
  })
})

interface Sent {
  readonly prefix: string
  readonly tools: readonly string[]
  readonly messages: string
}

/** Servers join at turns 5, 12 and 20; the first one leaves at 9: its definitions stay, and calls of it fail. */
function conversation<Message, Request extends object, Response, StreamEvent>(
  dialect: Dialect<Message, Request, Response, StreamEvent>,
  voice: ProviderVoice<Message, Request, Response, StreamEvent>,
  check: (body: Body) => string | undefined,
): { turns: readonly Sent[]; faults: readonly string[] } {
  const isNative = dialect.strategy === 'native'
  const search = dialect.name === 'openai-responses' ? NATIVE_SEARCH : 'tool_search'
  const messages: Message[] = [dialect.userMessage('hello')]
  const late: ToolDefinition[] = []
  const turns: Sent[] = []
  const faults: string[] = []
  for (let turn = 0; turn < TURNS; turn++) {
    if ([5, 12, 20].includes(turn)) late.push(...toolsOf(`late_${turn}`))
    const surface: Surface = {
      tools: [define('ping'), define('tool_search'), ...(isNative ? [] : [define('call_tool')])],
      deferredCount: 2 + late.length,
      strategy: dialect.strategy,
      fingerprint: `turn ${turn}`,
      ...(isNative ? { deferredTools: toolsOf('first'), lateTools: [...late] } : {}),
    }
    const request = dialect.toRequest({ surface, messages, system: 'Be brief.' })
    const { config, ...rest } = JSON.parse(JSON.stringify(request))
    const fault = check({ ...rest, ...config })
    if (fault !== undefined) faults.push(`turn ${turn}: ${fault}`)
    turns.push(partsOf(request))
    const found = turn % 3 === 0 ? (late.at(-2) ?? toolsOf('first')[0]) : undefined
    const call = found ? { name: search, args: '{"query":"tool"}' } : { name: 'ping', args: '{}' }
    const response = voice.respond({ thinking: 'Hm.', calls: [{ id: `c${turn}`, ...call }] })
    const results = dialect.toCalls(response, surface).map(({ toolCallId, name }): CallResult => {
      const gone = turn >= 9 && !found
      if (gone) return { toolCallId, name, result: NOT_AVAILABLE, durationMs: 1 }
      const structured = found && { matches: [{ name: found.name }], activated: [found.name] }
      const value = structured ? JSON.stringify(structured) : 'pong'
      return { toolCallId, name, result: { ok: true, value, structured }, durationMs: 1 }
    })
    messages.push(...dialect.toMessages(response, results, surface))
  }
  return { turns, faults }
}

const NOT_AVAILABLE = { ok: false, code: 'not_available', error: 'the server has left' } as const

function toolsOf(server: string): ToolDefinition[] {
  return [define(`mcp__${server}__tool_0`), define(`mcp__${server}__tool_1`)]
}

function define(name: string): ToolDefinition {
  return { name, description: `The tool ${name}.`, parameters: { type: 'object', properties: {} } }
}

function partsOf(request: object): Sent {
  const { messages, contents, input, ...prefix } = request as Record<string, unknown>
  const config = prefix.config as { tools?: unknown } | undefined
  const tools = (prefix.tools ?? config?.tools ?? []) as unknown[]
  return {
    prefix: JSON.stringify(prefix),
    tools: tools.map((tool) => JSON.stringify(tool)),
    messages: JSON.stringify(messages ?? contents ?? input),
  }
}
