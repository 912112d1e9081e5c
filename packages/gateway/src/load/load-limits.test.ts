import { describe, expect, it } from 'vitest'
import { ClientLoad, ServerLoad } from './load-limits.ts'

const never = new AbortController().signal
const ada = { principal: 'ada', signal: never }
const bob = { principal: 'bob', signal: never }

describe('the load of clients', () => {
  it('turns away a client with too many calls under way, and no other', () => {
    const load = new ClientLoad({ maxCallsPerClient: 2, callsPerMinute: 0 }, () => 0)
    const end = load.begin('ada')
    load.begin('ada')
    expect(load.isFull('ada')).toBe(true)
    expect(() => load.begin('ada')).toThrow('too many calls are in flight')
    load.begin('bob')
    end()
    load.begin('ada')
    expect(load.total).toBe(3)
  })

  it('turns away a client that starts calls too fast, with the time until the next may start', () => {
    let now = 0
    const load = new ClientLoad({ maxCallsPerClient: 0, callsPerMinute: 2 }, () => now)
    load.begin('ada')()
    load.begin('ada')()
    expect(() => load.begin('ada')).toThrow(
      expect.objectContaining({ code: -32_000, data: { retryAfterMs: 30_000 } }),
    )
    now += 29_999
    expect(() => load.begin('ada')).toThrow()
    now += 1
    load.begin('ada')()
  })

  it('is idle once the last call has ended', async () => {
    const load = new ClientLoad({ maxCallsPerClient: 0, callsPerMinute: 0 }, () => 0)
    await load.idle()
    const end = load.begin('ada')
    let isIdle = false
    const idle = load.idle().then(() => {
      isIdle = true
    })
    await Promise.resolve()
    expect(isIdle).toBe(false)
    end()
    await idle
    expect(isIdle).toBe(true)
  })
})

describe('the load of servers', () => {
  it('lets calls wait for their turn in order, and turns away what does not fit', async () => {
    const load = new ServerLoad({ maxCallsPerServer: 1, maxQueuedPerServer: 2 })
    const leave = await load.enter('github', ada)
    const order: string[] = []
    const first = load.enter('github', ada).then((end) => {
      order.push('first')
      return end
    })
    const second = load.enter('github', ada).then((end) => {
      order.push('second')
      return end
    })
    await expect(load.enter('github', ada)).rejects.toMatchObject({ code: -32_000 })
    ;(await load.enter('slack', ada))()
    leave()
    ;(await first)()
    ;(await second)()
    expect(order).toEqual(['first', 'second'])
    ;(await load.enter('github', ada))()
  })

  it('forgets a call that is cancelled while it waits', async () => {
    const load = new ServerLoad({ maxCallsPerServer: 1, maxQueuedPerServer: 1 })
    const leave = await load.enter('github', ada)
    const abort = new AbortController()
    const waiting = load.enter('github', { ...ada, signal: abort.signal })
    const reason = new Error('enough')
    abort.abort(reason)
    await expect(waiting).rejects.toBe(reason)
    const next = load.enter('github', ada)
    leave()
    ;(await next)()
  })

  it('lets the client with the fewest calls in flight go first', async () => {
    const load = new ServerLoad({ maxCallsPerServer: 2, maxQueuedPerServer: 9 })
    const leave = await load.enter('github', ada)
    await load.enter('github', ada)
    const order: string[] = []
    const waiting = [ada, ada, bob].map((caller) =>
      load.enter('github', caller).then((end) => {
        order.push(caller.principal)
        return end
      }),
    )
    leave()
    ;(await waiting[2])?.()
    ;(await waiting[0])?.()
    ;(await waiting[1])?.()
    expect(order).toEqual(['bob', 'ada', 'ada'])
  })

  it('turns away a call of the client that waits with the most, not of the next one', async () => {
    const load = new ServerLoad({ maxCallsPerServer: 1, maxQueuedPerServer: 2 })
    const leave = await load.enter('github', ada)
    const first = load.enter('github', ada)
    const second = load.enter('github', ada)
    const other = load.enter('github', bob)
    await expect(second).rejects.toMatchObject({ code: -32_000, data: { retryAfterMs: 1_000 } })
    await expect(load.enter('github', bob)).rejects.toMatchObject({ code: -32_000 })
    leave()
    ;(await first)()
    ;(await other)()
  })
})
