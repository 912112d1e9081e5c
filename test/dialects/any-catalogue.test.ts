import fc from 'fast-check'
import { ToolRegistry } from 'toolcrib'
import { memoryStore } from 'toolcrib/stores'
import { describe, expect, it } from 'vitest'
import { aiSdk } from '../../packages/core/src/dialects/ai-sdk.ts'
import { anthropic } from '../../packages/core/src/dialects/anthropic.ts'
import { bedrock } from '../../packages/core/src/dialects/bedrock.ts'
import type { Dialect } from '../../packages/core/src/dialects/dialect.ts'
import type { ProviderVoice } from '../../packages/core/src/dialects/dialect-contract.ts'
import { gemini } from '../../packages/core/src/dialects/gemini.ts'
import { minimax } from '../../packages/core/src/dialects/minimax.ts'
import { openaiChat } from '../../packages/core/src/dialects/openai-chat.ts'
import { openaiResponses } from '../../packages/core/src/dialects/openai-responses.ts'
import { tool } from '../helpers.ts'
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
import { NATIVE_SEARCH, responsesVoice } from './wire-server/voices/openai-responses.ts'

const SERVERS = ['first', 'odd name', 'x'.repeat(60), 'late'] as const
type Server = (typeof SERVERS)[number]

/** What happens before a turn, and what the model does in it. */
interface Step {
  readonly change: 'join' | 'pin' | 'leave' | 'alter' | 'nothing'
  readonly server: Server
  readonly restore: 'state' | 'store' | 'no'
  /** A search for everything, or a call of a tool that a search has found. */
  readonly say: 'search' | Server
}

const step: fc.Arbitrary<Step> = fc.record({
  change: fc.constantFrom('join', 'pin', 'leave', 'alter', 'nothing'),
  server: fc.constantFrom(...SERVERS),
  restore: fc.constantFrom('no', 'no', 'state', 'store'),
  say: fc.constantFrom('search', ...SERVERS),
})

/** Each search tool, and a call of it that finds everything. */
const SEARCHES = {
  tool_search: '{"query":"gives an answer","limit":10}',
  tool_search_regex: '{"pattern":"answer"}',
  ToolSearch: '{"query":"gives an answer","max_results":10}',
} as const
type SearchTool = keyof typeof SEARCHES

describe('whatever joins, leaves, changes and is restored', () => {
  it.each([
    ['anthropic', () => holds(() => anthropic(), anthropicVoice, checkAnthropicRequest)],
    [
      'anthropic with inline tools',
      () => holds(() => anthropic({ inlineTools: true }), anthropicVoice, checkAnthropicRequest),
    ],
    ['openai-responses', () => holds(() => openaiResponses(), responsesVoice, checkResponsesRequest)],
    ['openai-chat', () => holds(() => openaiChat(), chatVoice, checkChatRequest)],
    ['gemini', () => holds(() => gemini(), geminiVoice, checkGeminiRequest)],
    ['minimax', () => holds(() => minimax(), anthropicVoice, checkAnthropicRequest)],
    ['bedrock', () => holds(() => bedrock(), bedrockVoice, checkBedrockRequest)],
    [
      'ai-sdk',
      () => holds(() => aiSdk({ jsonSchema: (schema): unknown => schema }), aiSdkVoice, checkAiSdkRequest),
    ],
  ])('%s accepts every request, and none changes a byte that was sent', (_name, property) => property())
})

