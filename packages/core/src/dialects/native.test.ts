import type Anthropic from '@anthropic-ai/sdk'
import { describe, expect, it } from 'vitest'
import { realRegistry, sampleRegistry, tool } from '../../../../test/dialects/catalogue.ts'
import { checkAnthropicRequest } from '../../../../test/dialects/wire-server/check-anthropic.ts'
import { checkChatRequest } from '../../../../test/dialects/wire-server/check-chat.ts'
import { checkGeminiRequest } from '../../../../test/dialects/wire-server/check-gemini.ts'
import { checkResponsesRequest } from '../../../../test/dialects/wire-server/check-responses.ts'
import { anthropicVoice } from '../../../../test/dialects/wire-server/voices/anthropic.ts'
import {
  NATIVE_SEARCH,
  responsesVoice,
} from '../../../../test/dialects/wire-server/voices/openai-responses.ts'
import type { Surface } from '../session/surface.ts'
import { ToolRegistry } from '../tool-registry.ts'
import { anthropic, type MessagesRequest } from './anthropic.ts'
import type { SpokenTurn } from './dialect-contract.ts'
import { gemini } from './gemini.ts'
import { openaiChat } from './openai-chat.ts'
import { openaiResponses } from './openai-responses.ts'

const RAIN = 'mcp__city__get_rain'

