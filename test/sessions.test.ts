import { type Session, type SessionState, type ToolcribEvent, ToolRegistry } from 'toolcrib'
import { memoryStore, type Store } from 'toolcrib/stores'
import { describe, expect, it } from 'vitest'
import { ask, call, eventLog, registerServers, shown, tool } from './helpers.ts'

const openLazy = async (options = {}) => {
  const log = eventLog()
  const registry = new ToolRegistry({ onEvent: log.onEvent })
  registerServers(registry)
  return { registry, log, session: await registry.openSession(options) }
}

describe('surfaces', () => {
  it('show pinned tools by name, meta-tools, then activated ones in order', async () => {
    const { registry, session } = await openLazy()
    registry.register(tool('zz'))
    registry.register(tool('aa'))
    await session.activate(['mcp__slack__send_message', 'mcp__github__get_file'])
    expect(shown(session)).toEqual([
      'aa',
      'zz',
      'tool_search',
      'mcp__slack__send_message',
      'mcp__github__get_file',
    ])
    expect(session.surface()).toMatchObject({ deferredCount: 13, strategy: 'append' })
  })

  it('are frozen, and equal while nothing changes', async () => {
    const { session } = await openLazy()
    const surface = session.surface()
    expect(
      Object.isFrozen(surface) && Object.isFrozen(surface.tools) && surface.tools.every(Object.isFrozen),
    ).toBe(true)
    await call(session, 'tool_search', { query: 'zzzz' })
    expect(session.surface()).toEqual(surface)
  })

  it('keep every earlier tool in its place and bytes as others are activated', async () => {
    const { session } = await openLazy()
    const before = session.surface()
    await session.activate(['mcp__weather__get_alerts'])
    const after = session.surface()
    expect(JSON.stringify(after.tools.slice(0, before.tools.length))).toBe(JSON.stringify(before.tools))
    expect(after.fingerprint).not.toBe(before.fingerprint)
  })

  it('equal those of full mode when nothing is deferred', async () => {
    const registry = new ToolRegistry()
    registry.syncMcp('s', [tool('a'), tool('b')])
    const auto = await registry.openSession()
    const full = await registry.openSession({ mode: 'full' })
    expect(JSON.stringify(auto.surface())).toBe(JSON.stringify(full.surface()))
    expect(shown(auto)).toEqual(['mcp__s__a', 'mcp__s__b'])
    expect(auto.promptNote()).toBe('')
  })

  it('fall back to full mode when no search tool is permitted', async () => {
    const { session } = await openLazy({ policy: { deny: ['tool_search'] } })
    expect(shown(session)).toHaveLength(15)
    expect(session.surface().deferredCount).toBe(0)
  })

  it('never change under dispatch, whatever is activated', async () => {
    const { session } = await openLazy({ strategy: 'dispatch' })
    const before = JSON.stringify(session.surface().tools)
    await ask(session, 'tool_search', { query: 'weather forecast' })
    await call(session, 'call_tool', {
      name: 'mcp__slack__send_message',
      arguments: { channel: 'a', text: 'b' },
    })
    expect(JSON.stringify(session.surface().tools)).toBe(before)
    expect(shown(session)).toEqual(['tool_search', 'call_tool'])
  })

  it('append when dispatch cannot call', async () => {
    const { session } = await openLazy({ strategy: 'dispatch', policy: { deny: ['call_tool'] } })
    await session.activate(['mcp__weather__get_alerts'])
    expect(session.surface().strategy).toBe('append')
    expect(shown(session)).toEqual(['tool_search', 'mcp__weather__get_alerts'])
  })

  it('use the best strategy of the dialect with auto', async () => {
    const { session } = await openLazy({ dialect: { strategy: 'native' } })
    const surface = session.surface()
    expect(surface.strategy).toBe('native')
    expect(surface.tools.map(({ name }) => name)).toEqual(['tool_search'])
    expect(surface.deferredTools).toHaveLength(15)
    await session.activate(['mcp__weather__get_alerts'])
    expect(session.surface().fingerprint).toBe(surface.fingerprint)
  })

  it('do not show unavailable tools', async () => {
    let isUp = true
    const registry = new ToolRegistry({ mode: 'lazy' })
    registry.syncMcp('s', [tool('a', { isAvailable: () => isUp }), tool('b')])
    const session = await registry.openSession()
    await session.activate(['mcp__s__a'])
    expect(shown(session)).toEqual(['tool_search', 'mcp__s__a'])
    isUp = false
    expect(shown(session)).toEqual(['tool_search'])
    expect((await session.activate(['mcp__s__a'])).missing).toEqual(['mcp__s__a'])
  })
})

