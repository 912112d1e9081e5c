import { describe, expect, it } from 'vitest'
import type { ToolcribEvent } from '../events.ts'
import { memoryStore } from '../store/memory-store.ts'
import type { Tool } from '../tool.ts'
import { ToolRegistry } from '../tool-registry.ts'
import type { Session } from './session.ts'

const tool = (name: string, more: Partial<Tool> = {}): Tool => ({
  name,
  description: `Does ${name}.`,
  inputSchema: { type: 'object', properties: {} },
  execute: () => ({ ok: true, value: name }),
  ...more,
})
const NAMES = ['mcp__s__a', 'mcp__s__b', 'mcp__s__c']

/** A lazy registry with three tools of a server and one of its own. */
function house(events: ToolcribEvent[] = []) {
  const registry = new ToolRegistry({
    mode: 'lazy',
    onEvent: (event) => void events.push(event),
    clock: () => 0,
  })
  registry.syncMcp('s', [tool('a'), tool('b'), tool('c')])
  registry.register(tool('own'))
  events.length = 0
  return registry
}
const shown = (session: Session) => session.surface().tools.map(({ name }) => name)
const callOf = (name: string, args: unknown = {}) => ({ toolCallId: '1', name, args })

describe('a session', () => {
  it('names what the host evicted in the next answer of its search, once', async () => {
    const session = await house().openSession({ maxActive: 1 })
    await session.activate(['mcp__s__a'])
    await session.activate(['mcp__s__b'])
    const load = async (name: string) => {
      const [found] = await session.execute([callOf('tool_search', { name })])
      return found?.result.ok ? found.result.structured : found?.result
    }
    expect(await load('mcp__s__c')).toMatchObject({ evicted: ['mcp__s__a', 'mcp__s__b'] })
    expect(await load('mcp__s__a')).toMatchObject({ evicted: ['mcp__s__c'] })
  })

  it('reports each name once, however often it was given', async () => {
    const session = await house().openSession()
    const twice = (name: string) => [name, name]
    expect(await session.activate([...twice('mcp__s__a'), ...twice('own'), ...twice('nope')])).toEqual({
      activated: ['mcp__s__a', 'own'],
      evicted: [],
      missing: ['nope'],
    })
    expect(await session.preload(twice('mcp__s__b'))).toMatchObject({ activated: ['mcp__s__b'] })
    expect(await session.deactivate(twice('mcp__s__a'))).toEqual(['mcp__s__a'])
  })

  it('says once that a definition changed, and again when it changes again', async () => {
    const events: ToolcribEvent[] = []
    const registry = house(events)
    const session = await registry.openSession()
    await session.activate(['mcp__s__a'])
    const changes = () => events.filter(({ type }) => type === 'definition-changed')
    const redefine = (description: string) => registry.syncMcp('s', [tool('a', { description }), tool('b')])
    session.surface()
    expect(changes()).toEqual([])
    redefine('one')
    session.surface()
    session.promptNote()
    registry.register(tool('other'))
    session.surface()
    expect(changes()).toMatchObject([{ name: 'mcp__s__a', sessionId: session.id }])
    redefine('two')
    session.surface()
    expect(changes()).toHaveLength(2)
    await session.activate(['mcp__s__a'])
    registry.register(tool('another'))
    session.surface()
    expect(changes()).toHaveLength(2)
    expect(session.context()).not.toContain('Changed')
  })

  it('names the tools whose definitions changed in its context, and the search in its note', async () => {
    const registry = house()
    const session = await registry.openSession()
    await session.activate(['mcp__s__a', 'mcp__s__b'])
    session.surface()
    expect(session.context()).not.toContain('Changed')
    registry.syncMcp('s', [tool('a', { description: 'Does something else.' }), tool('b'), tool('c')])
    expect(session.context()).toMatch(/^Changed since they were activated: mcp__s__a$/m)
    expect(session.promptNote()).toContain('tool_search')
  })

  it('says what a call reaches', async () => {
    const session = await house().openSession({ strategy: 'dispatch' })
    expect(session.reached(callOf('call_tool', { name: 'mcp__s__a', arguments: { n: 1 } }))).toEqual({
      toolCallId: '1',
      name: 'mcp__s__a',
      args: { n: 1 },
    })
    expect(session.reached(callOf('call_tool', { name: 'mcp__s__a' }))).toMatchObject({ args: {} })
    expect(session.reached(callOf('own', { n: 2 }))).toEqual(callOf('own', { n: 2 }))
    expect(session.reached(callOf('nope', 7))).toEqual(callOf('nope', 7))
  })

  it('numbers its forks, and reports their parent', async () => {
    const events: ToolcribEvent[] = []
    const session = await house(events).openSession({ id: 'chat' })
    const [first, second] = [session.fork(), session.fork()]
    expect([first.id, second.id, first.fork().id]).toEqual(['chat/1', 'chat/2', 'chat/1/1'])
    expect(events.filter(({ type }) => type === 'session-opened')).toMatchObject([
      { sessionId: 'chat', restored: 0 },
      { sessionId: 'chat/1', parentId: 'chat' },
      { sessionId: 'chat/2', parentId: 'chat' },
      { sessionId: 'chat/1/1', parentId: 'chat/1' },
    ])
    expect(events[0]).not.toHaveProperty('parentId')
  })

  it('forks with its own settings where none are given', async () => {
    const dialect = { strategy: 'dispatch' } as const
    const session = await house().openSession({ maxActive: 2, dialect, policy: { deny: ['own'] } })
    expect(session.fork().settings).toMatchObject({ maxActive: 2, dialect, policy: { deny: ['own'] } })
    const other = { strategy: 'append' } as const
    expect(session.fork({ maxActive: 1, dialect: other }).settings).toMatchObject({
      maxActive: 1,
      dialect: other,
    })
    expect(session.fork({ maxActive: 0 }).settings.maxActive).toBe(0)
    expect(session.fork().toJSON().allowlists).toEqual([])
  })

  it('leaves to a fork what it may use, and no place for the rest', async () => {
    const session = await house().openSession()
    await session.activate(NAMES)
    const child = session.fork({ tools: ['mcp__s__b', 'mcp__s__c'], maxActive: 1 })
    expect(child.toJSON().activations.map(({ name }) => name)).toEqual(['mcp__s__b'])
    expect(session.fork({ inheritActive: false }).toJSON().activations).toEqual([])
    const grandchild = child.fork({ tools: ['mcp__s__c', 'own'] })
    expect(grandchild.toJSON().allowlists).toEqual([
      ['mcp__s__b', 'mcp__s__c'],
      ['mcp__s__c', 'own'],
    ])
    expect(grandchild.stats().tool_names).toEqual(['mcp__s__c'])
  })

  it('keeps for a fork what is not registered just now', async () => {
    const registry = house()
    const session = await registry.openSession()
    await session.activate(['mcp__s__a'])
    registry.unregisterMcp('s')
    const child = session.fork()
    registry.syncMcp('s', [tool('a')])
    expect(child.isActive('mcp__s__a')).toBe(true)
  })

  it('reports what a smaller cap evicts on the way in, with its tokens', async () => {
    const events: ToolcribEvent[] = []
    const registry = house(events)
    const session = await registry.openSession({ id: 'chat' })
    await session.activate(NAMES)
    const tokens = session.toJSON().activations.map((activation) => activation.tokens)
    events.length = 0
    await registry.openSession({ state: session.toJSON(), maxActive: 3 })
    expect(events.filter(({ type }) => type === 'evicted')).toEqual([])
    const smaller = await registry.openSession({ state: session.toJSON(), maxActive: 2 })
    expect(events.filter(({ type }) => type === 'evicted')).toEqual([
      { type: 'evicted', names: ['mcp__s__c'], tokens: tokens[2], sessionId: 'chat', at: 0 },
    ])
    expect(shown(smaller)).toEqual(['own', 'tool_search', 'mcp__s__a', 'mcp__s__b'])
  })

  it('counts its tools: those it shows, those it checked out, those behind the search', async () => {
    const registry = house()
    const session = await registry.openSession({ toolThreshold: 9 })
    await session.activate(['mcp__s__b'])
    expect(session.stats()).toEqual({
      total_registered: 4,
      loaded: 2,
      deferred: 2,
      deferred_mode: true,
      auto_deferred: false,
      threshold: 9,
      tool_names: [...NAMES, 'own'],
    })
    registry.unregister('mcp__s__b')
    expect(session.stats()).toMatchObject({ total_registered: 3, loaded: 1, deferred: 2 })
  })

  it('waits with wait_for_servers only where nothing was deferred when it was opened', async () => {
    let state: 'connecting' | 'cold' | 'ready' = 'connecting'
    const directory = { statuses: () => [{ server: 'slow', state }], settled: async () => {} }
    const empty = new ToolRegistry({ mode: 'lazy' })
    empty.attachServers(directory)
    const before = await empty.openSession()
    expect(shown(before)).toEqual(['wait_for_servers'])
    const full = house()
    full.attachServers(directory)
    const session = await full.openSession()
    full.unregisterMcp('s')
    expect(shown(session)).toEqual(['own'])
    // It leaves once there is nothing to wait for, and none appears later.
    for (const usable of ['cold', 'ready'] as const) {
      state = usable
      expect(shown(before)).toEqual([])
      const later = await empty.openSession()
      expect(shown(later)).toEqual([])
      state = 'connecting'
      expect(shown(later)).toEqual([])
      expect(shown(before)).toEqual(['wait_for_servers'])
    }
  })

  it('searches what it may use, shown or not, by its own searcher', async () => {
    const session = await house().openSession({ policy: { deny: ['mcp__s__c'] }, searcher: 'regex' })
    const found = await session.search('^(mcp__s__|own)', { limit: 10 })
    expect(found).toMatchObject({ kind: 'regex', total: 3 })
    expect(session.toJSON().activations).toEqual([])
  })

  it('limits searches per minute by the clock of the registry, forks included', async () => {
    let now = 0
    const registry = new ToolRegistry({ mode: 'lazy', clock: () => now, searchesPerMinute: 1 })
    registry.syncMcp('s', [tool('a')])
    const session = await registry.openSession()
    const search = async (from: Session) =>
      (await from.execute([callOf('tool_search', { name: 'a' })]))[0]?.result.ok
    expect([await search(session), await search(session), await search(session.fork())]).toEqual([
      true,
      false,
      false,
    ])
    now = 60_000
    expect(await search(session.fork().fork())).toBe(true)
    expect(await search(session)).toBe(false)
    now = 120_000
    expect(await search(session)).toBe(true)
  })

  it.each(['activate', 'deactivate', 'preload'] as const)('%s takes names only', async (method) => {
    const session = await house().openSession()
    for (const names of [7, null, [7], ['mcp__s__a', null]]) {
      const action = async () => session[method](names as never)
      await expect(action()).rejects.toMatchObject({
        code: 'config-invalid',
        message: `${method}() takes an array of tool names, such as ["mcp__github__search"]`,
      })
    }
    expect(session.toJSON().activations).toEqual([])
  })

  it('reports what is checked out and given back, with its tokens', async () => {
    const events: ToolcribEvent[] = []
    const session = await house(events).openSession()
    events.length = 0
    await session.activate(['mcp__s__a', 'own'])
    await session.activate(['mcp__s__a'])
    await session.preload('mcp__s__b')
    await session.preload('own')
    await session.execute([callOf('mcp__s__c')])
    await session.deactivate(['mcp__s__a', 'nope'])
    await session.deactivate(['nope'])
    const told = events.filter(({ type }) => /activated$/.test(type))
    expect(told.map((event) => [event.type, 'names' in event && event.names])).toEqual([
      ['activated', ['mcp__s__a']],
      ['activated', ['mcp__s__b']],
      ['auto-activated', ['mcp__s__c']],
      ['deactivated', ['mcp__s__a']],
    ])
    for (const event of told) expect('tokens' in event && event.tokens).toBeGreaterThan(0)
  })

  it('closes only once what it began is done, also what failed', async () => {
    const store = memoryStore()
    const registry = house()
    const session = await registry.openSession({ id: 'chat', store })
    const work = [
      session.activate(['mcp__s__a']),
      session.preload('mcp__s__b'),
      session.execute([callOf('mcp__s__c')]),
    ]
    await session.close()
    expect(
      shown(await registry.openSession({ id: 'chat', store }))
        .slice(2)
        .sort(),
    ).toEqual(NAMES)
    await Promise.all(work)
    await session.deactivate(NAMES)
    await session.close()
    expect((await registry.openSession({ id: 'chat', store })).toJSON().activations).toEqual([])
  })
})

