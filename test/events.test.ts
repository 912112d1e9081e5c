import { type ToolcribEvent, ToolRegistry } from 'toolcrib'
import { describe, expect, it, vi } from 'vitest'
import { call, eventLog, registerServers, tool } from './helpers.ts'

describe('events', () => {
  it('reach whoever subscribes, until they unsubscribe', async () => {
    const registry = new ToolRegistry({ clock: () => 7 })
    const seen: ToolcribEvent[] = []
    const unsubscribe = registry.subscribe((event) => void seen.push(event))
    registry.register(tool('a'))
    expect(seen).toEqual([{ type: 'tool-registered', name: 'a', source: { kind: 'builtin' }, at: 7 }])
    unsubscribe()
    unsubscribe()
    registry.register(tool('b'))
    expect(seen).toHaveLength(1)
  })

  it('reach onEvent and every subscriber, each registration of a listener on its own', async () => {
    const log = eventLog()
    const registry = new ToolRegistry({ onEvent: log.onEvent })
    const listener = vi.fn()
    const first = registry.subscribe(listener)
    registry.subscribe(listener)
    registry.register(tool('a'))
    expect(log.of('tool-registered')).toHaveLength(1)
    expect(listener).toHaveBeenCalledTimes(2)
    first()
    registry.register(tool('b'))
    expect(listener).toHaveBeenCalledTimes(3)
  })

  it('of one session reach those who asked for it, and nobody else', async () => {
    const registry = new ToolRegistry({ mode: 'lazy' })
    registerServers(registry)
    const [a, b] = [await registry.openSession({ id: 'a' }), await registry.openSession({ id: 'b' })]
    const ofA: string[] = []
    const alsoOfA: string[] = []
    const unsubscribe = registry.subscribe(({ type }) => void ofA.push(type), { sessionId: 'a' })
    a.subscribe(({ type }) => void alsoOfA.push(type))
    await a.activate(['mcp__github__get_file'])
    await b.activate(['mcp__github__get_file'])
    await call(b, 'mcp__slack__list_channels')
    registry.register(tool('c'))
    expect(ofA).toEqual(['activated'])
    unsubscribe()
    await call(a, 'mcp__github__get_file')
    expect(ofA).toEqual(['activated'])
    expect(alsoOfA).toEqual(['activated', 'call-started', 'call-finished'])
  })

  it('go on after a listener that throws', async () => {
    const log = eventLog()
    const registry = new ToolRegistry({
      onEvent: () => {
        throw new Error('boom')
      },
    })
    registry.subscribe(log.onEvent)
    registry.register(tool('a'))
    const session = await registry.openSession()
    expect(await call(session, 'a')).toMatchObject({ ok: true })
    expect(log.of('call-finished')).toHaveLength(1)
  })

  it('reach a listener that another one removed meanwhile once more, and never one that was added meanwhile', () => {
    const registry = new ToolRegistry()
    const seen: string[] = []
    registry.subscribe(() => {
      seen.push('first')
      second()
      registry.subscribe(() => void seen.push('late'))
    })
    const second = registry.subscribe(() => void seen.push('second'))
    registry.register(tool('a'))
    expect(seen).toEqual(['first', 'second'])
    registry.register(tool('b'))
    expect(seen).toEqual(['first', 'second', 'first', 'late'])
  })

  it('contain no secret, and are dropped when they cannot be masked', async () => {
    const secret = `sk_live_${'a1B2c3D4'.repeat(12)}`
    let isBroken = false
    const secrets = {
      open: () => ({ get: () => secret }),
      mask: (text: string) => {
        if (isBroken) throw new Error('broken')
        return text.replaceAll(secret, '***')
      },
    }
    const log = eventLog()
    const registry = new ToolRegistry({ capabilities: { secrets }, onEvent: log.onEvent })
    const session = await registry.openSession()
    await call(session, secret)
    session.emit({ type: 'missed', what: 'search', text: `find ${secret}` })
    expect(log.of('missed')).toMatchObject([{ text: '***' }, { text: 'find ***', sessionId: session.id }])
    isBroken = true
    session.emit({ type: 'missed', what: 'search', text: secret })
    expect(log.of('missed')).toHaveLength(2)
  })

  it('of the catalogue report each change', () => {
    const log = eventLog()
    const registry = new ToolRegistry({ onEvent: log.onEvent })
    registry.registerAll([tool('a'), tool('b')])
    registry.syncMcp('s', [tool('x'), tool('x')])
    expect(registry.unregister('a')).toBe(true)
    expect(registry.unregister('a')).toBe(false)
    registry.unregisterMcp('s')
    registry.quarantine('b', 'changed')
    expect([registry.release('b'), registry.release('b')]).toEqual([true, false])
    expect(log.of('tool-registered').map((event) => 'name' in event && event.name)).toEqual(['a', 'b'])
    expect(log.of('server-synced')).toMatchObject([{ server: 's', added: ['mcp__s__x'] }])
    expect(log.of('tool-skipped')).toMatchObject([{ server: 's', name: 'mcp__s__x' }])
    expect(log.of('tool-unregistered')).toMatchObject([
      { name: 'a', source: { kind: 'builtin' } },
      { name: 'mcp__s__x', source: { kind: 'mcp', server: 's' } },
    ])
    expect(log.of('tool-quarantined')).toMatchObject([{ name: 'b', reason: 'changed' }])
    expect(log.of('tool-released')).toMatchObject([{ name: 'b' }])
  })

  it('of a session report how it was opened, what it shows, and when its mode changes', async () => {
    const log = eventLog()
    const registry = new ToolRegistry({ onEvent: log.onEvent })
    registerServers(registry)
    const session = await registry.openSession({ id: 'a' })
    await session.activate(['mcp__github__get_file'])
    session.fork()
    await registry.openSession({ state: session.toJSON() })
    expect(log.of('session-opened')).toMatchObject([
      { sessionId: 'a', restored: 0 },
      { sessionId: 'a/1', parentId: 'a', restored: 1 },
      { sessionId: 'a', restored: 1 },
    ])
    const surface = session.surface()
    expect(log.of('surfaced').at(-1)).toMatchObject({
      tools: 2,
      deferredCount: 14,
      fingerprint: surface.fingerprint,
      tokens: expect.any(Number),
    })
    registry.unregisterMcp('slack')
    session.surface()
    expect(log.of('mode-changed')).toMatchObject([{ mode: 'full' }])
  })
})