describe('activations', () => {
  it('are sticky and survive a server restart', async () => {
    const { registry, session } = await openLazy()
    await session.activate(['mcp__weather__get_alerts'])
    registry.unregisterMcp('weather')
    expect(shown(session)).not.toContain('mcp__weather__get_alerts')
    registerServers(registry)
    expect(shown(session)).toContain('mcp__weather__get_alerts')
  })

  it('count a call as use', async () => {
    const { session, log } = await openLazy({ maxActive: 2 })
    await session.activate(['mcp__github__get_file'])
    await session.activate(['mcp__github__create_issue'])
    await call(session, 'mcp__github__get_file')
    const report = await session.activate(['mcp__slack__list_channels'])
    expect(report).toEqual({
      activated: ['mcp__slack__list_channels'],
      evicted: ['mcp__github__create_issue'],
      missing: [],
    })
    expect(log.of('evicted')).toMatchObject([{ names: ['mcp__github__create_issue'] }])
  })

  it('name unknown and denied tools', async () => {
    const { session } = await openLazy({ policy: { deny: ['mcp__slack__*'] } })
    const report = await session.activate(['nope', 'mcp__slack__send_message', 'mcp__github__get_file'])
    expect(report).toEqual({
      activated: ['mcp__github__get_file'],
      evicted: [],
      missing: ['nope', 'mcp__slack__send_message'],
    })
  })

  it('leave preloaded tools outside the cap', async () => {
    const { session } = await openLazy({ maxActive: 1 })
    await session.preload(['mcp__slack__send_message'])
    await session.activate(['mcp__github__get_file'])
    await session.activate(['mcp__github__create_issue'])
    expect(shown(session)).toEqual(['tool_search', 'mcp__slack__send_message', 'mcp__github__create_issue'])
    expect(session.context()).toContain('MCP active: 1/1 (mcp__github__create_issue)')
  })

  it('can be released', async () => {
    const { session } = await openLazy()
    await session.activate(['mcp__github__get_file'])
    expect(await session.deactivate(['mcp__github__get_file', 'nope'])).toEqual(['mcp__github__get_file'])
    expect(shown(session)).toEqual(['tool_search'])
  })

  it('are counted in context and stats', async () => {
    const { session } = await openLazy()
    expect(session.context()).toContain('MCP active: 0/24')
    await session.activate(['mcp__github__get_file', 'mcp__slack__send_message'])
    expect(session.context()).toContain('MCP active: 2/24 (mcp__github__get_file, mcp__slack__send_message)')
    expect(session.context()).toMatch(/saved ~[\d,]+ tokens/)
    expect(session.stats()).toMatchObject({
      total_registered: 15,
      loaded: 2,
      deferred: 13,
      deferred_mode: true,
      auto_deferred: true,
    })
  })
})

describe('a call of a tool that was not shown', () => {
  it('runs it when the arguments are valid, and activates it', async () => {
    const { session, log } = await openLazy()
    expect(await call(session, 'mcp__weather__get_forecast', { city: 'Oslo' })).toEqual({
      ok: true,
      value: 'get_forecast {"city":"Oslo"}',
    })
    expect(shown(session)).toContain('mcp__weather__get_forecast')
    expect(log.of('auto-activated')).toMatchObject([{ names: ['mcp__weather__get_forecast'] }])
  })

  it('activates it and shows its schema when they are not', async () => {
    const { session } = await openLazy()
    const result = await call(session, 'mcp__weather__get_forecast', { town: 'Oslo' })
    expect(result).toMatchObject({ ok: false, code: 'input_invalid' })
    expect(JSON.stringify(result)).toContain('city')
    expect(result.ok ? '' : result.error).toContain('"properties":{"city"')
    expect(shown(session)).toContain('mcp__weather__get_forecast')
  })

  it('stays denied when it is denied', async () => {
    const { session } = await openLazy({ policy: { deny: ['mcp__weather__*'] } })
    const result = await call(session, 'mcp__weather__get_forecast', { city: 'Oslo' })
    expect(result).toMatchObject({
      ok: false,
      code: 'not_available',
      error: expect.stringContaining('not permitted'),
    })
    expect(shown(session)).not.toContain('mcp__weather__get_forecast')
  })

  it('suggests similar names for an unknown one, never the whole catalogue', async () => {
    const { session } = await openLazy()
    const result = await call(session, 'mcp__weather__get_forcast', {})
    expect(result).toMatchObject({
      ok: false,
      code: 'not_available',
      error: expect.stringContaining('mcp__weather__get_forecast'),
    })
    expect(result.ok ? '' : result.error).not.toContain('slack')
  })

  it('reports evictions with the next search', async () => {
    const { session } = await openLazy({ maxActive: 1 })
    await session.activate(['mcp__github__get_file'])
    await call(session, 'mcp__weather__get_forecast', { city: 'Oslo' })
    expect((await ask(session, 'tool_search', { name: 'mcp__weather__get_forecast' })).evicted).toEqual([
      'mcp__github__get_file',
    ])
  })
})

