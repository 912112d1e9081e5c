import fc from 'fast-check'
import { type Tool, ToolRegistry } from 'toolcrib'
import { describe, expect, it } from 'vitest'
import { lazyRegistry, shown, tool } from './helpers.ts'

describe('what is deferred', () => {
  const own = (count: number, more: Partial<Tool> = {}) =>
    Array.from({ length: count }, (_, index) => tool(`own_${index}`, more))

  it('is everything once too many tools would stay shown, by default', async () => {
    const registry = new ToolRegistry()
    registry.registerAll(own(14))
    expect(registry.stats()).toMatchObject({ deferred: 0, deferred_mode: false, auto_deferred: false })
    registry.register(tool('one_more'))
    expect(registry.stats()).toMatchObject({
      loaded: 0,
      deferred: 15,
      deferred_mode: true,
      auto_deferred: true,
    })
    expect(shown(await registry.openSession())).toEqual(['tool_search'])
    expect(registry.deferredTools().map(({ name }) => name)).toEqual(registry.stats().tool_names)
  })

  it('comes back only when clearly fewer would stay shown', async () => {
    const registry = new ToolRegistry({ mode: 'lazy', toolThreshold: 10 })
    registry.registerAll(own(10))
    const session = await registry.openSession()
    expect(session.stats()).toMatchObject({ deferred: 10, deferred_mode: true })
    for (const [left, deferred] of [
      [9, 9],
      [8, 8],
      [7, 0],
      [8, 0],
      [9, 0],
    ]) {
      while (registry.size > (left ?? 0)) registry.unregister(registry.stats().tool_names.at(-1) ?? '')
      if (registry.size < (left ?? 0)) registry.register(tool(`again_${left}`))
      expect(session.stats()).toMatchObject({ total_registered: left, deferred })
    }
  })

  it('depends on what was registered, not on who looked when', async () => {
    const registry = new ToolRegistry({ mode: 'lazy', toolThreshold: 10 })
    registry.registerAll(own(10))
    const early = await registry.openSession()
    expect(early.stats().deferred).toBe(10)
    registry.unregister('own_9')
    // Another way to see the same tools: nobody has looked from there before.
    const late = await registry.openSession({ policy: { deny: ['nothing'] } })
    expect(late.stats().deferred).toBe(9)
    expect(early.stats().deferred).toBe(9)
    expect(registry.stats().deferred).toBe(9)
  })

  it('changes with one event, however many sessions look', async () => {
    const changes: string[] = []
    const registry = new ToolRegistry({
      onEvent: (event) => void (event.type === 'mode-changed' && changes.push(event.mode)),
    })
    registry.registerAll(own(15))
    const sessions = await Promise.all(
      ['a', 'b', 'c'].map((name) => registry.openSession({ policy: { deny: [name] } })),
    )
    for (const session of sessions) session.surface()
    for (let index = 0; index < 8; index++) registry.unregister(`own_${index}`)
    for (const session of sessions) session.surface()
    expect(changes).toEqual(['full'])
  })

  it('is reported only where something is deferred', async () => {
    const registry = new ToolRegistry({ mode: 'lazy' })
    registry.registerAll(own(3))
    const session = await registry.openSession()
    for (const stats of [registry.stats(), session.stats()])
      expect(stats).toMatchObject({ loaded: 3, deferred: 0, deferred_mode: false, auto_deferred: false })
    expect(shown(session)).toEqual(['own_0', 'own_1', 'own_2'])
    expect(session.promptNote()).toBe('')
  })

  it('is nothing in full mode, flagged tools included', async () => {
    const registry = new ToolRegistry({ mode: 'full' })
    registry.registerAll(own(20, { deferred: true }))
    registry.register(tool('flagged'), { deferred: true })
    const session = await registry.openSession()
    expect(shown(session)).toHaveLength(21)
    expect(session.stats()).toMatchObject({ loaded: 21, deferred: 0, deferred_mode: false })
    expect(session.surface().deferredCount).toBe(0)
  })

  it('leaves no more than toolThreshold schemas that nobody pinned or checked out on a lazy surface', async () => {
    const deferral = fc.constantFrom(undefined, true, false)
    const kind = fc.constantFrom('builtin', 'plugin', 'mcp')
    const changes = fc.array(fc.tuple(fc.nat(40), kind, deferral, fc.boolean()), {
      minLength: 1,
      maxLength: 60,
    })
    await fc.assert(
      fc.asyncProperty(
        changes,
        fc.integer({ min: 1, max: 12 }),
        fc.constantFrom('auto', 'lazy'),
        async (given, toolThreshold, mode) => {
          const registry = new ToolRegistry({ mode, toolThreshold, pinned: ['own_1*'] })
          const session = await registry.openSession()
          const pinnedByTool = new Set<string>()
          for (const [index, source, deferred, isGone] of given) {
            const name = source === 'mcp' ? `mcp__s${index}__a` : `own_${index}`
            if (isGone) registry.unregister(name)
            else if (!registry.has(name)) {
              const made = tool(source === 'mcp' ? 'a' : name, deferred === undefined ? {} : { deferred })
              if (source === 'mcp') registry.syncMcp(`s${index}`, [made])
              else registry.register(made, source === 'plugin' ? { pluginId: 'p' } : {})
              if (deferred === false) pinnedByTool.add(name)
              else pinnedByTool.delete(name)
            }
            const {
              deferred_mode,
              auto_deferred,
              total_registered,
              loaded,
              deferred: hidden,
            } = session.stats()
            expect(loaded + hidden).toBe(total_registered)
            expect(deferred_mode).toBe(hidden > 0)
            if (auto_deferred) expect(deferred_mode).toBe(true)
            const free = shown(session).filter(
              (each) => each !== 'tool_search' && !each.startsWith('own_1') && !pinnedByTool.has(each),
            )
            expect(free.length).toBeLessThanOrEqual(toolThreshold)
            expect(shown(session).includes('tool_search')).toBe(hidden > 0)
          }
        },
      ),
      { numRuns: 100 },
    )
  })

  it.each(['native', 'append', 'dispatch'] as const)(
    'is named once in what the model reads, under %s',
    async (strategy) => {
      const registry = lazyRegistry()
      const session = await registry.openSession({ strategy })
      const read = [session.promptNote(), ...session.surface().tools.map(({ description }) => description)]
      const texts = read.join('\n')
      for (const name of ['search_issues', 'send_message', 'get_forecast'])
        expect([name, texts.split(name).length - 1]).toEqual([name, 1])
    },
  )
})
