import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { deleteSession, type Session, ToolRegistry, UNTRUSTED_NOTE } from 'toolcrib'
import { fileStore, memoryStore, storeSpill } from 'toolcrib/stores'
import { describe, expect, inject, it, onTestFinished } from 'vitest'
import { type Model, runAgent } from '../../packages/core/src/agent/index.ts'
import { anthropic } from '../../packages/core/src/dialects/anthropic.ts'
import { bedrock } from '../../packages/core/src/dialects/bedrock.ts'
import type { Dialect } from '../../packages/core/src/dialects/dialect.ts'
import type { ProviderVoice } from '../../packages/core/src/dialects/dialect-contract.ts'
import { gemini } from '../../packages/core/src/dialects/gemini.ts'
import { minimax } from '../../packages/core/src/dialects/minimax.ts'
import { openaiChat } from '../../packages/core/src/dialects/openai-chat.ts'
import { openaiResponses } from '../../packages/core/src/dialects/openai-responses.ts'
import type { Change } from '../../packages/core/src/store/store.ts'
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

type Run = (restore?: Restore) => ReturnType<typeof converse>

const APIS: readonly (readonly [string, Run])[] = [
  ['anthropic', (restore) => converse(() => anthropic(), anthropicVoice, checkAnthropicRequest, restore)],
  [
    'anthropic with inline tools',
    (restore) =>
      converse(() => anthropic({ inlineTools: true }), anthropicVoice, checkAnthropicRequest, restore),
  ],
  [
    'openai-responses',
    (restore) => converse(() => openaiResponses(), responsesVoice, checkResponsesRequest, restore),
  ],
  ['openai-chat', (restore) => converse(() => openaiChat(), chatVoice, checkChatRequest, restore)],
  ['gemini', (restore) => converse(() => gemini(), geminiVoice, checkGeminiRequest, restore)],
  ['minimax', (restore) => converse(() => minimax(), anthropicVoice, checkAnthropicRequest, restore)],
  ['bedrock', (restore) => converse(() => bedrock(), bedrockVoice, checkBedrockRequest, restore)],
]

