import { ToolRegistry } from 'toolcrib'
import { memoryStore, type Store } from 'toolcrib/stores'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { ask, call, eventLog, registerServers, shown, tool } from './helpers.ts'

const one = (name: string, args: unknown = {}) => [{ toolCallId: '1', name, args }]

/** Lets all work that waits for nothing outside be done. */
const settle = () => new Promise<void>((resolve) => setImmediate(resolve))

afterEach(() => void vi.useRealTimers())

describe('a store that hangs', () => {
  const hanging = (): Store => {
    const never = () => new Promise<never>(() => {})
    return { get: never, set: never, update: never, delete: never, close: async () => {} }
  }

  /** Lets the store fail: waits, however long modules take to load, until something waits for it, and then for two seconds. */
  const afterTwoSeconds = async <Value>(promise: Promise<Value>): Promise<Value> => {
    do await settle()
    while (vi.getTimerCount() === 0)
    vi.advanceTimersByTime(2_000)
    return await promise
  }

  it('delays opening, activating and calling by two seconds at most, and once', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    const log = eventLog()
    const registry = new ToolRegistry({ mode: 'lazy', onEvent: log.onEvent })
    registerServers(registry)
    const session = await afterTwoSeconds(registry.openSession({ id: 'a', store: hanging() }))
    expect(log.of('load-failed')).toMatchObject([{ sessionId: 'a' }])

    expect(await afterTwoSeconds(session.activate(['mcp__github__get_file']))).toMatchObject({
      activated: ['mcp__github__get_file'],
    })

    // From here on no timer fires: nothing waits for the store any more.
    expect(await call(session, 'mcp__github__get_file')).toMatchObject({ ok: true })
    expect(await ask(session, 'tool_search', { name: 'send_message' })).toMatchObject({ activated: true })
    expect(await session.deactivate(['mcp__github__get_file'])).toEqual(['mcp__github__get_file'])
    await session.preload('mcp__slack__list_channels')
    expect(log.of('save-failed')).toHaveLength(1)

    const closing = expect(session.close()).rejects.toMatchObject({ code: 'store-unavailable' })
    for (let n = 0; n < 3; n++) {
      await settle()
      vi.advanceTimersByTime(2_000)
    }
    await closing
  })
})

describe('closing', () => {
  it('waits for what is under way, and saves it', async () => {
    const store = memoryStore()
    const registry = new ToolRegistry({ mode: 'lazy' })
    let finish = () => {}
    const gate = new Promise<void>((resolve) => {
      finish = resolve
    })
    registry.syncMcp('s', [
      tool('slow', {
        execute: async () => {
          await gate
          return { ok: true, value: 'done' }
        },
      }),
    ])
    const session = await registry.openSession({ id: 'a', store })
    const running = session.execute(one('mcp__s__slow'))
    let isClosed = false
    const closing = session.close().then(() => {
      isClosed = true
    })
    await settle()
    expect(isClosed).toBe(false)
    finish()
    await closing
    expect((await running)[0]?.result).toMatchObject({ ok: true })
    expect(shown(await registry.openSession({ id: 'a', store }))).toContain('mcp__s__slow')
  })
})

describe('what a session is limited to', () => {
  it('is never lost to a store that was away when it was opened', async () => {
    const store = memoryStore()
    const registry = new ToolRegistry({ mode: 'lazy' })
    registry.syncMcp('s', [tool('a'), tool('b')])
    const first = await registry.openSession({ id: 'x', store, tools: ['mcp__s__a'] })
    await first.activate(['mcp__s__a'])
    const away = new Error('away')
    const blind: Store = {
      get: () => Promise.reject(away),
      set: (key, value) => store.set(key, value),
      update: (key, change) => store.update(key, change),
      delete: (key) => store.delete(key),
      close: () => store.close(),
    }
    const second = await registry.openSession({ id: 'x', store: blind })
    await second.activate(['mcp__s__b'])
    const third = await registry.openSession({ id: 'x', store })
    expect((await third.activate(['mcp__s__b'])).missing).toEqual(['mcp__s__b'])
  })
})

describe('two replicas of a session', () => {
  const replica = async (store: Store) => {
    const log = eventLog()
    const registry = new ToolRegistry({ mode: 'lazy', maxActive: 2, onEvent: log.onEvent })
    registerServers(registry)
    return { log, session: await registry.openSession({ id: 'a', store }) }
  }
  const [first, second, third, fourth] = [
    'mcp__github__get_file',
    'mcp__github__create_issue',
    'mcp__slack__send_message',
    'mcp__slack__upload_file',
  ] as const

  it('report what the other evicted, in an event and to the model', async () => {
    const store = memoryStore()
    const one = await replica(store)
    await one.session.activate([first, second])
    const two = await replica(store)
    await two.session.activate([third])
    expect(two.log.of('evicted')).toMatchObject([{ names: [second] }])
    expect(one.log.of('evicted')).toEqual([])
    // Here `second` makes room; in the store it is gone already, and `first` does.
    expect(await one.session.activate([fourth])).toMatchObject({ evicted: [second] })
    expect(one.log.of('evicted')).toMatchObject([{ names: [second] }, { names: [first] }])
    expect(shown(one.session)).toEqual(['tool_search', third, fourth])
    // The model is told of both: it saw neither of them go.
    expect((await ask(one.session, 'tool_search', { name: fourth })).evicted).toEqual([first, second])
  })

  it('bring back a tool that the other evicted, when it is used', async () => {
    const store = memoryStore()
    const one = await replica(store)
    await one.session.activate([first, second])
    const two = await replica(store)
    await two.session.activate([third, fourth])
    expect(one.session.isActive(first)).toBe(true)
    await call(one.session, first)
    expect(one.session.isActive(first)).toBe(true)
    expect((await replica(store)).session.isActive(first)).toBe(true)
  })
})

describe('tools that are not there', () => {
  it('take no place under the cap, and are back with their server', async () => {
    const log = eventLog()
    const registry = new ToolRegistry({ mode: 'lazy', maxActive: 2, onEvent: log.onEvent })
    registerServers(registry)
    const session = await registry.openSession()
    await session.activate(['mcp__slack__send_message', 'mcp__slack__upload_file'])
    registry.unregisterMcp('slack')
    expect(await session.activate(['mcp__github__get_file', 'mcp__github__create_issue'])).toMatchObject({
      evicted: [],
    })
    expect(shown(session)).toEqual(['tool_search', 'mcp__github__get_file', 'mcp__github__create_issue'])
    // Back again, they are too many: those that were used longest ago are evicted, and named.
    registerServers(registry)
    expect(shown(session)).toEqual(['tool_search', 'mcp__github__get_file', 'mcp__github__create_issue'])
    expect(log.of('evicted')).toMatchObject([
      { names: ['mcp__slack__upload_file', 'mcp__slack__send_message'] },
    ])
    expect((await ask(session, 'tool_search', { query: 'weather forecast' })).evicted).toEqual(
      expect.arrayContaining(['mcp__slack__upload_file', 'mcp__slack__send_message']),
    )
  })
})