describe('sessions apart', () => {
  it('never see each other', async () => {
    const { registry, session } = await openLazy()
    const other = await registry.openSession()
    await session.activate(['mcp__github__get_file'])
    expect(shown(other)).toEqual(['tool_search'])
    expect(other.id).not.toBe(session.id)
  })

  it("fork into children that start with their parent's tools and do not change the parent", async () => {
    const { session } = await openLazy()
    await session.activate(['mcp__github__get_file'])
    const child = session.fork()
    expect(shown(child)).toEqual(['tool_search', 'mcp__github__get_file'])
    await ask(child, 'tool_search', { query: 'weather forecast' })
    expect(shown(child)).toContain('mcp__weather__get_forecast')
    expect(shown(session)).toEqual(['tool_search', 'mcp__github__get_file'])
    await session.activate(['mcp__slack__list_channels'])
    expect(shown(child)).not.toContain('mcp__slack__list_channels')
  })

  it('fork without inheritance, and within an allowlist that takes precedence over it', async () => {
    const { session } = await openLazy()
    await session.activate(['mcp__github__get_file', 'mcp__slack__send_message'])
    expect(shown(session.fork({ inheritActive: false }))).toEqual(['tool_search'])
    const child = session.fork({ tools: ['mcp__slack__*'] })
    expect(shown(child)).toEqual(['tool_search', 'mcp__slack__send_message'])
    expect((await child.search('weather forecast city')).matches).toEqual([])
    expect(await call(child, 'mcp__github__get_file')).toMatchObject({ ok: false, code: 'not_available' })
    const grandchild = child.fork({ tools: ['*'] })
    expect((await grandchild.search('weather forecast city')).matches).toEqual([])
  })

  it('fork with their own cap', async () => {
    const { session } = await openLazy()
    await session.activate(['mcp__github__get_file', 'mcp__slack__send_message'])
    expect(shown(session.fork({ maxActive: 1 }))).toEqual(['tool_search', 'mcp__github__get_file'])
  })

  it('leave out MCP by policy', async () => {
    const { registry } = await openLazy()
    registry.register(tool('local'))
    const session = await registry.openSession({ policy: { filter: { allowedMcpServers: [] } } })
    expect(shown(session)).toEqual(['local'])
    expect(session.stats().tool_names).toEqual(['local'])
  })
})