function holds<Message, Request extends object, Response, StreamEvent>(
  makeDialect: () => Dialect<Message, Request, Response, StreamEvent>,
  voice: ProviderVoice<Message, Request, Response, StreamEvent>,
  check: (body: Body) => string | undefined,
): Promise<void> {
  const searchTools = fc.constantFrom(...(Object.keys(SEARCHES) as SearchTool[]))
  const steps = fc.array(step, { minLength: 2, maxLength: 10 })
  return fc.assert(
    fc.asyncProperty(steps, searchTools, async (script, searchTool) => {
      const store = memoryStore()
      const catalogue = new Map<Server, ServerState>([['first', 'join']])
      const found = new Set<Server>()
      const open = async (state?: object) => {
        const registry = registryOf(catalogue)
        const dialect = makeDialect()
        const given = state ? { state: state as never } : {}
        const session = await registry.openSession({ id: 'c', store, dialect, searchTool, ...given })
        return { registry, dialect, session }
      }
      let { registry, dialect, session } = await open()
      let messages: Message[] = [dialect.userMessage('hello')]
      let before: { prefix: string; messages: string } | undefined
      for (const [index, { change, server, restore, say }] of script.entries()) {
        apply(catalogue, registry, change, server)
        if (restore !== 'no') {
          await session.close()
          const state = JSON.parse(JSON.stringify(session))
          ;({ registry, dialect, session } = await open(restore === 'state' ? state : undefined))
          messages = JSON.parse(JSON.stringify(messages))
        }
        const turn = session.turn(messages as never[])
        const { config, ...rest } = JSON.parse(JSON.stringify(turn.request))
        expect(check({ ...rest, ...config })).toBeUndefined()
        const sent = partsOf(turn.request as object)
        if (before) expect(sent.prefix).toBe(before.prefix)
        if (before) expect(sent.messages.startsWith(before.messages.slice(0, -1))).toBe(true)
        before = sent
        const isCall = say !== 'search' && found.has(say)
        const call = isCall ? spokenCall(dialect, say) : spokenSearch(dialect, searchTool)
        const response = voice.respond({ thinking: 'Hm.', calls: [{ id: `c${index}`, ...call }] })
        messages.push(...((await turn.answer(response as never)) as unknown as Message[]))
        if (!isCall) for (const known of catalogue.keys()) found.add(known)
      }
      await session.close()
    }),
    { numRuns: 12 },
  )
}

type ServerState = 'join' | 'pin' | 'alter'

function apply(
  catalogue: Map<Server, ServerState>,
  registry: ToolRegistry,
  change: Step['change'],
  server: Server,
): void {
  if (change === 'nothing') return
  if (change === 'leave') {
    catalogue.delete(server)
    registry.unregisterMcp(server)
    return
  }
  catalogue.set(server, change)
  sync(registry, server, change)
}

function registryOf(catalogue: ReadonlyMap<Server, ServerState>): ToolRegistry {
  const registry = new ToolRegistry({ mode: 'lazy', searcher: 'lexical' })
  registry.register(tool('ping'))
  // Something is always deferred: without a search, nothing could bring in what joins.
  registry.syncMcp('base', [tool('base')], { trust: true })
  for (const [server, state] of catalogue) sync(registry, server, state)
  return registry
}

function sync(registry: ToolRegistry, server: Server, state: ServerState): void {
  const required = state === 'alter' ? ['now'] : []
  const answering = tool('tool', {
    description: `Gives an answer of ${server}.`,
    inputSchema: { type: 'object', properties: { now: { type: 'string' } }, required },
  })
  registry.syncMcp(server, [answering], { lazy: state !== 'pin', trust: server === 'first' })
}

function spokenSearch({ name }: Pick<Dialect, 'name'>, searchTool: SearchTool) {
  return { name: name === 'openai-responses' ? NATIVE_SEARCH : searchTool, args: SEARCHES[searchTool] }
}

/** A call as the model makes it: by its name where it was declared, else through `call_tool`. */
function spokenCall(dialect: Pick<Dialect, 'name' | 'strategy'>, server: Server) {
  const name = `mcp__${server.replace(' ', '_')}__tool`
  const isDispatched =
    dialect.strategy === 'dispatch' || ('dispatchesLateTools' in dialect && server !== 'first')
  if (isDispatched) return { name: 'call_tool', args: JSON.stringify({ name, arguments: {} }) }
  return { name, args: '{}' }
}

function partsOf(request: object): { prefix: string; messages: string } {
  const { messages, contents, input, ...prefix } = request as Record<string, unknown>
  return { prefix: JSON.stringify(prefix), messages: JSON.stringify(messages ?? contents ?? input) }
}