describe('anthropic', () => {
  const dialect = anthropic()
  const open = (registry: ToolRegistry) => registry.openSession({ mode: 'lazy', dialect })

  it('sends every deferred tool from the first request, after those that are shown', async () => {
    const session = await open(sampleRegistry())
    const tools = ownTools(dialect.toRequest({ surface: session.surface(), messages: [] }))
    const firstDeferred = tools.findIndex(({ defer_loading }) => defer_loading)
    expect(tools.slice(0, firstDeferred).map(({ name }) => name)).toContain('tool_search')
    expect(tools.slice(firstDeferred).every(({ defer_loading }) => defer_loading === true)).toBe(true)
    expect(tools.length - firstDeferred).toBe(session.deferred().length)
  })

  it('marks the end of what never changes for the cache, and never a deferred tool', async () => {
    const surface = (await open(sampleRegistry())).surface()
    const marked = (request: ReturnType<typeof dialect.toRequest>) =>
      ownTools(request)
        .filter(({ cache_control }) => cache_control)
        .map(({ name }) => name)
    expect(marked(dialect.toRequest({ surface, messages: [] }))).toEqual(['call_tool'])
    const withSystem = dialect.toRequest({ surface, messages: [], system: 'Be brief.' })
    expect([marked(withSystem), withSystem.system?.[0]?.cache_control]).toEqual([[], { type: 'ephemeral' }])
    const uncached = anthropic({ cache: false }).toRequest({ surface, messages: [] })
    expect(JSON.stringify(uncached)).not.toContain('cache_control')
    const long = anthropic({ cache: '1h' }).toRequest({ surface, messages: [] })
    expect(long.cache_control).toEqual({ type: 'ephemeral', ttl: '1h' })
  })

  it('returns references for a search, and text for a miss', async () => {
    const session = await open(sampleRegistry())
    const found = await searchWith(session, 'city rainfall')
    expect(found).toContainEqual({ type: 'tool_reference', tool_name: RAIN })
    expect(JSON.stringify(await searchWith(session, 'xylophone'))).toContain('No tool fits')

    async function searchWith(searching: typeof session, query: string) {
      const surface = searching.surface()
      const response = anthropicVoice.respond({
        calls: [{ id: 's', name: 'tool_search', args: JSON.stringify({ query }) }],
      })
      const results = await searching.execute(dialect.toCalls(response, surface))
      const [, answer] = dialect.toMessages(response, results, surface)
      const [block] = typeof answer?.content === 'string' ? [] : (answer?.content ?? [])
      return block?.type === 'tool_result' ? block.content : undefined
    }
  })

  it.each([
    ['tool_search', 'one-step', { name: RAIN }],
    ['tool_search', 'two-step', { name: RAIN }],
    ['tool_search_regex', 'one-step', { pattern: 'get_rain' }],
    ['ToolSearch', 'one-step', { query: `select:${RAIN}` }],
  ] as const)('answers %s (%s) with references', async (searchTool, searchStyle, args) => {
    const session = await sampleRegistry().openSession({ mode: 'lazy', dialect, searchTool, searchStyle })
    const surface = session.surface()
    const response = anthropicVoice.respond({
      calls: [{ id: 's', name: searchTool, args: JSON.stringify(args) }],
    })
    const results = await session.execute(dialect.toCalls(response, surface))
    expect(dialect.toMessages(response, results, surface).at(-1)?.content).toEqual([
      {
        type: 'tool_result',
        tool_use_id: 's',
        content: expect.arrayContaining([{ type: 'tool_reference', tool_name: RAIN }]),
      },
    ])
  })

  it('does not reference tools that a two-step query only lists', async () => {
    const session = await sampleRegistry().openSession({ mode: 'lazy', dialect, searchStyle: 'two-step' })
    const surface = session.surface()
    const response = anthropicVoice.respond({
      calls: [{ id: 's', name: 'tool_search', args: '{"query":"city rainfall"}' }],
    })
    const results = await session.execute(dialect.toCalls(response, surface))
    const bytes = JSON.stringify(dialect.toMessages(response, results, surface))
    expect(bytes).not.toContain('tool_reference')
    expect(bytes).toContain(RAIN)
  })

  it('adds the search’s notes after the references', async () => {
    const session = await sampleRegistry().openSession({ mode: 'lazy', dialect, maxActive: 1 })
    await session.activate([session.deferred().find(({ name }) => name !== RAIN)?.name ?? ''])
    const surface = session.surface()
    const response = anthropicVoice.respond({
      calls: [{ id: 's', name: 'tool_search', args: JSON.stringify({ query: `select:${RAIN}` }) }],
    })
    const results = await session.execute(dialect.toCalls(response, surface))
    const messages = [dialect.userMessage('hi'), ...dialect.toMessages(response, results, surface)]
    expect(messages.at(-1)?.content).toEqual([
      expect.objectContaining({ content: [{ type: 'tool_reference', tool_name: RAIN }] }),
      { type: 'text', text: expect.stringContaining('"evicted":[') },
    ])
    expect(checkAnthropicRequest({ ...dialect.toRequest({ surface, messages }) })).toBeUndefined()
  })

  it.each([
    ['thinking alone', { thinking: 'Hm.' }, 0],
    ['blank text', { text: ' \n' }, 0],
    ['thinking and blank text', { thinking: 'Hm.', text: ' ' }, 0],
    ['words', { thinking: 'Hm.', text: 'Yes.' }, 1],
  ])('replays an answer of %s so that it is taken', async (_name, turn, count) => {
    const surface = (await open(sampleRegistry())).surface()
    const replayed = dialect.toMessages(anthropicVoice.respond(turn), [], surface)
    expect(replayed).toHaveLength(count)
    const messages = [dialect.userMessage('hi'), ...replayed]
    expect(checkAnthropicRequest({ ...dialect.toRequest({ surface, messages }) })).toBeUndefined()
  })

  it('under append, never moves a cache breakpoint as tools are added', async () => {
    const session = await sampleRegistry().openSession({ mode: 'lazy', strategy: 'append' })
    const before = ownTools(dialect.toRequest({ surface: session.surface(), messages: [] }))
    await session.activate([RAIN])
    const after = ownTools(dialect.toRequest({ surface: session.surface(), messages: [] }))
    expect(after).toHaveLength(before.length + 1)
    expect(after.slice(0, -1)).toEqual(before)
    expect(after.filter(({ cache_control }) => cache_control).map(({ name }) => name)).toEqual([
      'tool_search',
    ])
  })

  it('never defers everything: without a search, it shows all tools', () => {
    const definition = { name: 'a', description: '', parameters: {} }
    const surface: Surface = {
      tools: [],
      deferredTools: [definition],
      deferredCount: 1,
      strategy: 'native',
      fingerprint: 'x',
    }
    expect(dialect.toRequest({ surface, messages: [] }).tools).toEqual([
      expect.not.objectContaining({ defer_loading: true }),
    ])
  })

  it('drops a reference to a removed tool, and says so when none is left', async () => {
    const surface = (await open(sampleRegistry())).surface()
    const answered = (...names: string[]) => ({
      role: 'user' as const,
      content: [
        {
          type: 'tool_result' as const,
          tool_use_id: 's',
          content: names.map((name) => ({ type: 'tool_reference' as const, tool_name: name })),
        },
      ],
    })
    const { messages } = dialect.toRequest({ surface, messages: [answered('gone', RAIN), answered('gone')] })
    expect(messages[0]).toEqual(answered(RAIN))
    expect(JSON.stringify(messages[1])).toContain('No longer available: gone')
  })

  it('maps argument keys back to the tool’s own', () => {
    const surface: Surface = {
      tools: [{ name: 'a', description: '', parameters: { properties: { 'From<': { type: 'string' } } } }],
      deferredCount: 0,
      strategy: 'append',
      fingerprint: 'x',
    }
    const [shown] = ownTools(dialect.toRequest({ surface, messages: [] }))
    const [key = ''] = Object.keys(shown?.input_schema.properties as object)
    const response = anthropicVoice.respond({
      calls: [{ id: 'c', name: 'a', args: JSON.stringify({ [key]: 1 }) }],
    })
    expect(key).toMatch(/^From__[0-9a-f]{10}$/)
    expect(dialect.toCalls(response, surface)[0]?.args).toEqual({ 'From<': 1 })
  })
})