describe('the events of a session', () => {
  it('include every surface, with what it costs', async () => {
    const events: ToolcribEvent[] = []
    const session = await house(events).openSession()
    const { fingerprint, tools } = session.surface()
    session.surface()
    expect(events.filter(({ type }) => type === 'surfaced')).toEqual(
      [1, 2].map(() =>
        expect.objectContaining({
          sessionId: session.id,
          tools: tools.length,
          tokens: expect.any(Number),
          deferredCount: 3,
          fingerprint,
        }),
      ),
    )
  })

  it('can be subscribed to apart from those of others', async () => {
    const registry = house()
    const [one, other] = [await registry.openSession(), await registry.openSession()]
    const heard: (string | undefined)[] = []
    const unsubscribe = one.subscribe((event) => void heard.push(event.sessionId))
    for (const session of [one, other]) session.surface()
    expect(heard).toEqual([one.id])
    unsubscribe()
    one.surface()
    expect(heard).toEqual([one.id])
  })
})

describe('a fork made while calls run', () => {
  const deny = {
    before_tool_call: ({ name }: { name: string }) => (name === 'own' ? { deny: 'no' } : undefined),
  }

  /** Forks a session from inside one of its calls. */
  async function forkInside(context: object): Promise<{ session: Session; child: Session }> {
    const registry = house()
    const session = await registry.openSession()
    let child: Session | undefined
    registry.register(
      tool('spawn', {
        execute: () => {
          child = session.fork()
          return { ok: true, value: '' }
        },
      }),
    )
    await session.execute([callOf('spawn')], context)
    if (!child) throw new Error('spawn did not run')
    return { session, child }
  }
  const outcome = async (session: Session) => (await session.execute([callOf('own')]))[0]?.result

  it('keeps the hooks of those calls, and so do its own forks', async () => {
    const { session, child } = await forkInside({ hooks: deny })
    for (const each of [child, child.fork()])
      expect(await outcome(each)).toMatchObject({ ok: false, code: 'denied' })
    expect(await outcome(session)).toEqual({ ok: true, value: 'own' })
    expect(await outcome(session.fork())).toEqual({ ok: true, value: 'own' })
  })

  it('runs inherited hooks before those of a call', async () => {
    const order: string[] = []
    const noting = (who: string) => ({ before_tool_call: () => void order.push(who) })
    const { child } = await forkInside({ hooks: noting('inherited') })
    order.length = 0
    await child.execute([callOf('own')], { hooks: noting('own') })
    expect(order).toEqual(['inherited', 'own'])
  })

  it('keeps their meters, each once', async () => {
    const meter = {} as never
    const { session, child } = await forkInside({ meters: [meter, meter] })
    expect(child.meters).toEqual([meter])
    expect(child.fork().meters).toEqual([meter])
    expect([session.meters, session.fork().meters]).toEqual([[], []])
  })
})