describe('a session over 30 turns in which servers join, leave and change', () => {
  it.each(APIS)('%s never changes a byte that was sent', async (_name, run) => {
    expectSteady(await run())
  })

  it.each(APIS)('%s changes none when the session is restored every few turns', async (_name, run) => {
    expectSteady(await run('from its state'))
    expectSteady(await run('from a store'))
  })

  it('goes on in another process with the same bytes', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'toolcrib-sent-'))
    onTestFinished(() => rm(directory, { recursive: true }))
    const store = fileStore({ directory })
    const registry = registryAt(6)
    const session = await registry.openSession({ id: 'c', dialect: anthropic(), store })
    const messages = [anthropic().userMessage('hello')]
    const first = JSON.stringify(session.turn(messages).request)
    registry.unregisterMcp('first')
    await session.close()
    await store.close()
    // There, only another server is connected.
    const program = join(inject('programs'), 'next-request.js')
    const { stdout } = await promisify(execFile)(process.execPath, [program, directory])
    expect(stdout).toBe(first)
  })

  function expectSteady({ turns, faults, texts }: Awaited<ReturnType<Run>>): void {
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
    // The first server without trust joined late: one result has the warning.
    expect(texts.split(UNTRUSTED_NOTE)).toHaveLength(2)
  }
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
      // The same definitions, registered again, are not a change either.
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

  it.each([
    ['few of those that left', {}, 350],
    ['all of them where each request declares them', { policy: { deny: ['call_tool'] } }, 1_201],
  ])('keeps of late tools whose server renames them again and again %s', async (_name, more, count) => {
    const store = memoryStore()
    const { registry, session } = await open({ ...more, id: 'c', store })
    session.surface()
    registry.syncMcp('found', [tool('tool')])
    session.surface()
    await session.activate(['mcp__found__tool'])
    registry.unregisterMcp('found')
    for (let round = 0; round < 12; round++) {
      const renamed = Array.from({ length: 100 }, (_, index) => tool(`t${round}_${index}`))
      registry.syncMcp('restless', renamed)
      session.surface()
    }
    const { lateTools = [], fingerprint } = session.surface()
    expect(lateTools.length).toBeLessThanOrEqual(count + 250)
    expect(lateTools.length).toBeGreaterThanOrEqual(count)
    expect(lateTools[0]?.name).toBe('mcp__found__tool')
    expect(lateTools.at(-1)?.name).toContain('t11_')
    await session.close()
    const restored = await registry.openSession({ ...more, id: 'c', store, dialect: anthropic() })
    expect(restored.surface().lateTools).toEqual(lateTools)
    expect(restored.surface().fingerprint).toBe(fingerprint)
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
    const { registry, session } = await open({ dialect: anthropic({ inlineTools: true }) })
    const turn = session.turn([{ role: 'user', content: 'hello' }])
    registry.syncMcp('second', [answering('second')])
    const search = { id: 'c', name: 'tool_search', args: '{"query":"answer"}' }
    const messages = await turn.answer(anthropicVoice.respond({ calls: [search] }))
    expect(JSON.stringify(messages.at(-1))).toContain(
      '"tool_definition","definition":{"name":"mcp__second__tool"',
    )
    expect(session.turn([{ role: 'user', content: 'hello' }, ...messages]).request.tools).toEqual(
      turn.request.tools,
    )
  })

  it.each([
    ['anthropic with inline tools', () => joinDuringRun(anthropic({ inlineTools: true }), anthropicVoice)],
    ['anthropic', () => joinDuringRun(anthropic(), anthropicVoice)],
    ['openai-responses', () => joinDuringRun(openaiResponses(), responsesVoice)],
  ])('declares it in the same turn in a run of an agent: %s', async (_name, run) => {
    // Where it is called through call_tool, the answer says so; else it has the definition.
    expect(await run()).toMatch(
      /call_tool \{ name|"tool_definition"|"tool_search_output".*"mcp__second__tool"/,
    )
  })

  it('calls a tool that joined late through call_tool by default', async () => {
    const { registry, session } = await open()
    const opening = [{ role: 'user', content: 'hello' }] as const
    const turn = session.turn([...opening])
    registry.syncMcp('second', [answering('second')])
    const search = { id: 'c', name: 'tool_search', args: '{"query":"answer does tool"}' }
    const messages = await turn.answer(anthropicVoice.respond({ calls: [search] }))
    const [found, ...notes] = JSON.parse(JSON.stringify(messages.at(-1)?.content ?? []))
    // References must be alone in a result; what cannot be referred to follows it.
    expect(found).toMatchObject({ content: [{ type: 'tool_reference', tool_name: 'mcp__first__tool' }] })
    expect(notes.at(-1)?.text).toBe(
      'Call these with call_tool { name, arguments }: [{"name":"mcp__second__tool","description":"Gives the answer of second.","parameters":{"type":"object","properties":{}}}]',
    )
    const next = session.turn([...opening, ...messages])
    expect(next.request.tools).toEqual(turn.request.tools)
    const args = '{"name":"mcp__second__tool","arguments":{}}'
    const answered = await next.answer(
      anthropicVoice.respond({ calls: [{ id: 'd', name: 'call_tool', args }] }),
    )
    expect(JSON.stringify(answered)).toContain('second__tool ran')
  })

  it('declares it at the end where call_tool is denied', async () => {
    const { registry, session } = await open({ policy: { deny: ['call_tool'] } })
    const first = session.turn([{ role: 'user', content: 'hello' }]).request.tools
    registry.syncMcp('second', [answering('second')])
    const { tools } = session.turn([{ role: 'user', content: 'hello' }]).request
    expect(tools.slice(0, -1)).toEqual(first)
    expect(tools.at(-1)).toMatchObject({ name: 'mcp__second__tool', defer_loading: true })
  })

  it('makes a new first request when it is restored with another policy, search tool or dialect', async () => {
    const { registry, session } = await open()
    session.surface()
    const state = JSON.parse(JSON.stringify(session))
    registry.unregisterMcp('first')
    registry.syncMcp('second', [tool('tool')])
    const declared = async (more: object) =>
      (await registry.openSession({ state, dialect: anthropic(), ...more })).surface().deferredTools
    expect(await declared({})).toMatchObject([{ name: 'mcp__first__tool' }])
    for (const more of [
      { policy: { deny: ['x'] } },
      { searchTool: 'ToolSearch' },
      { tools: ['*'] },
      { dialect: openaiResponses() },
    ])
      expect(await declared(more)).toMatchObject([{ name: 'mcp__second__tool' }])
    expect(await declared({ dialect: undefined })).toBeUndefined()
  })

  it.each([
    ['mode', { mode: 'full' }, ['mcp__first__tool', 'ping']],
    ['defer', { defer: 'all' }, ['tool_search', 'call_tool']],
    ['pinned', { pinned: ['mcp__first__tool'] }, ['mcp__first__tool', 'ping']],
    [
      'dialect that declares late tools',
      { dialect: anthropic({ inlineTools: true }) },
      ['ping', 'tool_search'],
    ],
  ] as const)('makes a new first request when it is restored with another %s', async (_name, more, shown) => {
    const { registry, session } = await open()
    session.surface()
    const state = JSON.parse(JSON.stringify(session))
    const names = async (options: object) => {
      const restored = await registry.openSession({ state, dialect: anthropic(), ...options })
      return restored.surface().tools.map(({ name }) => name)
    }
    expect(await names({})).toEqual(['ping', 'tool_search', 'call_tool'])
    expect(await names(more)).toEqual(shown)
  })

  it('makes a new first request when it is restored where results are spilled', async () => {
    const { session } = await open()
    session.surface()
    const state = JSON.parse(JSON.stringify(session))
    const registry = new ToolRegistry({ mode: 'lazy', spill: storeSpill(memoryStore()) })
    registry.syncMcp('first', [tool('tool')])
    const restored = await registry.openSession({ state, dialect: anthropic() })
    expect(restored.surface().tools.map(({ name }) => name)).toContain('read_result')
  })

  it('takes over the first request that another process made meanwhile', async () => {
    const store = memoryStore()
    const { session } = await open({ id: 'shared', store })
    const other = await open({ id: 'shared', store })
    other.registry.syncMcp('second', [tool('tool')])
    const first = session.surface()
    await session.close()
    await other.session.refresh()
    expect(other.session.surface()).toMatchObject({ tools: first.tools, deferredTools: first.deferredTools })
    expect(other.session.surface().lateTools).toMatchObject([{ name: 'mcp__second__tool' }])
  })

  it('keeps the first request and the late tools of all replicas that write at once', async () => {
    const store = memoryStore()
    const a = await open({ id: 'shared', store })
    const b = await open({ id: 'shared', store })
    b.registry.syncMcp('only_b', [tool('tool')])
    a.session.surface()
    b.session.surface()
    // Both have sent theirs: the one that the store took first is that of both from now on.
    await a.session.close()
    await b.session.close()
    const late = ({ session }: typeof a) => session.surface().lateTools?.map(({ name }) => name)
    expect(b.session.surface().deferredTools).toEqual(a.session.surface().deferredTools)
    a.registry.syncMcp('x', [tool('tool')])
    b.registry.syncMcp('y', [tool('tool')])
    for (const server of ['y', 'only_b']) a.registry.syncMcp(server, [tool('tool')])
    b.registry.syncMcp('x', [tool('tool')])
    late(a)
    late(b)
    for (const { session } of [a, b, a, b]) await session.refresh()
    expect(late(a)).toHaveLength(3)
    expect(late(b)).toEqual(late(a))
    expect(b.session.surface().fingerprint).toBe(a.session.surface().fingerprint)
    expect(JSON.stringify(b.session)).toBe(JSON.stringify(a.session))
    a.registry.syncMcp('z', [tool('tool')])
    a.session.surface()
    await a.session.close()
    b.registry.syncMcp('w', [tool('tool')])
    b.session.surface()
    await b.session.close()
    await a.session.refresh()
    expect(late(a)?.slice(3)).toEqual(['mcp__z__tool', 'mcp__w__tool'])
    expect(late(b)).toEqual(late(a))
  })

  it.each(['refresh', 'close'] as const)(
    'drops what a store has of an earlier conversation when a state replaces it: %s',
    async (method) => {
      const store = memoryStore()
      const { registry, session } = await open({ id: 'c', store })
      const state = JSON.parse(JSON.stringify(session))
      session.surface()
      await session.close()
      registry.unregisterMcp('first')
      registry.syncMcp('second', [tool('tool')])
      const replaced = await registry.openSession({ id: 'c', store, state, dialect: anthropic() })
      await replaced[method]()
      expect(await store.get('sent:c')).toBeUndefined()
      expect(replaced.surface().deferredTools).toMatchObject([{ name: 'mcp__second__tool' }])
      await replaced.close()
      const again = await registry.openSession({ id: 'c', store, dialect: anthropic() })
      expect(again.surface().deferredTools).toMatchObject([{ name: 'mcp__second__tool' }])
    },
  )

  it('starts empty under the id of a session that was deleted', async () => {
    const store = memoryStore()
    const { registry, session } = await open({ id: 'c', store })
    session.surface()
    await session.activate(['mcp__first__tool'])
    await session.close()
    await deleteSession(store, 'c')
    registry.syncMcp('second', [tool('tool')])
    const again = await registry.openSession({ id: 'c', store, dialect: anthropic() })
    expect(again.isActive('mcp__first__tool')).toBe(false)
    expect(again.surface().deferredTools).toHaveLength(2)
  })

  it.each([
    ['without a surface', () => ({ surface: null })],
    ['with a strategy that has none', (surface: object) => ({ surface: { ...surface, strategy: 'append' } })],
    ['with invalid tools', (surface: object) => ({ surface: { ...surface, tools: [{ name: 'x' }] } })],
    ['with invalid late tools', () => ({ lateTools: [7] })],
    ['without texts', () => ({ behind: null })],
    ['without servers', () => ({ servers: 'first' })],
  ])('does without a saved first request %s, from a state or from a store', async (_, edit) => {
    const { registry, session } = await open()
    session.surface()
    const { firstRequest, ...state } = JSON.parse(JSON.stringify(session))
    const { surface } = firstRequest
    const damaged = { ...firstRequest, ...edit(surface) }
    const store = memoryStore()
    await store.set('sent:x', damaged)
    const events: string[] = []
    registry.subscribe((event) => event.type === 'load-failed' && events.push(event.error))
    const given = { state: { ...state, firstRequest: damaged } }
    for (const from of [given, { id: 'x', store }]) {
      const opened = await registry.openSession({ dialect: anthropic(), ...from })
      expect(events.splice(0)).toEqual([expect.stringContaining('first request of this session is damaged')])
      expect(opened.surface().deferredTools).toMatchObject([{ name: 'mcp__first__tool' }])
    }
    // Without a dialect nobody needs it.
    await registry.openSession(given)
    expect(events).toEqual([])
  })

  it('reports a store that does not take the first request, and tries again', async () => {
    const working = memoryStore()
    let isAway = true
    const store = {
      get: (key: string) => working.get(key),
      set: (key: string, value: never) => working.set(key, value),
      update: (key: string, change: Change) =>
        isAway ? Promise.reject(new Error('away')) : working.update(key, change),
      delete: (key: string) => working.delete(key),
      close: () => working.close(),
    }
    const { registry, session } = await open({ id: 'c', store })
    const failed = new Promise((resolve) => {
      registry.subscribe((event) => event.type === 'save-failed' && resolve(event.error))
    })
    session.surface()
    expect(await failed).toBe('away')
    await expect(session.close()).rejects.toMatchObject({ code: 'store-unavailable' })
    isAway = false
    await session.close()
    expect(await working.get('sent:c')).toMatchObject({ surface: { strategy: 'native' } })
  })

  it('makes a new first request when the provider takes no more tools', async () => {
    const { registry, session } = await open({
      dialect: { ...anthropic({ inlineTools: true }), maxTools: 5 },
    })
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

  it.each([
    ['the search and call_tool', 3, {}, 0],
    ['the reader of spilled results', 2, { spill: storeSpill(memoryStore()) }, 0],
    ["the host's tools", 1, {}, 2],
  ])('sends no more tools than the provider takes with %s', async (_name, tools, options, hosts) => {
    const dialect = { ...anthropic(), maxTools: 5 }
    const hostTools = Array.from({ length: hosts }, (_, index) => ({
      name: `host_${index}`,
      input_schema: { type: 'object' as const },
    }))
    const strategyOf = async (count: number, again = false) => {
      const registry = new ToolRegistry({ mode: 'lazy', ...options })
      registry.syncMcp(
        'first',
        Array.from({ length: count }, (_, index) => tool(`t${index}`)),
      )
      const session = await registry.openSession({ dialect })
      const messages = [anthropic().userMessage('hello')]
      if (again) session.turn(messages)
      return session.turn(messages, { hostTools }).surface.strategy
    }
    expect(await strategyOf(tools)).toBe('native')
    expect(await strategyOf(tools + 1)).toBe('dispatch')
    // Also when the host adds its tools to a later request.
    expect(await strategyOf(tools + 1, true)).toBe('dispatch')
  })

  it('keeps what has left in full mode too, and shows what joins, since there is no search', async () => {
    const registry = new ToolRegistry({ mode: 'full' })
    let isOpen = false
    registry.register(tool('ping'))
    registry.register(tool('shop', { isAvailable: () => isOpen }))
    registry.syncMcp('first', [tool('tool')])
    const store = memoryStore()
    const open = () => registry.openSession({ id: 'c', store, dialect: anthropic() })
    const session = await open()
    const names = (surface = session.surface()) => surface.tools.map(({ name }) => name)
    const first = session.surface()
    expect(names()).toEqual(['mcp__first__tool', 'ping'])
    registry.unregisterMcp('first')
    expect(session.surface()).toBe(first)
    expect(await session.execute([{ toolCallId: '1', name: 'mcp__first__tool', args: {} }])).toMatchObject([
      { result: { code: 'not_available', error: expect.stringContaining('is no longer available') } },
    ])
    await session.close()
    // As after a restart, before the servers are connected.
    expect((await open()).surface()).toMatchObject({ tools: first.tools })
    registry.syncMcp('first', [tool('tool')])
    expect(session.surface()).toBe(first)
    isOpen = true
    expect(names()).toEqual(['mcp__first__tool', 'ping', 'shop'])
    registry.syncMcp('second', [tool('tool')])
    expect(names()).toEqual(['mcp__first__tool', 'mcp__second__tool', 'ping', 'shop'])
  })

  it('follows the catalogue as long as nothing is deferred', async () => {
    const registry = new ToolRegistry()
    registry.register(tool('ping'))
    const session = await registry.openSession({ dialect: anthropic({ inlineTools: true }) })
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
    void registry.syncMcp(
      'first',
      [
        {
          ...answering('first'),
          inputSchema: { type: 'object', required: ['now'], properties: { now: {} } },
        },
      ],
      { trust: true },
    ),
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

type Restore = 'from its state' | 'from a store'

/** A conversation; with `restore`, everything but the saved JSON is thrown away every few turns. */
async function converse<Message, Request extends object, Response, StreamEvent>(
  makeDialect: () => Dialect<Message, Request, Response, StreamEvent>,
  voice: ProviderVoice<Message, Request, Response, StreamEvent>,
  check: (body: Body) => string | undefined,
  restore?: Restore,
): Promise<{ turns: readonly Sent[]; faults: readonly string[]; texts: string }> {
  const store = memoryStore()
  let dialect = makeDialect()
  let registry = registryAt(0)
  let session = await registry.openSession({ id: 'c', dialect, store })
  let messages: Message[] = [dialect.userMessage('hello')]
  const turns: Sent[] = []
  const faults: string[] = []
  for (let index = 0; index < TURNS; index++) {
    if (restore && index % 4 === 2) {
      await session.close()
      const state = restore === 'from a store' ? {} : { state: JSON.parse(JSON.stringify(session)) }
      dialect = makeDialect()
      registry = new ToolRegistry({ mode: 'lazy', searcher: 'lexical' })
      session = await registry.openSession({ id: 'c', store, ...state, dialect })
      // Servers connect after the session is open.
      registryAt(index, registry)
      messages = JSON.parse(JSON.stringify(messages))
    }
    STEPS[index]?.(registry)
    const turn = (session as Session<typeof dialect>).turn(messages as never, { system: 'Be brief.' })
    const request = turn.request as Request
    const { config, ...rest } = JSON.parse(JSON.stringify(request))
    const fault = check({ ...rest, ...config })
    if (fault !== undefined) faults.push(`turn ${index}: ${fault}`)
    turns.push(partsOf(request))
    const call = spoken(dialect, CALLED[index])
    const response = voice.respond({ thinking: 'Hm.', calls: [{ id: `c${index}`, ...call }] })
    messages.push(...((await turn.answer(response as never)) as unknown as Message[]))
  }
  await session.close()
  await store.close()
  return { turns, faults, texts: JSON.stringify(messages) }
}

/** A run in which a server joins while the model's search is under way. Returns the second request. */
async function joinDuringRun<Message, Request extends object, Response, StreamEvent>(
  dialect: Dialect<Message, Request, Response, StreamEvent>,
  voice: ProviderVoice<Message, Request, Response, StreamEvent>,
): Promise<string> {
  const registry = registryAt(0)
  const session = await registry.openSession({ dialect })
  const requests: string[] = []
  const model: Model<Message, Request, Response> = {
    id: 'm',
    dialect,
    async send(request) {
      requests.push(partsOf(request).messages)
      registry.syncMcp('second', [answering('second')])
      const name = dialect.name === 'openai-responses' ? NATIVE_SEARCH : 'tool_search'
      const search = { id: 'c', name, args: '{"query":"answer of second"}' }
      return { response: voice.respond(requests.length === 1 ? { calls: [search] } : { text: 'Done.' }) }
    },
  }
  await runAgent({ model, session, messages: 'hello' })
  return requests[1] ?? ''
}

/** The registry as it is before a turn. */
function registryAt(
  turn: number,
  registry = new ToolRegistry({ mode: 'lazy', searcher: 'lexical' }),
): ToolRegistry {
  registry.register(tool('ping'))
  registry.syncMcp('first', [answering('first')], { trust: true })
  for (let index = 0; index < turn; index++) STEPS[index]?.(registry)
  return registry
}

/** A search for everything, or a call of one tool as the model of this provider makes it. */
function spoken(
  { name: dialect, strategy, ...more }: Pick<Dialect, 'name' | 'strategy'>,
  name: string | undefined,
) {
  const callsLate = 'dispatchesLateTools' in more
  const isResponses = dialect === 'openai-responses'
  if (name === undefined)
    return { name: isResponses ? NATIVE_SEARCH : 'tool_search', args: '{"query":"answer","limit":10}' }
  const isLate = name.includes('joined_5') || name.includes('pinned_12')
  if (name !== 'ping' && (strategy === 'dispatch' || (isLate && callsLate)))
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
