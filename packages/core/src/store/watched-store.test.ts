import { memoryStore, type Store, watchStore } from '@toolcrib/mcp/stores'
import { describe, expect, it, vi } from 'vitest'
import { ToolcribError } from '../index.ts'
import { storeContract } from '../testing.ts'
import type { Schedule } from '../time.ts'

describe('watchStore', () => {
  for (const { name, run } of storeContract(openEmpty)) it(name, run)

  it.each([{ patience: 1 }, { patienceMs: 0 }, { probeMs: 'x' }])('refuses the options %o', (options) => {
    expect(() => watchStore(memoryStore(), options as object)).toThrow(
      expect.objectContaining({ code: 'config-invalid' }),
    )
  })

  it('is degraded from the first failure until the store takes a write again, and then says so', async () => {
    const { store, fail, mend, pass } = openWatched()
    const onBack = vi.fn()
    store.onBack(onBack)
    expect(store.health()).toEqual({ state: 'ok' })
    fail(new ToolcribError('store-unavailable', 'it is read-only'), ['set', 'update'])
    await expect(store.set('a', 1)).rejects.toThrow('it is read-only')
    expect(store.health()).toMatchObject({ state: 'degraded', reason: 'it is read-only' })
    // Reading works all the while.
    expect(await store.get('a')).toBeUndefined()
    await pass(1_000)
    expect(store.health().state).toBe('degraded')
    mend()
    await pass(1_000)
    expect([store.health().state, onBack.mock.calls.length]).toEqual(['ok', 1])
    await store.set('a', 2)
    expect(await store.get('a')).toBe(2)
    expect(store.counts()).toContainEqual({ operation: 'set', outcome: 'failed', count: 1 })
  })

  it('waits for a store that hangs once, and asks it no more until it answers', async () => {
    const { store, hang, mend, pass, asked } = openWatched()
    hang()
    const first = expect(store.get('a')).rejects.toMatchObject({ code: 'store-unavailable' })
    await pass(5_000)
    await first
    const before = asked()
    await expect(store.get('a')).rejects.toMatchObject({ code: 'store-unavailable' })
    await expect(store.update('a', () => 1)).rejects.toMatchObject({ code: 'store-unavailable' })
    expect(asked()).toBe(before)
    expect(store.counts()).toEqual([
      { operation: 'get', outcome: 'timeout', count: 1 },
      { operation: 'get', outcome: 'skipped', count: 1 },
      { operation: 'update', outcome: 'skipped', count: 1 },
    ])
    await pass(1_000)
    await pass(5_000)
    mend()
    await pass(1_000)
    expect(store.health()).toEqual({ state: 'ok' })
    expect(await store.update('a', () => 1)).toBe(1)
  })

  it('asks a store no more that takes long to fail', async () => {
    const { store, failAfter, pass, asked } = openWatched()
    failAfter(2_000, new ToolcribError('store-unavailable', 'no connection'))
    const first = expect(store.get('a')).rejects.toThrow('no connection')
    await pass(2_000)
    await first
    const before = asked()
    await expect(store.get('a')).rejects.toThrow('no connection')
    expect(asked()).toBe(before)
  })

  it('asks it no more either after it took long to fail once again', async () => {
    const { store, failAfter, pass, asked } = openWatched()
    failAfter(2_000, new ToolcribError('store-unavailable', 'no connection'))
    const first = expect(store.get('a')).rejects.toThrow('no connection')
    await pass(2_000)
    await first
    await pass(1_000)
    await pass(2_000)
    const before = asked()
    await expect(store.get('a')).rejects.toThrow('no connection')
    expect(asked()).toBe(before)
  })

  it('does not count what a caller did wrong as a failure of the store', async () => {
    const { store } = openWatched()
    await expect(store.get('')).rejects.toMatchObject({ code: 'config-invalid' })
    const fault = new Error('mine')
    const failing = store.update('a', () => {
      throw fault
    })
    await expect(failing).rejects.toBe(fault)
    expect(store.health()).toEqual({ state: 'ok' })
  })

  it('leaves no timer behind when it is closed', async () => {
    const { store, fail, pending } = openWatched()
    fail(new ToolcribError('store-unavailable', 'away'), ['get'])
    await expect(store.get('a')).rejects.toThrow('away')
    expect(pending()).toBe(1)
    await store.close()
    expect(pending()).toBe(0)
  })
})

function openEmpty() {
  let now = 1_000
  const inner = memoryStore({ clock: () => now })
  return {
    store: watchStore(inner),
    passTime: (ms: number) => {
      now += ms
    },
  }
}

/** A store that fails or hangs as told, and time that passes when the test says so. */
function openWatched() {
  const inner = memoryStore()
  let asked = 0
  let behave: (method: string) => Promise<void> = async () => {}
  const broken = new Proxy(inner, {
    get: (target, method: keyof Store) =>
      method === 'close'
        ? () => target.close()
        : async (...args: [string, never]) => {
            asked++
            await behave(method)
            return target[method](...args)
          },
  })
  const timers = new Set<{ at: number; fire: () => void }>()
  let now = 0
  const schedule: Schedule = (delayMs, fire) => {
    const timer = { at: now + delayMs, fire }
    timers.add(timer)
    return () => void timers.delete(timer)
  }
  const settle = () => new Promise<void>((resolve) => setImmediate(resolve))
  return {
    store: watchStore(broken, { schedule, clock: () => now }),
    asked: () => asked,
    pending: () => timers.size,
    fail: (error: Error, methods: string[]) => {
      behave = async (method) => {
        if (methods.includes(method)) throw error
      }
    },
    failAfter: (ms: number, error: Error) => {
      behave = () =>
        new Promise((_resolve, reject) => {
          schedule(ms, () => reject(error))
        })
    },
    hang: () => {
      behave = () => new Promise(() => {})
    },
    mend: () => {
      behave = async () => {}
    },
    pass: async (ms: number) => {
      await settle()
      const end = now + ms
      for (;;) {
        const [next] = [...timers].filter(({ at }) => at <= end).sort((one, other) => one.at - other.at)
        if (!next) break
        now = Math.max(now, next.at)
        timers.delete(next)
        next.fire()
        await settle()
      }
      now = end
    },
  }
}