describe('openai-responses', () => {
  const dialect = openaiResponses()
  const open = (registry: ToolRegistry) => registry.openSession({ mode: 'lazy', dialect })

  it('shows its own search instead of a function, and no deferred tools', async () => {
    const surface = (await open(sampleRegistry())).surface()
    const { tools } = dialect.toRequest({ surface, messages: [] })
    expect(tools.map(({ type }) => type)).toEqual(['function', 'function', 'tool_search'])
    expect(tools.at(-1)).toMatchObject({ execution: 'client' })
  })

  it('returns namespaces of deferred tools for a search, and text for a miss', async () => {
    const session = await open(sampleRegistry())
    expect(await searchFor('city rainfall')).toMatchObject([
      { type: 'tool_search_call', call_id: 's' },
      {
        type: 'tool_search_output',
        call_id: 's',
        status: 'completed',
        tools: [{ type: 'namespace', name: 'mcp__city', tools: [{ name: RAIN, defer_loading: true }] }],
      },
      { role: 'developer', content: 'The search also returned: {"next_offset":1}' },
    ])
    expect(await searchFor('xylophone')).toMatchObject([
      { type: 'tool_search_call' },
      { type: 'tool_search_output', tools: [] },
      { role: 'developer', content: expect.stringContaining('No tool fits') },
    ])

    async function searchFor(query: string) {
      const surface = session.surface()
      const args = JSON.stringify({ query, limit: 1 })
      const response = responsesVoice.respond({ calls: [{ id: 's', name: NATIVE_SEARCH, args }] })
      return dialect.toMessages(response, await session.execute(dialect.toCalls(response, surface)), surface)
    }
  })

  it('puts tools of one server in namespaces of fewer than ten', async () => {
    const registry = new ToolRegistry()
    registry.syncMcp(
      'big',
      Array.from({ length: 25 }, (_, index) => tool(`thing_${index}`, 'A thing.', {})),
    )
    const session = await registry.openSession({ mode: 'lazy', dialect, maxActive: 0 })
    const surface = session.surface()
    const names = registry.listSchemas().map(({ name }) => name)
    const args = JSON.stringify({ query: `select:${names.join(',')}`, limit: 25 })
    const response = responsesVoice.respond({ calls: [{ id: 's', name: NATIVE_SEARCH, args }] })
    const items = dialect.toMessages(
      response,
      await session.execute(dialect.toCalls(response, surface)),
      surface,
    )
    const output = items.find((item) => item.type === 'tool_search_output')
    const sizes = output?.tools.map((space) => (space.type === 'namespace' ? space.tools.length : 0))
    expect(sizes).toEqual([9, 9, 7])
    const request = dialect.toRequest({ surface, messages: items })
    expect(checkResponsesRequest({ ...request })).toBeUndefined()
  })

  it('never gives two servers the same namespace, whatever their names', async () => {
    const registry = new ToolRegistry()
    const things = (count: number) =>
      Array.from({ length: count }, (_, index) => tool(`thing_${index}`, 'A thing.', {}))
    registry.syncMcp('github', things(12))
    registry.syncMcp('github_2', things(3))
    registry.syncMcp('x'.repeat(50), things(10))
    const session = await registry.openSession({ mode: 'lazy', dialect, maxActive: 0 })
    const surface = session.surface()
    const names = registry.listSchemas().map(({ name }) => name)
    const args = JSON.stringify({ query: `select:${names.join(',')}`, limit: 25 })
    const response = responsesVoice.respond({ calls: [{ id: 's', name: NATIVE_SEARCH, args }] })
    const results = await session.execute(dialect.toCalls(response, surface))
    const messages = dialect.toMessages(response, results, surface)
    const output = messages.find((item) => item.type === 'tool_search_output')
    const spaces = output?.tools.map((space) => (space.type === 'namespace' ? space.name : ''))
    expect(spaces).toHaveLength(5)
    expect(new Set(spaces).size).toBe(5)
    expect(checkResponsesRequest({ ...dialect.toRequest({ surface, messages }) })).toBeUndefined()
  })

  it.each([
    ['reasoning that led nowhere', { thinking: 'Hm.' }, []],
    ['reasoning before words', { thinking: 'Hm.', text: 'Yes.' }, ['reasoning', 'message']],
    [
      'reasoning before half a call',
      { thinking: 'Hm.', calls: [{ id: 'c', name: 'ping', args: '{' }], stop: 'length' },
      ['function_call', 'function_call_output'],
    ],
  ] as const)('replays %s so that it is taken', async (_name, turn, types) => {
    const surface = (await open(sampleRegistry())).surface()
    const messages = dialect.toMessages(responsesVoice.respond(turn), [], surface)
    expect(messages.map(({ type }) => type)).toEqual(types)
    expect(checkResponsesRequest({ ...dialect.toRequest({ surface, messages }) })).toBeUndefined()
  })

  it('says what went wrong at the provider, in a response or in its stream', async () => {
    const surface = (await open(sampleRegistry())).surface()
    const error = { code: 'invalid_prompt' as const, message: 'It cannot be read.' }
    const failed = { ...responsesVoice.respond({}), status: 'failed' as const, error }
    expect(dialect.toReply(failed, surface)).toMatchObject({ stop: 'cut', error })
    const reader = dialect.openStream()
    reader.add({ type: 'error', ...error, param: null, sequence_number: 0 })
    expect(dialect.toReply(reader.response(), surface)).toMatchObject({ stop: 'cut', error })
  })

  it('restores a lost namespace, and declares tools lost in a compaction', async () => {
    const surface = (await open(sampleRegistry())).surface()
    const call = { type: 'function_call' as const, call_id: 'c', name: RAIN, arguments: '{}' }
    const output = { type: 'function_call_output' as const, call_id: 'c', output: 'x' }
    const request = dialect.toRequest({ surface, messages: [call, output] })
    expect(request.input[0]).toMatchObject({ namespace: 'mcp__city' })
    expect(request.tools.at(-1)).toMatchObject({ type: 'namespace', name: 'mcp__city' })
    expect(checkResponsesRequest({ ...request })).toBeUndefined()
    const gone = dialect.toRequest({
      surface,
      messages: [{ ...call, name: 'old', namespace: 'past' }, output],
    })
    expect(checkResponsesRequest({ ...gone })).toBeUndefined()
  })
})

