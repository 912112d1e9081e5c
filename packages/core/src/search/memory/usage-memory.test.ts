import { fileStore } from '@toolcrib/mcp/stores'
import fc from 'fast-check'
import { describe, expect, it, vi } from 'vitest'
import { memoryStore } from '../../store/memory-store.ts'
import { EPISODES_PER_TOOL, type Episode, LIFT_SHARES, learned, MAX_LIFT } from './episodes.ts'
import { usageMemory } from './usage-memory.ts'

const DAY_MS = 86_400_000

/** A vector that points mainly along one axis. */
function along(axis: number, slant = 0): Float32Array {
  const vector = new Float32Array(8)
  vector[axis] = 1
  vector[(axis + 1) % 8] = slant
  return vector
}

function open(options: { maxEpisodes?: number; keepText?: boolean } = {}) {
  const world = { now: 1_000_000 }
  const store = memoryStore({ clock: () => world.now })
  const memory = usageMemory({ store, clock: () => world.now, ...options })
  const here = memory.under('policy')
  const learn = (tool: string, vector: Float32Array, more: object = {}) =>
    here.learn({ tool, source: 'mcp:one', vector, ...more })
  const liftOf = async (tool: string, vector: Float32Array) =>
    (await here.lifts(vector)).find(({ id }) => id === tool)?.lift ?? 0
  return { world, store, memory, here, learn, liftOf }
}