describe('a session that is used wrongly', () => {
  it('says which options are unknown, and where', async () => {
    const session = await house().openSession()
    await expect(session.search('x', { limt: 1 } as never)).rejects.toThrow(/search\(\).*limt/)
    expect(() => session.fork({ tool: [] } as never)).toThrow(/a fork.*tool/)
  })

  it.each([
    null,
    'x',
    {
      get hooks() {
        throw new Error('unreadable')
      },
    },
  ])('answers every call, whatever the context (%#)', async (context) => {
    const session = await house().openSession()
    expect(await session.execute([callOf('own')], context as never)).toMatchObject([{ name: 'own' }])
  })

  it('opens no turn of a conversation without a dialect', async () => {
    const session = await house().openSession()
    expect(() => session.turn([]).request).toThrow(expect.objectContaining({ code: 'config-invalid' }))
  })

  it('opens no turn with a hint without a dialect either, once the hint is there', async () => {
    const session = await house().openSession()
    const messages = [{ role: 'user', content: 'zzz' }]
    expect(await session.hinted(messages)).toEqual(messages)
    await expect(session.turn(messages as never, { hint: true })).rejects.toMatchObject({
      code: 'config-invalid',
    })
  })
})

describe('a session that another process changes', () => {
  it('takes the changes over when it is asked to', async () => {
    const registry = house()
    const store = memoryStore()
    const one = await registry.openSession({ id: 'chat', store })
    const other = await registry.openSession({ id: 'chat', store })
    await other.activate(['mcp__s__b'])
    expect(one.isActive('mcp__s__b')).toBe(false)
    await one.refresh()
    expect(one.isActive('mcp__s__b')).toBe(true)
    expect(one.scope()).toBe(one.scope())
    expect(one.scope().view.deferred.size).toBe(3)
  })
})