describe('too many tools for a request', () => {
  it('is a clear error, not a refused request', async () => {
    const registry = new ToolRegistry({ mode: 'full' })
    registry.registerAll(Array.from({ length: 513 }, (_, index) => tool(`t${index}`, '', {})))
    const surface = (await registry.openSession()).surface()
    const config = { code: 'config-invalid', message: expect.stringContaining('mode "lazy"') }
    expect(() => openaiChat().toRequest({ surface, messages: [] })).toThrow(expect.objectContaining(config))
    expect(() => gemini().toRequest({ surface, messages: [] })).toThrow(expect.objectContaining(config))
    expect(openaiChat({ maxTools: 1_000 }).toRequest({ surface, messages: [] }).tools).toHaveLength(513)
  })
})

const real = realRegistry()
describe.skipIf(!real)('the whole real catalogue', () => {
  it.each([
    ['anthropic', anthropic(), checkAnthropicRequest],
    ['openai-responses', openaiResponses(), checkResponsesRequest],
    ['openai-chat', openaiChat(), checkChatRequest],
    ['gemini', gemini(), checkGeminiRequest],
  ] as const)('goes through %s', async (_name, dialect, check) => {
    const session = await real?.registry.openSession({ mode: 'lazy', dialect })
    if (!session) return
    expect(session.deferred().length).toBeGreaterThan(2_600)
    const surface = session.surface()
    const request = dialect.toRequest({ surface, messages: [dialect.userMessage('hello') as never] })
    const { config, ...rest } = request as { config?: object }
    expect(check({ ...rest, ...config })).toBeUndefined()
  })
})