describe('usageMemory', () => {
  it('lifts a tool for requests like those it served, and no others', async () => {
    const { learn, liftOf } = open()
    await learn('send', along(0))
    expect(await liftOf('send', along(0, 0.5))).toBeGreaterThan(0.05)
    expect(await liftOf('send', along(3))).toBe(0)
    expect(await liftOf('other', along(0))).toBe(0)
  })

  it('lifts the tool of the most similar request most, two others less, and no more', async () => {
    const { here, learn, liftOf } = open()
    const slants = { first: 0.3, second: 0.5, third: 0.7, fourth: 0.9 }
    const alone: number[] = []
    for (const [tool, slant] of Object.entries(slants)) {
      const other = open()
      await other.learn(tool, along(0, slant))
      alone.push(await other.liftOf(tool, along(0)))
      await learn(tool, along(0, slant))
    }
    const [first = 0, second = 0, third = 0] = alone
    expect(await here.lifts(along(0))).toEqual([
      { id: 'first', lift: first },
      { id: 'second', lift: second / 2 },
      { id: 'third', lift: third / 4 },
    ])
    expect(await liftOf('fourth', along(0))).toBe(0)
  })

  it('lifts a popular tool by no more than the limit, however often it served the request', async () => {
    const { learn, liftOf } = open()
    for (let time = 0; time < 50; time++) await learn('popular', along(0))
    const lift = await liftOf('popular', along(0))
    expect(lift).toBeLessThanOrEqual(MAX_LIFT)
    await learn('popular', along(0))
    expect(await liftOf('popular', along(0))).toBeCloseTo(lift, 6)
  })

  it('takes a half-life of months', () => {
    expect(usageMemory({ store: memoryStore(), halfLifeMs: 90 * DAY_MS }).owner).toBe('user')
  })

  it('fades, and is forgotten in the end', async () => {
    const { world, learn, liftOf, memory } = open()
    await learn('send', along(0))
    const fresh = await liftOf('send', along(0))
    world.now += 30 * DAY_MS
    const later = await liftOf('send', along(0))
    expect(later).toBeGreaterThan(0)
    expect(later).toBeLessThan(0.7 * fresh)
    world.now += 120 * DAY_MS
    expect(await memory.episodes()).toEqual([])
  })

  it('keeps when a tool last served a request, whatever is learned later', async () => {
    const { world, learn, memory } = open()
    const first = world.now
    await learn('send', along(0))
    world.now += DAY_MS
    await learn('read', along(3), { passedOver: ['send'] })
    const later = world.now
    world.now += DAY_MS
    const lastAt = (await memory.episodes()).map((episode) => [episode.tool, episode.lastAt])
    expect(Object.fromEntries(lastAt)).toEqual({ send: first, read: later })
    await learn('send', along(0))
    expect(await memory.episodes()).toContainEqual(
      expect.objectContaining({ tool: 'send', lastAt: world.now, count: 2 }),
    )
  })

  it('reads what was kept without that time', async () => {
    const { store, learn, memory, world } = open()
    await learn('send', along(0))
    const [{ lastAt: _, ...old } = {}] = await memory.episodes()
    await store.set('usage:user', { version: 1, episodes: [old as never] })
    expect(await memory.episodes()).toMatchObject([{ tool: 'send', lastAt: world.now }])
  })

  it('does not let one success stick: it is weakened whenever its tool is shown first and another is used', async () => {
    const { learn, liftOf } = open()
    await learn('poison', along(0))
    const before = await liftOf('poison', along(0))
    for (let time = 0; time < 4; time++) await learn('right', along(0), { passedOver: ['poison'] })
    expect(await liftOf('poison', along(0))).toBeLessThan(before / 3)
    expect(await liftOf('right', along(0))).toBeGreaterThan(await liftOf('poison', along(0)))
  })

  it('weakens nothing that served other requests', async () => {
    const { learn, liftOf } = open()
    await learn('send', along(4))
    const before = await liftOf('send', along(4))
    await learn('right', along(0), { passedOver: ['send'] })
    expect(await liftOf('send', along(4))).toBeCloseTo(before, 6)
  })

  it('strengthens an episode that repeats instead of adding one', async () => {
    const { learn, memory, liftOf } = open()
    await learn('send', along(0))
    const once = await liftOf('send', along(0))
    await learn('send', along(0, 0.1))
    expect(await memory.episodes()).toMatchObject([{ tool: 'send', count: 2 }])
    expect(await liftOf('send', along(0))).toBeGreaterThan(once)
  })

  it('keeps policies and owners apart', async () => {
    const { memory, learn } = open()
    await learn('send', along(0))
    expect(await memory.under('another policy').lifts(along(0))).toEqual([])
    expect(await memory.of('someone else').under('policy').lifts(along(0))).toEqual([])
    expect(await memory.of('someone else').episodes()).toEqual([])
  })

  it('lists the owners below one, so that what they taught can be found and forgotten', async () => {
    const { world, store, memory } = open()
    const teach = (owner: string) =>
      memory
        .of(owner)
        .under('policy')
        .learn({ tool: 'send', source: 'mcp:one', vector: along(0) })
    for (const owner of ['user/ada', 'user/bob', 'team', 'user/ada']) await teach(owner)
    const elsewhere = usageMemory({ store, clock: () => world.now })
    const sibling = memory.of('user/ada').of('other').under('policy')
    await sibling.learn({ tool: 'send', source: 'mcp:one', vector: along(0) })
    expect(await elsewhere.owners()).toEqual(['user/ada', 'user/bob'])
    expect(await elsewhere.of('team').owners()).toEqual([])
    world.now += 170 * DAY_MS
    await teach('user/bob')
    world.now += 20 * DAY_MS
    await teach('user/eve')
    expect(await elsewhere.owners()).toEqual(['user/bob', 'user/eve'])
  })

  it('reads again what was released because other owners were used', async () => {
    const { store, memory: own } = open()
    const reads = vi.spyOn(store, 'get')
    const elsewhere = usageMemory({ store, clock: () => 1_000_000 })
      .of('idle')
      .under('policy')
    await elsewhere.learn({ tool: 'send', source: 'mcp:one', vector: along(0) })
    const [kept, idle] = ['kept', 'idle'].map((owner) => own.of(owner).under('policy'))
    await idle?.lifts(along(0))
    for (let other = 0; other < 1_000; other++) {
      await kept?.lifts(along(0))
      own.of(`other ${other}`)
    }
    expect(reads).toHaveBeenCalledTimes(2)
    expect(await idle?.lifts(along(0))).toMatchObject([{ id: 'send' }])
    expect(reads).toHaveBeenCalledTimes(3)
  })

  it('keeps no text unless it was asked to', async () => {
    const silent = open()
    await silent.learn('send', along(0), { text: 'write to my doctor' })
    expect(JSON.stringify(await silent.store.get('usage:user'))).not.toContain('doctor')
    const open_ = open({ keepText: true })
    await open_.learn('send', along(0), { text: 'write to my doctor' })
    expect(await open_.memory.episodes()).toMatchObject([{ text: 'write to my doctor' }])
  })

  it('forgets a tool, a server, or everything', async () => {
    const { memory, here, learn } = open()
    await learn('send', along(0))
    await learn('read', along(1))
    await here.learn({ tool: 'mcp__two__x', source: 'mcp:two', vector: along(2) })
    expect(await memory.forget({ tool: 'send' })).toBe(1)
    expect(await memory.forget({ server: 'two' })).toBe(1)
    expect(await memory.episodes()).toMatchObject([{ tool: 'read' }])
    expect(await memory.forget({ all: true })).toBe(1)
    expect(await here.lifts(along(1))).toEqual([])
  })

  it.each<[string, unknown]>([
    ['a misspelt key', { tol: 'send' }],
    ['no key', {}],
    ['an absent value', { tool: undefined }],
    ['nothing', undefined],
    ['everything and a tool', { all: true, tool: 'send' }],
    ['everything, but not', { all: false }],
    ['a list', { tool: ['send'] }],
  ])('forgets nothing for %s', async (_, what) => {
    const { memory, learn } = open()
    await learn('send', along(0))
    await expect(memory.forget(what as never)).rejects.toMatchObject({ code: 'config-invalid' })
    expect(await memory.episodes()).toHaveLength(1)
  })

  it('goes on with what it knows while the store fails, and rejects once', async () => {
    const { world, store, memory, here, learn, liftOf } = open()
    await learn('send', along(0))
    await store.close()
    world.now += 11_000
    await expect(here.lifts(along(0))).rejects.toMatchObject({ code: 'store-unavailable' })
    expect(await liftOf('send', along(0))).toBeGreaterThan(0)
    await expect(memory.episodes()).rejects.toMatchObject({ code: 'store-unavailable' })
  })

  it('reads what another process learned, and loses no concurrent success', async () => {
    const { world, store, memory, liftOf } = open()
    expect(await liftOf('tool7', along(7))).toBe(0)
    const others = Array.from({ length: 8 }, (_, axis) =>
      usageMemory({ store, clock: () => world.now })
        .under('policy')
        .learn({ tool: `tool${axis}`, source: 'builtin', vector: along(axis) }),
    )
    await Promise.all(others)
    world.now += 10_000
    expect(await liftOf('tool7', along(7))).toBeGreaterThan(0)
    expect(await memory.episodes()).toHaveLength(8)
  })

  it('ignores what a store returns that is not an episode', async () => {
    const { store, here, memory } = open()
    await store.set('usage:user', { episodes: [null, 7, { tool: 'x' }, { tool: 'x', vector: 3 }] })
    expect(await here.lifts(along(0))).toEqual([])
    expect(await memory.episodes()).toEqual([])
  })

  it.each([
    [{}, /store/],
    [{ store: memoryStore(), owner: '' }, /owner/],
    [{ store: memoryStore(), halfLife: 3 }, /halfLifeMs/],
    [{ store: memoryStore(), maxEpisodes: 0 }, /maxEpisodes/],
  ])('refuses the options %#', (options, message) => {
    expect(() => usageMemory(options as never)).toThrow(message)
  })
})

