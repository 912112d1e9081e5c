import { memoryStore, type Store } from '@toolcrib/mcp/stores'
import { describe, expect, it } from 'vitest'
import { ClientLoad } from './load-limits.ts'
import { SharedLoad } from './shared-load.ts'

describe('limits across replicas', () => {
  it('count the calls that a client has under way elsewhere', async () => {
    const { first, second, pass } = openReplicas({ maxCallsPerClient: 4, callsPerMinute: 0 })
    const ends = [first.begin('ada'), first.begin('ada'), first.begin('ada')]
    second.begin('ada')
    expect(second.isFull('ada')).toBe(false)
    await pass()
    await pass()
    expect([first.isFull('ada'), second.isFull('ada'), second.isFull('bob')]).toEqual([true, true, false])
    for (const end of ends) end()
    await pass()
    await pass()
    expect(second.isFull('ada')).toBe(false)
  })

  it('count the calls that a client starts elsewhere', async () => {
    const { first, second, pass } = openReplicas({ maxCallsPerClient: 0, callsPerMinute: 60 })
    for (let call = 0; call < 40; call++) first.begin('ada')()
    second.begin('ada')()
    await pass()
    second.begin('ada')()
    await pass()
    const started = () => {
      for (let calls = 0; ; calls++)
        try {
          second.begin('ada')()
        } catch {
          return calls
        }
    }
    expect(started()).toBeLessThan(30)
  })

  it('go on alone while the store fails', async () => {
    const store = memoryStore()
    await store.close()
    const { first, pass } = openReplicas({ maxCallsPerClient: 4, callsPerMinute: 0 }, store)
    first.begin('ada')
    await pass()
    expect(first.isFull('ada')).toBe(false)
  })

  it('write nothing for clients that use little of them', async () => {
    let updates = 0
    const inner = memoryStore()
    const store: Store = new Proxy(inner, {
      get: (target, name) => {
        if (name === 'update') updates++
        const member: unknown = Reflect.get(target, name)
        return typeof member === 'function' ? member.bind(target) : member
      },
    })
    const { first, pass } = openReplicas({ maxCallsPerClient: 1_000, callsPerMinute: 0 }, store)
    first.begin('ada')
    await pass()
    expect(updates).toBe(0)
  })
})

function openReplicas(
  limits: { maxCallsPerClient: number; callsPerMinute: number },
  store: Store = memoryStore(),
) {
  let now = 0
  const timers = new Set<() => void>()
  const schedule = (_delayMs: number, fire: () => void) => {
    timers.add(fire)
    return () => void timers.delete(fire)
  }
  const open = () => {
    const load = new ClientLoad(limits, () => now)
    new SharedLoad(load, store, { limits, now: () => now, schedule })
    return load
  }
  const pass = async () => {
    now += 2_000
    const due = [...timers]
    timers.clear()
    for (const fire of due) fire()
    await new Promise((resolve) => setImmediate(resolve))
  }
  return { first: open(), second: open(), pass }
}