describe('an answer of the Responses API whose message has no status', () => {
  it('is replayed without the reasoning that led to it, as a partial one is', () => {
    const surface: Surface = { tools: [], deferredCount: 0, strategy: 'native', fingerprint: 'x' }
    const response = responsesVoice.respond({ thinking: 'Hm.', text: 'Yes.' })
    const output = response.output.map(({ ...item }) => {
      if (item.type === 'message') Object.assign(item, { status: undefined })
      return item
    })
    const messages = openaiResponses().toMessages({ ...response, output }, [], surface)
    expect(messages).toEqual([{ role: 'assistant', content: 'Yes.' }])
  })
})

describe('an answer of the Responses API that ended between two items', () => {
  const dialect = openaiResponses()
  const surface: Surface = { tools: [], deferredCount: 0, strategy: 'native', fingerprint: 'x' }
  const ended = (reason: string, calls: SpokenTurn['calls'] = []) => {
    const incomplete_details = { reason: reason as 'max_output_tokens' }
    const response = responsesVoice.respond({ text: 'So far.', calls })
    return dialect.toReply({ ...response, status: 'incomplete', incomplete_details }, surface)
  }

  it.each([
    ['max_messages', 'length'],
    ['steered', 'paused'],
    ['something_new', 'cut'],
  ])('is not cut off: %s means %s', (reason, stop) => {
    expect(ended(reason).stop).toBe(stop)
  })

  it.each(['max_messages', 'steered'])('has its calls run: %s', (reason) => {
    const { stop, calls } = ended(reason, [{ id: 'a', name: 'ping', args: '{}' }])
    expect([stop, calls.length]).toEqual(['calls', 1])
  })
})

/** The tools of a request without host tools. */
function ownTools({ tools }: MessagesRequest): readonly Anthropic.Tool[] {
  return tools.filter((tool): tool is Anthropic.Tool => 'input_schema' in tool)
}