describe('what waits behind the search', () => {
  it('is what is neither active nor preloaded', async () => {
    const session = await house().openSession()
    const waiting = () => session.deferred().map(({ name }) => name)
    expect(waiting()).toEqual(NAMES)
    expect(await session.preload(['mcp__s__a', 'own', 'nothing'])).toEqual({
      activated: ['own', 'mcp__s__a'],
      evicted: [],
      missing: ['nothing'],
    })
    await session.activate(['mcp__s__c'])
    expect(waiting()).toEqual(['mcp__s__b'])
  })
})

describe('a surface', () => {
  const tools = () => [tool('a'), tool('b'), tool('c')]

  it.each(['append', 'native'] as const)(
    'is the same object while nothing changed under %s',
    async (strategy) => {
      const registry = house()
      const session = await registry.openSession({ strategy })
      await session.activate(['mcp__s__b', 'mcp__s__a'])
      const surface = session.surface()
      expect(session.surface()).toBe(surface)
      registry.syncMcp('s', [tool('a', { description: 'Another.' }), tool('b'), tool('c')])
      expect(session.surface()).not.toBe(surface)
      // What was registered again, as it was, is other objects with the same bytes.
      registry.syncMcp('s', tools())
      const again = session.surface()
      expect(again).toEqual(surface)
      registry.unregister('own')
      registry.register(tool('own'))
      expect(session.surface()).toBe(again)
    },
  )

  it('is another one when only the order, the number deferred or the trust in a server changes', async () => {
    const registry = house()
    const session = await registry.openSession()
    await session.activate(['mcp__s__a', 'mcp__s__b'])
    const surface = session.surface()
    await session.deactivate(['mcp__s__a'])
    await session.activate(['mcp__s__a'])
    const reordered = session.surface()
    expect(reordered.tools.map(({ name }) => name).slice(-2)).toEqual(['mcp__s__b', 'mcp__s__a'])
    expect(reordered.fingerprint).not.toBe(surface.fingerprint)
    registry.syncMcp('s', [...tools(), tool('d')])
    const grown = session.surface()
    expect(grown).not.toBe(reordered)
    expect(grown.deferredCount).toBe(2)
    registry.syncMcp('s', [...tools(), tool('d')], { trust: true })
    expect(session.surface()).not.toHaveProperty('untrustedServers')
  })
})

