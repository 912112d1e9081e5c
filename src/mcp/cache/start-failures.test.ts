import { describe, expect, it } from 'vitest'
import { memoryStore } from '../../store/memory-store.ts'
import type { Store } from '../../store/store.ts'
import { ToolRegistry } from '../../tool-registry.ts'
import { connectServers } from '../connect-servers.ts'
import { storeWith, World } from '../server/fake-world.fixture.ts'
import { StartFailures } from './start-failures.ts'

const CONFIG = { servers: { a: { command: 'x' } } }
const FAILED = { server: 'a', state: 'failed' }

describe('a server that failed to start', () => {
  it('is not started by the next process for half a minute, and twice as long each time, up to an hour', async () => {
    let now = 0
    const failures = new StartFailures(memoryStore(), 'a', {
      now: () => now,
      schedule: new World({}).schedule,
    })
    const pauses: number[] = []
    for (let round = 0; round < 9; round++) {
      failures.note('no such thing')
      await failures.close()
      const { retryAt = 0, failures: count } = (await failures.recall()) ?? {}
      expect(count).toBe(round + 1)
      pauses.push((retryAt - now) / 1000)
      now = retryAt - 1
      expect(await failures.recall()).toBeDefined()
      now = retryAt
      expect(await failures.recall()).toBeUndefined()
    }
    expect(pauses).toEqual([30, 60, 120, 240, 480, 960, 1920, 3600, 3600])
  })

  it('is not started by the next process, and started once its time has come', async () => {
    const store = memoryStore()
    const world = new World({ failures: 1 })
    expect(await statusOf(world, store)).toMatchObject({ ...FAILED, reason: 'no such thing' })
    await world.pass(29_999)
    expect(await startsIn(world, store)).toBe(0)
    await world.pass(1)
    expect(await startsIn(world, store)).toBe(1)
  })

  it('is reported with its reason and the time of the next attempt, without a wait', async () => {
    const store = memoryStore()
    const world = new World({})
    world.fail('no such thing')
    await statusOf(world, store)
    await world.pass(10_000)
    const servers = connect(world, store)
    const reason = 'no such thing (failed 10 s ago, so it was not started again; next attempt in 20 s)'
    expect(await servers.ready()).toEqual([{ ...FAILED, reason }])
    expect(servers.failure('a')).toEqual({
      reason: 'no such thing',
      failures: 1,
      failedAt: 1_000,
      retryAt: 31_000,
    })
    await servers.close()
    expect(world.opened).toBe(1)
  })

  it('is tried again in the background, and forgotten once it starts', async () => {
    const store = memoryStore()
    const world = new World({ failures: 1 })
    await statusOf(world, store)
    const servers = connect(world, store)
    expect(await servers.ready()).toMatchObject([FAILED])
    await world.pass(30_000)
    expect(servers.status()).toEqual([{ server: 'a', state: 'ready' }])
    expect(servers.failure('a')).toBeUndefined()
    await servers.close()
    world.fail('again')
    // Its tools are known by now, but not to this process.
    expect(await statusOf(world, store, { remembered: false })).toMatchObject({ reason: 'again' })
    expect((await connectAndWait(world, store)).failure('a')).toBeUndefined()
  })

  it('is started all the same when it is needed, or when nothing remembered may be used', async () => {
    const store = memoryStore()
    const world = new World({ failures: 1 })
    await statusOf(world, store)
    const servers = await connectAndWait(world, store)
    expect(servers.status()).toMatchObject([FAILED])
    await servers.request('a', { method: 'tools/list' })
    expect(servers.status()).toEqual([{ server: 'a', state: 'ready' }])
    await servers.close()
    const other = new World({ failures: 1 })
    const empty = memoryStore()
    await statusOf(other, empty)
    expect(await statusOf(other, empty, { remembered: false })).toMatchObject({ state: 'ready' })
  })

  it('is started at once when its config changes', async () => {
    const store = memoryStore()
    const world = new World({ failures: 1 })
    await statusOf(world, store)
    const changed = { servers: { a: { command: 'y' } } }
    const servers = connectServers(new ToolRegistry(), changed, { ...world.options, store })
    expect(await servers.ready()).toMatchObject([{ state: 'ready' }])
  })

  it('counts as failed when it had not connected after two seconds, but not before', async () => {
    const store = memoryStore()
    const world = new World({})
    world.isHanging = true
    for (const [waitMs, reason] of [
      [1_999, undefined],
      [2_000, 'it had not connected after 2 s, when it was closed'],
    ] as const) {
      const servers = connect(world, store)
      await world.pass(waitMs)
      expect(servers.status()).toMatchObject([{ state: 'connecting' }])
      await servers.close()
      const next = connect(world, store)
      await world.settle()
      expect(next.failure('a')?.reason).toBe(reason)
      await next.close()
    }
  })

  it('that was stopped by the host did not fail', async () => {
    const store = memoryStore()
    const servers = await connectAndWait(new World({}), store)
    await servers.close()
    expect((await connectAndWait(new World({}), store)).failure('a')).toBeUndefined()
  })

  it.each([
    ['hangs', () => new Promise<never>(() => {})],
    ['fails', () => Promise.reject(new Error('disk full'))],
  ])('is started when the store %s', async (_what, fail) => {
    const world = new World({})
    const store = storeWith(memoryStore(), { get: fail, update: fail, delete: fail })
    const servers = connect(world, store)
    await world.pass(2_000)
    expect(servers.status()).toEqual([{ server: 'a', state: 'ready' }])
    const closed = servers.close()
    await world.pass(1_000)
    await closed
  })
})

function connect(world: World, store: Store, options: object = {}) {
  return connectServers(new ToolRegistry(), CONFIG, { ...world.options, store, ...options })
}

async function connectAndWait(world: World, store: Store) {
  const servers = connect(world, store)
  await servers.ready()
  return servers
}

async function statusOf(world: World, store: Store, options: object = {}) {
  const servers = connect(world, store, options)
  const [status] = await servers.ready()
  await servers.close()
  return status
}

/** How often a process that comes now starts the server. */
async function startsIn(world: World, store: Store) {
  const before = world.opened
  await statusOf(world, store)
  return world.opened - before
}