describe('saved sessions', () => {
  it('continue after a restart with the same tools and bytes', async () => {
    const { session } = await openLazy({ id: 'chat-7' })
    await session.activate(['mcp__github__get_file', 'mcp__slack__send_message'])
    const state: SessionState = JSON.parse(JSON.stringify(session))
    const { registry } = await openLazy()
    const restored = await registry.openSession({ state })
    expect(restored.id).toBe('chat-7')
    expect(JSON.stringify(restored.surface())).toBe(JSON.stringify(session.surface()))
  })

  it('report a definition that changed in the meantime, and show its schema when a call becomes invalid', async () => {
    const { session } = await openLazy()
    await session.activate(['mcp__weather__get_forecast'])
    const { registry, log } = await openLazy()
    registry.syncMcp('weather', [
      tool('get_forecast', {
        inputSchema: { type: 'object', properties: { place: { type: 'string' } }, required: ['place'] },
      }),
    ])
    const restored = await registry.openSession({ mode: 'lazy', state: session.toJSON() })
    expect(shown(restored)).toContain('mcp__weather__get_forecast')
    expect(log.of('definition-changed')).toMatchObject([
      { name: 'mcp__weather__get_forecast', sessionId: session.id },
    ])
    expect(restored.context()).toContain('Changed since they were activated: mcp__weather__get_forecast')
    const result = await call(restored, 'mcp__weather__get_forecast', { city: 'Oslo' })
    expect(result.ok ? '' : result.error).toContain('"properties":{"place"')
  })

  it.each([null, 'x', {}, { version: 2 }, { version: 1, id: 'a', activations: [{}] }])(
    'reject damaged state: %j',
    async (state) => {
      await expect(new ToolRegistry().openSession({ state: state as never })).rejects.toMatchObject({
        code: 'config-invalid',
      })
    },
  )

  it('are saved in a store', async () => {
    const store = memoryStore()
    const { registry, session } = await openLazy({ id: 'kept', store })
    await session.activate(['mcp__github__get_file'])
    await call(session, 'mcp__slack__list_channels')
    expect(shown(await registry.openSession({ id: 'kept', store }))).toEqual(shown(session))
    await expect(registry.openSession({ store })).rejects.toMatchObject({ code: 'config-invalid' })
  })

  it('report an unavailable store, and still run calls and searches', async () => {
    const fail = () => Promise.reject(new Error('connection refused'))
    const away = { get: fail, set: fail, update: fail, delete: fail, close: async () => {} }
    const events: ToolcribEvent[] = []
    const { registry } = await openLazy()
    registry.subscribe((event) => void events.push(event))
    const session = await registry.openSession({ id: 'x', store: away })
    expect(events).toContainEqual(
      expect.objectContaining({ type: 'load-failed', sessionId: 'x', error: 'connection refused' }),
    )
    expect(await session.activate(['mcp__github__get_file'])).toMatchObject({
      activated: ['mcp__github__get_file'],
    })
    expect(events).toContainEqual(
      expect.objectContaining({ type: 'save-failed', sessionId: 'x', error: 'connection refused' }),
    )
    expect(await call(session, 'mcp__github__get_file')).toMatchObject({ ok: true })
    await expect(session.close()).rejects.toMatchObject({ code: 'store-unavailable' })
  })

  it('write missed changes as soon as the store recovers', async () => {
    const store = memoryStore()
    let isAway = true
    const flaky: Store = {
      get: (key) => store.get(key),
      set: (key, value) => store.set(key, value),
      delete: (key) => store.delete(key),
      close: () => store.close(),
      update: (...given: Parameters<typeof store.update>) =>
        isAway ? Promise.reject(new Error('away')) : store.update(...given),
    }
    const { registry, session } = await openLazy({ id: 'kept', store: flaky })
    await session.activate(['mcp__github__get_file'])
    isAway = false
    await session.activate(['mcp__slack__list_channels'])
    await session.close()
    expect(shown(await registry.openSession({ id: 'kept', store }))).toEqual(shown(session))
  })

  it('keep what two replicas activate at the same time', async () => {
    const store = memoryStore()
    const { registry } = await openLazy()
    const [one, two] = await Promise.all([
      registry.openSession({ id: 'kept', store }),
      registry.openSession({ id: 'kept', store }),
    ])
    await Promise.all([one.activate(['mcp__github__get_file']), two.activate(['mcp__slack__list_channels'])])
    const third = await registry.openSession({ id: 'kept', store })
    expect([third.isActive('mcp__github__get_file'), third.isActive('mcp__slack__list_channels')]).toEqual([
      true,
      true,
    ])
  })
})

const descriptionOf = (session: Session, name: string) =>
  session.surface().tools.find((tool) => tool.name === name)?.description ?? ''

describe('promptNote', () => {
  it('summarises the deferred tools, and changes with the catalogue, not on activation', async () => {
    const { registry, session } = await openLazy()
    const said = () => [session.promptNote(), descriptionOf(session, 'tool_search')]
    const before = said()
    const [note = '', description = ''] = before
    expect(note).toContain('tool_search')
    expect(description).toContain('- github (5): create_issue, get_file')
    await session.activate(['mcp__github__get_file'])
    expect(said()).toEqual(before)
    registry.unregisterMcp('slack')
    expect(said().join('\n')).not.toContain('slack')
    expect(session.promptNote()).not.toBe(note)
  })

  it('summarises the deferred tools once, in the description of the search tool', async () => {
    const { session } = await openLazy()
    const all = `${session.promptNote()}\n${descriptionOf(session, 'tool_search')}`
    for (const name of ['list_channels', 'get_file', '- github']) expect(all.split(name)).toHaveLength(2)
  })

  it('stays short with a large catalogue', async () => {
    const registry = new ToolRegistry()
    for (let server = 0; server < 300; server++) registry.syncMcp(`server-${server}`, [tool('a'), tool('b')])
    const session = await registry.openSession()
    const description = descriptionOf(session, 'tool_search')
    expect(description.length + session.promptNote().length).toBeLessThan(3_500)
    expect(description).toMatch(/and \d+ more sources/)
  })
})