describe('the first request of a conversation', () => {
  const dialect = { strategy: 'dispatch' } as const
  /** The same catalogue, with one more tool that would be shown. */
  const grown = () => {
    const registry = house()
    registry.register(tool('another'))
    return registry
  }
  const open = (registry: ToolRegistry, options: object = {}) => registry.openSession({ dialect, ...options })

  it('is in the saved state, beside what is checked out, and a restored session begins with it', async () => {
    const session = await open(house())
    const before = session.surface().tools
    await session.activate(['mcp__s__a'])
    const state = session.toJSON()
    expect(state).toMatchObject({ version: 1, id: session.id, activations: [{ name: 'mcp__s__a' }] })
    const restored = await open(grown(), { state: structuredClone(state) })
    expect(restored.surface().tools).toEqual(before)
    expect(restored.isActive('mcp__s__a')).toBe(true)
  })

  it('is not continued with other settings', async () => {
    const session = await open(house())
    session.surface()
    const state = structuredClone(session.toJSON())
    const restored = await open(grown(), { state, searchTool: 'ToolSearch' })
    expect(shown(restored)).toEqual(['another', 'own', 'ToolSearch', 'call_tool'])
  })

  it('is in the store once the session shows it, and another process begins with it', async () => {
    const store = memoryStore()
    const session = await open(house(), { id: 'talk', store })
    const before = session.surface().tools
    await session.close()
    const other = await open(grown(), { id: 'talk', store })
    expect(other.surface().tools).toEqual(before)
  })

  it('in a given state replaces the one in the store', async () => {
    const store = memoryStore()
    const session = await open(house(), { id: 'talk' })
    const before = session.surface().tools
    const state = structuredClone(session.toJSON())
    const stored = await open(grown(), { id: 'talk', store })
    expect(stored.surface().tools).not.toEqual(before)
    await stored.close()
    await (await open(grown(), { id: 'talk', store, state })).close()
    expect((await open(grown(), { id: 'talk', store })).surface().tools).toEqual(before)
  })
})

describe('the surface after a turn', () => {
  it('is the newest under native, where a search may have found what joined meanwhile', async () => {
    const registry = house()
    const session = await registry.openSession({ strategy: 'native' })
    const before = session.surface()
    registry.syncMcp('late', [tool('d')])
    const after = session.surfaceAfter(before)
    expect(after.deferredTools?.map(({ name }) => name)).toEqual([...NAMES, 'mcp__late__d'].toSorted())
  })

  it('is the one it began with under append', async () => {
    const registry = house()
    const session = await registry.openSession({ strategy: 'append' })
    const before = session.surface()
    registry.syncMcp('late', [tool('d')])
    expect(session.surfaceAfter(before)).toBe(before)
  })
})