const lesson = fc.record({
  tool: fc.integer({ min: 0, max: 11 }),
  axis: fc.integer({ min: 0, max: 7 }),
  slant: fc.double({ min: 0, max: 2, noNaN: true }),
  passedOver: fc.array(fc.integer({ min: 0, max: 11 }), { maxLength: 3 }),
  wait: fc.integer({ min: 0, max: 60 * DAY_MS }),
})

describe('whatever is learned', () => {
  const limits = { maxEpisodes: 20, halfLifeMs: 30 * DAY_MS }

  it('stays within the caps, fades, and lifts within bounds', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(lesson, { maxLength: 60 }), async (lessons) => {
        let now = 0
        let episodes: readonly Episode[] = []
        for (const { tool, axis, slant, passedOver, wait } of lessons) {
          now += wait
          const before = new Map(episodes.map((episode) => [episode.vector + episode.tool, episode]))
          const name = `t${tool}`
          episodes = learned(
            episodes,
            {
              tool: name,
              source: `mcp:s${tool % 3}`,
              context: 'c',
              vector: along(axis, slant),
              passedOver: passedOver.map((other) => `t${other}`),
            },
            limits,
            now,
          )
          expect(episodes.length).toBeLessThanOrEqual(limits.maxEpisodes)
          // The newest success is always remembered.
          expect(episodes.at(-1)).toMatchObject({ tool: name, at: now })
          const counts = new Map<string, number>()
          for (const episode of episodes) {
            counts.set(episode.tool, (counts.get(episode.tool) ?? 0) + 1)
            expect(episode.weight).toBeGreaterThanOrEqual(0.1)
            expect(episode.weight).toBeLessThanOrEqual(4)
            // Only the tool that succeeded gains weight.
            const known = before.get(episode.vector + episode.tool)
            if (known && episode.tool !== name)
              expect(episode.weight).toBeLessThanOrEqual(known.weight + 1e-9)
          }
          expect(Math.max(...counts.values())).toBeLessThanOrEqual(EPISODES_PER_TOOL)
        }
        const store = memoryStore()
        await store.set('usage:user', { version: 1, episodes: episodes.map((episode) => ({ ...episode })) })
        const lifts = await usageMemory({ store, clock: () => now })
          .under('c')
          .lifts(along(0))
        expect(lifts.length).toBeLessThanOrEqual(LIFT_SHARES.length)
        for (const [at, { lift }] of lifts.entries())
          expect(lift).toBeLessThanOrEqual(MAX_LIFT * (LIFT_SHARES[at] as number))
      }),
      { numRuns: 60 },
    )
  })

  it('of one source never pushes out the last episode of another', () => {
    let episodes = learned(
      [],
      { tool: 'rare', source: 'mcp:small', context: 'c', vector: along(0) },
      limits,
      0,
    )
    for (let at = 0; at < 200; at++) {
      const flood = { tool: `f${at}`, source: 'mcp:flood', context: 'c', vector: along(at % 8, at) }
      episodes = learned(episodes, flood, limits, at)
    }
    expect(episodes).toHaveLength(limits.maxEpisodes)
    expect(episodes.some(({ tool }) => tool === 'rare')).toBe(true)
  })
})

describe('usageMemory in files', () => {
  it('survives the process', async ({ onTestFinished }) => {
    const { mkdtemp, rm } = await import('node:fs/promises')
    const directory = await mkdtemp('/tmp/toolcrib-memory-')
    onTestFinished(() => rm(directory, { recursive: true }))
    const first = fileStore({ directory })
    await usageMemory({ store: first })
      .under('c')
      .learn({ tool: 'send', source: 'builtin', vector: along(0) })
    await first.close()
    const second = fileStore({ directory })
    const lifts = await usageMemory({ store: second }).under('c').lifts(along(0))
    await second.close()
    expect(lifts).toMatchObject([{ id: 'send' }])
  })
})
