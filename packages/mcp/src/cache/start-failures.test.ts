import { mkdtemp, rm, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { Store } from '@toolcrib/core'
import { memoryStore, ToolRegistry } from '@toolcrib/core'
import { describe, expect, it, vi } from 'vitest'
import { connectServers } from '../connect-servers.ts'
import { storeWith, World } from '../server/fake-world.fixture.ts'
import { describeStartFailure, StartFailures } from './start-failures.ts'

const CONFIG = { servers: { a: { command: 'x' } } }
const FAILED = { server: 'a', state: 'failed' }

describe('a server that failed to start', () => {
  it('is not started by the next process for ten seconds, and twice as long each time, up to five minutes', async () => {
    let now = 0
    const store = memoryStore()
    const pauses: number[] = []
    for (let round = 0; round < 7; round++) {
      const failures = failuresIn(store, { now: () => now })
      failures.note({ reason: 'no such thing' })
      await failures.close()
      const { retryAt = 0, failures: count } = (await failures.recall()) ?? {}
      expect(count).toBe(round + 1)
      pauses.push((retryAt - now) / 1000)
      now = retryAt - 1
      expect(await failures.recall()).toBeDefined()
      now = retryAt
      expect(await failures.recall()).toBeUndefined()
    }
    expect(pauses).toEqual([10, 20, 40, 80, 160, 300, 300])
  })

  it('rests longer after it did not answer in time: from five minutes to six hours', async () => {
    let now = 0
    const store = memoryStore()
    const pauses: number[] = []
    for (let round = 0; round < 9; round++) {
      const failures = failuresIn(store, { now: () => now })
      failures.note({ reason: 'it did not connect within 30000 ms', how: 'hung' })
      await failures.close()
      const { retryAt = 0 } = (await failures.recall()) ?? {}
      pauses.push((retryAt - now) / 60_000)
      now = retryAt
    }
    expect(pauses).toEqual([5, 10, 20, 40, 80, 160, 320, 360, 360])
    const later = failuresIn(store, { now: () => now })
    later.note({ reason: 'it had not connected after 6 s, when it was closed', how: 'given-up' })
    await later.close()
    expect(await later.recall()).toMatchObject({
      reason: 'it did not connect within 30000 ms',
      retryAt: now + 6 * 60 * 60_000,
    })
    later.clear()
    later.note({ reason: 'no such thing' })
    await later.close()
    expect(await later.recall()).toMatchObject({ retryAt: now + 10_000 })
  })

  it('counts once in a process, however often it is tried there, until it starts', async () => {
    const store = memoryStore()
    const countAfter = async (failures: StartFailures, ...reasons: readonly string[]) => {
      for (const reason of reasons) failures.note({ reason })
      await failures.close()
      return failures.recall()
    }
    expect(await countAfter(failuresIn(store), 'one', 'two', 'three')).toMatchObject({
      failures: 1,
      reason: 'three',
      retryAt: 10_000,
    })
    const second = failuresIn(store)
    expect(await countAfter(second, 'four', 'five')).toMatchObject({ failures: 2, retryAt: 20_000 })
    second.clear()
    expect(await countAfter(second, 'six', 'seven')).toMatchObject({ failures: 1 })
  })

  it('counts once although it was retried in the background', async () => {
    const store = memoryStore()
    const world = new World({ failures: Number.POSITIVE_INFINITY })
    const servers = connect(world, store)
    await world.pass(3_000)
    await servers.close()
    expect(world.opened).toBe(5)
    expect((await connectAndWait(world, store)).failure('a')).toMatchObject({ failures: 1 })
  })

  it('is remembered with what it waits for', async () => {
    const store = memoryStore()
    const failures = failuresIn(store)
    failures.note({ reason: 'nobody has signed in yet', needs: 'sign-in' })
    await failures.close()
    expect(await failures.recall()).toMatchObject({ needs: 'sign-in' })
    failures.note({ reason: 'no response' })
    await failures.close()
    expect(await failures.recall()).not.toHaveProperty('needs')
  })

  it('is tried at once when its program was installed, replaced or removed since', async () => {
    const file = join(await mkdtemp(join(tmpdir(), 'toolcrib-program-')), 'program')
    let program: string | undefined
    const store = memoryStore()
    const failures = failuresIn(store, { findProgram: async () => program })
    const noted = async () => {
      failures.note({ reason: 'no such thing' })
      await failures.close()
    }
    await noted()
    expect(await failures.recall()).toMatchObject({ reason: 'no such thing' })
    await writeFile(file, '')
    program = file
    expect(await failures.recall()).toBeUndefined()
    await noted()
    expect(await failures.recall()).toBeDefined()
    await utimes(file, 1, 1)
    expect(await failures.recall()).toBeUndefined()
    await noted()
    program = undefined
    expect(await failures.recall()).toBeUndefined()
    await rm(dirname(file), { recursive: true })
  })

  it('is started at once when its command can be found on the PATH by now', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'toolcrib-path-'))
    const store = memoryStore()
    const world = new World({ failures: 1 })
    const options = { env: { PATH: folder } }
    expect(await statusOf(world, store, options)).toMatchObject(FAILED)
    expect(await statusOf(world, store, options)).toMatchObject(FAILED)
    expect(world.opened).toBe(1)
    await writeFile(join(folder, 'x'), '#!/bin/sh\n', { mode: 0o755 })
    expect(await statusOf(world, store, options)).toMatchObject({ state: 'ready' })
    await rm(folder, { recursive: true })
  })

  it('is not started by the next process, and started once its time has come', async () => {
    const store = memoryStore()
    const world = new World({ failures: 1 })
    expect(await statusOf(world, store)).toMatchObject({ ...FAILED, reason: 'no such thing' })
    await world.pass(9_999)
    expect(await startsIn(world, store)).toBe(0)
    await world.pass(1)
    expect(await startsIn(world, store)).toBe(1)
  })

  it('is reported with its reason and the time of the next attempt, without a wait', async () => {
    const store = memoryStore()
    const world = new World({})
    world.fail('no such thing')
    await statusOf(world, store)
    await world.pass(4_000)
    const servers = connect(world, store)
    const next = 'next attempt in 6 s, or now with "toolcrib doctor"'
    const reason = `no such thing (failed 4 s ago, so it was not started again; ${next})`
    expect(await servers.ready()).toEqual([{ ...FAILED, reason }])
    expect(servers.failure('a')).toEqual({
      reason: 'no such thing',
      failures: 1,
      failedAt: 1_000,
      retryAt: 11_000,
    })
    await servers.close()
    expect(world.opened).toBe(1)
  })

  it.each([
    [400, '1 s'],
    [99_400, '99 s'],
    [150_000, '3 min'],
    [2 * 60 * 60_000, '2 h'],
  ])('is reported with times that people read at a glance: %i ms as %s', (ms, shown) => {
    const failure = { reason: 'no', failures: 2, failedAt: 0, retryAt: 2 * ms }
    expect(describeStartFailure(failure, { now: ms, tryInMs: 2_000 })).toContain(
      `last ${shown} ago, so it was not started again; next attempt in 2 s, or now`,
    )
  })

  it('is reported with its reason first, and with when this process tries it', () => {
    const failure = { reason: 'no', failures: 1, failedAt: 0, retryAt: 20 * 60_000 }
    expect(describeStartFailure(failure, { now: 5_000, tryInMs: 30_000 })).toBe(
      'no (failed 5 s ago, so it was not started again; next attempt in 30 s, or now with "toolcrib doctor")',
    )
  })

  it.each([
    ['it did not connect within 11000 ms; check it', 'no answer within 11 s; check it'],
    ['no response to the greeting within 400 ms', 'no answer within 400 ms'],
    ['it had not connected after 14 s, when it was closed', 'no answer within 14 s'],
  ])('is not reported as if it hung now: %s', (reason, shown) => {
    const failure = { reason, failures: 1, failedAt: 0, retryAt: 2_000 }
    expect(describeStartFailure(failure, { now: 0, tryInMs: 2_000 })).toMatch(`${shown} (failed`)
  })

  it('is tried again in the background, and forgotten once it starts', async () => {
    const store = memoryStore()
    const world = new World({ failures: 1 })
    await statusOf(world, store)
    const servers = connect(world, store)
    expect(await servers.ready()).toMatchObject([FAILED])
    await world.pass(10_000)
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

  it('is reported with the new reason only, when it is needed and fails again', async () => {
    const store = memoryStore()
    const world = new World({ failures: Number.POSITIVE_INFINITY })
    await statusOf(world, store)
    const servers = await connectAndWait(world, store)
    await expect(servers.client('a')).rejects.toThrow(/^server "a" is disconnected: no such thing$/)
    await servers.close()
    expect((await connectAndWait(world, store)).failure('a')).toMatchObject({ failures: 2 })
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
      // Looking for the program takes a moment.
      await vi.waitFor(() => expect(next.failure('a')?.reason).toBe(reason))
      await next.close()
    }
  })

  it('is not waited for by any process after it hung, and tried in the background once its pause is over', async () => {
    const store = memoryStore()
    const world = new World({})
    world.isHanging = true
    const first = connect(world, store)
    await world.pass(10_000)
    await first.close()
    await world.pass(5 * 60_000)
    const servers = connect(world, store)
    const next = 'next attempt in 2 s, or now with "toolcrib doctor"'
    await vi.waitFor(() =>
      expect(servers.status()).toEqual([
        {
          ...FAILED,
          reason: `no answer within 10 s (failed 5 min ago, so it was not started again; ${next})`,
        },
      ]),
    )
    expect(world.opened).toBe(1)
    world.isHanging = false
    await world.pass(2_000)
    expect(servers.status()).toEqual([{ server: 'a', state: 'ready' }])
    await servers.close()
  })

  it('hangs when three processes in a row gave up waiting for it', async () => {
    let now = 0
    const store = memoryStore()
    for (const pause of [10_000, 20_000, 20 * 60_000]) {
      const failures = failuresIn(store, { now: () => now })
      failures.note({ reason: 'it had not connected after 5 s, when it was closed', how: 'given-up' })
      await failures.close()
      expect(await failures.recall()).toMatchObject({ retryAt: now + pause })
      now += pause
    }
    expect(await failuresIn(store, { now: () => now }).recall()).toBeDefined()
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

/** What one process remembers. */
function failuresIn(
  store: Store,
  options: { now?: () => number; findProgram?: () => Promise<string | undefined> } = {},
) {
  const { schedule } = new World({})
  return new StartFailures(store, 'a', {
    now: () => 0,
    schedule,
    findProgram: async () => undefined,
    ...options,
  })
}

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