describe('a session and its store', () => {
  it('has saved what calls checked out when their results are there', async () => {
    const store = memoryStore()
    const registry = house()
    const session = await registry.openSession({ id: 'talk', store })
    await session.execute([callOf('mcp__s__b')])
    expect((await registry.openSession({ id: 'talk', store })).isActive('mcp__s__b')).toBe(true)
  })

  it('reports on closing that it could not be saved', async () => {
    const broken = memoryStore()
    const session = await house().openSession({ id: 'talk', store: broken })
    broken.update = () => Promise.reject(new Error('disk full'))
    await session.activate(['mcp__s__a'])
    await expect(session.close()).rejects.toMatchObject({ code: 'store-unavailable' })
  })

  it('needs none to be refreshed and closed', async () => {
    const session = await house().openSession({ dialect: { strategy: 'dispatch' } })
    session.surface()
    await expect(Promise.all([session.refresh(), session.close()])).resolves.toBeDefined()
  })
})

it('a fork made while calls run has no meters where those calls have none', async () => {
  const registry = house()
  const forks: Session[] = []
  const session = await registry.openSession()
  registry.register(
    tool('forks', {
      execute: () => {
        forks.push(session.fork())
        return { ok: true, value: '' }
      },
    }),
  )
  await session.execute([callOf('forks')])
  await session.execute([callOf('forks')], { meters: 'all' as never })
  expect(forks.map(({ meters }) => meters)).toEqual([[]])
})

describe('reading a session', () => {
  const READS: Record<string, (session: Session, registry: ToolRegistry) => unknown> = {
    stats: (session) => session.stats(),
    explain: (session, registry) => registry.explain('mcp__s__a', session),
    deferred: (session) => session.deferred(),
    search: (session) => session.search('does a'),
    context: (session) => session.context(),
    promptNote: (session) => session.promptNote(),
  }
  const native = { strategy: 'native', maxTools: 5 } as const

  /** What happens to the catalogue after the first surface, in steps. */
  const CHANGES: Record<string, readonly ((registry: ToolRegistry) => unknown)[]> = {
    'a first deferred tool comes': [(registry) => registry.register(tool('late', { deferred: true }))],
    'a tool goes, and a first deferred tool comes and goes': [
      (registry) => registry.unregister('own'),
      (registry) => registry.register(tool('late', { deferred: true })),
      (registry) => registry.unregister('late'),
    ],
    'more tools come than the provider takes': [(registry) => registry.syncMcp('t', [tool('a'), tool('b')])],
    'a tool goes, and more tools come than the provider takes, and go': [
      (registry) => registry.unregister('own'),
      (registry) => registry.syncMcp('t', [tool('a'), tool('b')]),
      (registry) => registry.unregisterMcp('t'),
    ],
    'active tools are more than the cap for a moment': [
      (registry) => registry.syncMcp('s', [tool('c')]),
      (registry) => registry.syncMcp('s', [tool('a'), tool('b'), tool('c')]),
      (registry) => registry.syncMcp('s', [tool('a'), tool('b')]),
    ],
  }

  const cases = Object.keys(CHANGES).flatMap((change) => Object.keys(READS).map((read) => [change, read]))

  it.each(cases)('changes no byte of later surfaces where %s: %s', async (change = '', name = '') => {
    const surfaces = async (reads: boolean) => {
      const isFirst = change.includes('a first')
      const isActive = change.startsWith('active')
      const registry = isFirst ? new ToolRegistry() : house()
      if (isFirst) registry.registerAll([tool('own'), tool('other')])
      const session = await registry.openSession(isActive ? { maxActive: 2 } : { dialect: native })
      const read = async () => void (reads && (await READS[name]?.(session, registry)))
      await read()
      const seen = [session.surface()]
      if (isActive) await session.activate(['mcp__s__a', 'mcp__s__b'])
      for (const step of CHANGES[change] ?? []) {
        step(registry)
        await read()
        if (isActive && registry.size === 2) await session.activate(['mcp__s__c'])
      }
      seen.push(session.surface())
      await read()
      seen.push(session.surface())
      return seen
    }
    const [read, unread] = [await surfaces(true), await surfaces(false)]
    expect(JSON.stringify(read)).toBe(JSON.stringify(unread))
    if (change.startsWith('a tool goes')) expect(read[1]).toEqual(read[0])
  })
})
