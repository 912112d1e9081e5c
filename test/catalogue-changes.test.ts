import { ToolRegistry } from 'toolcrib'
import { describe, expect, it } from 'vitest'
import { call, registerServers, shown, tool } from './helpers.ts'

describe('unregister', () => {
  it('takes a tool out of everything: definitions, search, surfaces, calls', async () => {
    const registry = new ToolRegistry({ mode: 'lazy' })
    registerServers(registry)
    registry.register(tool('local'))
    const session = await registry.openSession()
    await session.activate(['mcp__github__get_file'])
    for (const name of ['local', 'mcp__github__get_file']) {
      expect(registry.unregister(name)).toBe(true)
      expect(registry.has(name)).toBe(false)
      expect(registry.get(name)).toBeUndefined()
      expect(registry.toDefinitions().map((each) => each.name)).not.toContain(name)
      expect((await registry.search(`select:${name}`)).missing).toEqual([name])
      expect(shown(session)).not.toContain(name)
      expect(await call(session, name)).toMatchObject({ ok: false, code: 'not_available' })
      expect(registry.explain(name, session).state).toBe('unknown')
    }
    expect(registry.size).toBe(14)
    expect(registry.unregister('nope')).toBe(false)
    registry.register(tool('Local'))
    expect(registry.has('Local')).toBe(true)
  })
})

describe('replace', () => {
  it('leaves nothing of the old tool: not in search, nor its source, nor its results', async () => {
    const registry = new ToolRegistry()
    const fixed = (value: string) => ({
      annotations: { readOnlyHint: true },
      cacheTtlMs: 60_000,
      execute: () => ({ ok: true as const, value }),
    })
    registry.register(tool('note', { description: 'Writes on vellum.', ...fixed('old') }), { pluginId: 'p' })
    const session = await registry.openSession()
    expect(await call(session, 'note')).toMatchObject({ value: 'old' })
    expect((await registry.search('vellum')).matches).toHaveLength(1)
    registry.register(tool('note', { description: 'Writes on paper.', ...fixed('new') }), { replace: true })
    expect((await registry.search('vellum')).matches).toEqual([])
    expect((await registry.search('paper')).matches).toHaveLength(1)
    expect(await call(session, 'note')).toMatchObject({ value: 'new' })
    expect(registry.listSchemas()).toMatchObject([{ name: 'note', source: 'builtin' }])
    expect(registry.size).toBe(1)
  })
})

describe('preloading', () => {
  it('by the registry shows tools in every session opened from then on', async () => {
    const registry = new ToolRegistry({ mode: 'lazy' })
    registerServers(registry)
    const before = await registry.openSession()
    registry.preload('mcp__github__get_file')
    registry.preload(['mcp__slack__send_message', 'mcp__github__get_file'])
    const session = await registry.openSession({ maxActive: 1 })
    const first = ['mcp__github__get_file', 'mcp__slack__send_message', 'tool_search']
    expect(shown(session)).toEqual(first)
    expect(shown(before)).toEqual(['tool_search'])
    expect(session.toJSON().activations).toEqual([])
    expect(shown(session.fork())).toEqual(first)
    expect(await session.deactivate(first)).toEqual([])
    expect(shown(await registry.withoutMcp().openSession())).toEqual([])
  })

  it('by the registry refuses anything but names', () => {
    const registry = new ToolRegistry()
    for (const names of [7, [7], {}, null])
      expect(() => registry.preload(names as never)).toThrow(
        expect.objectContaining({ code: 'config-invalid' }),
      )
  })

  it('by a session takes one name or several, outside the cap', async () => {
    const registry = new ToolRegistry({ mode: 'lazy' })
    registerServers(registry)
    const session = await registry.openSession({ maxActive: 1 })
    expect(await session.preload('mcp__slack__send_message')).toEqual({
      activated: ['mcp__slack__send_message'],
      evicted: [],
      missing: [],
    })
    expect(await session.preload(['mcp__github__get_file', 'nope'])).toMatchObject({ missing: ['nope'] })
    await session.activate(['mcp__github__create_issue'])
    expect(shown(session)).toHaveLength(4)
    for (const names of [7, [7], undefined])
      await expect(session.preload(names as never)).rejects.toMatchObject({ code: 'config-invalid' })
    await expect(session.deactivate('x' as never)).rejects.toMatchObject({ code: 'config-invalid' })
    await expect((async () => session.activate('x' as never))()).rejects.toMatchObject({
      code: 'config-invalid',
    })
  })

  it('leaves the rest deferred, by the registry’s own settings', () => {
    const registry = new ToolRegistry({ mode: 'lazy', pinned: ['mcp__slack__*'] })
    registerServers(registry)
    registry.register(tool('local'))
    expect(registry.deferredTools().map(({ name }) => name)).toEqual(
      registry.stats().tool_names.filter((name) => /^mcp__(github|weather)/.test(name)),
    )
    expect(new ToolRegistry({ mode: 'full' }).deferredTools()).toEqual([])
  })
})

describe('what is unavailable', () => {
  it('is on no surface, shown or activated, under no strategy but native, and comes back', async () => {
    let isUp = true
    const registry = new ToolRegistry({ mode: 'lazy' })
    const guarded = { isAvailable: () => isUp }
    registry.register(tool('own', guarded))
    registry.syncMcp('s', [tool('a', guarded), tool('b')])
    const session = await registry.openSession()
    await session.activate(['mcp__s__a'])
    const full = await registry.openSession({ mode: 'full' })
    expect([shown(session), shown(full)]).toEqual([
      ['own', 'tool_search', 'mcp__s__a'],
      ['mcp__s__a', 'mcp__s__b', 'own'],
    ])
    isUp = false
    expect([shown(session), shown(full)]).toEqual([['tool_search'], ['mcp__s__b']])
    expect(session.surface().deferredCount).toBe(2)
    isUp = true
    expect(shown(session)).toEqual(['own', 'tool_search', 'mcp__s__a'])
  })
})
