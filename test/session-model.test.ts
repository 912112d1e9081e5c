import fc from 'fast-check'
import { type Session, ToolRegistry } from 'toolcrib'
import { memoryStore, type Store } from 'toolcrib/stores'
import { describe, expect, it } from 'vitest'
import { call, shown, tool } from './helpers.ts'

const NAMES = Array.from({ length: 7 }, (_, index) => `mcp__s__t${index}`)

/** A session as lists of names, written the slow and plain way. */
class Model {
  readonly cap: number
  /** In the order they were activated. */
  order: string[] = []
  /** The least recently used first. */
  recent: string[] = []
  kept = new Set<string>()

  constructor(cap: number) {
    this.cap = cap
  }

  activate(names: readonly string[]): { activated: string[]; evicted: string[] } {
    const members: string[] = []
    let places = 0
    for (const name of new Set(names)) {
      if (!this.kept.has(name) && ++places > this.cap && this.cap > 0) break
      members.push(name)
    }
    this.#use([...members].reverse())
    this.order.push(...members.filter((name) => !this.order.includes(name)))
    const evicted: string[] = []
    const counted = () => this.order.filter((name) => !this.kept.has(name)).length
    while (this.cap > 0 && counted() > this.cap) {
      const oldest = this.recent.find((name) => !members.includes(name) && !this.kept.has(name))
      if (oldest === undefined) break
      evicted.push(oldest)
      this.#remove(oldest)
    }
    return { activated: names.filter((name) => members.includes(name)), evicted }
  }

  call(name: string): void {
    if (this.order.includes(name)) this.#use([name])
    else this.activate([name])
  }

  preload(names: readonly string[]): void {
    for (const name of names) {
      this.kept.add(name)
      if (!this.order.includes(name)) this.order.push(name)
    }
    this.#use(names)
  }

  deactivate(names: readonly string[]): string[] {
    const gone = names.filter((name) => this.order.includes(name))
    for (const name of names) {
      this.#remove(name)
      this.kept.delete(name)
    }
    return gone
  }

  #use(names: readonly string[]): void {
    this.recent = [...this.recent.filter((name) => !names.includes(name)), ...names]
  }

  #remove(name: string): void {
    this.order = this.order.filter((other) => other !== name)
    this.recent = this.recent.filter((other) => other !== name)
  }
}

class Real {
  session: Session
  readonly registry: ToolRegistry
  readonly store: Store

  constructor(session: Session, registry: ToolRegistry, store: Store) {
    this.session = session
    this.registry = registry
    this.store = store
  }
}

function compare(model: Model, { session }: Real): void {
  const { activations } = session.toJSON()
  expect(activations.map(({ name }) => name)).toEqual(model.order)
  expect(activations.filter(({ isKept }) => isKept).map(({ name }) => name)).toEqual(
    model.order.filter((name) => model.kept.has(name)),
  )
  expect([...activations].sort((a, b) => a.lastUse - b.lastUse).map(({ name }) => name)).toEqual(model.recent)
  expect(shown(session)).toEqual(['tool_search', ...model.order])
  const { loaded, deferred } = session.stats()
  expect([loaded, deferred]).toEqual([model.order.length, NAMES.length - model.order.length])
  for (const name of NAMES) expect(session.isActive(name)).toBe(model.order.includes(name))
  expect(session.deferred().map(({ name }) => name)).toEqual(
    NAMES.filter((name) => !model.order.includes(name)),
  )
}

type Command = fc.AsyncCommand<Model, Real>
const command = (text: string, run: (model: Model, real: Real) => Promise<void>): Command => ({
  check: () => true,
  async run(model, real) {
    await run(model, real)
    compare(model, real)
  },
  toString: () => text,
})

const name = fc.constantFrom(...NAMES)
const names = fc.uniqueArray(name, { minLength: 1, maxLength: 5 })
const commands = [
  names.map((given) =>
    command(`activate(${given.join(', ')})`, async (model, { session }) => {
      const { activated, evicted, missing } = await session.activate(given)
      expect({ activated, evicted }).toEqual(model.activate(given))
      expect(missing).toEqual([])
    }),
  ),
  names.map((given) =>
    command(`deactivate(${given.join(', ')})`, async (model, { session }) => {
      expect(await session.deactivate(given)).toEqual(model.deactivate(given))
    }),
  ),
  fc.uniqueArray(name, { minLength: 1, maxLength: 2 }).map((given) =>
    command(`preload(${given.join(', ')})`, async (model, { session }) => {
      expect(await session.preload(given)).toEqual({ activated: given, evicted: [], missing: [] })
      model.preload(given)
    }),
  ),
  name.map((given) =>
    command(`call(${given})`, async (model, { session }) => {
      expect(await call(session, given)).toMatchObject({ ok: true })
      model.call(given)
    }),
  ),
  fc.constant(
    command('restore from JSON', async (_, real) => {
      const { id, settings } = real.session
      const state = JSON.parse(JSON.stringify(real.session))
      const { maxActive } = settings
      await real.session.close()
      real.session = await real.registry.openSession({ state, maxActive, store: real.store })
      expect(real.session.id).toBe(id)
    }),
  ),
  fc.constant(
    command('restore from the store', async (_, real) => {
      const { maxActive } = real.session.settings
      await real.session.close()
      real.session = await real.registry.openSession({ id: real.session.id, store: real.store, maxActive })
    }),
  ),
  fc.constant(
    command('fork, and use the child', async (_, { session }) => {
      const child = session.fork()
      await child.activate(NAMES.slice(0, 3))
      await child.deactivate(NAMES)
    }),
  ),
]

async function open(maxActive: number): Promise<{ model: Model; real: Real }> {
  const registry = new ToolRegistry({ mode: 'lazy' })
  registry.syncMcp(
    's',
    NAMES.map((full) => tool(full.slice('mcp__s__'.length))),
  )
  const store = memoryStore()
  const session = await registry.openSession({ id: 'chat', store, maxActive })
  return { model: new Model(maxActive), real: new Real(session, registry, store) }
}

describe('any sequence of changes to a session, with restarts between them', () => {
  it('leaves what plain lists would hold, in their order and in the order of use', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.commands(commands, { maxCommands: 20 }),
        fc.integer({ min: 0, max: 4 }),
        async (given, maxActive) => {
          const opened = await open(maxActive)
          await fc.asyncModelRun(() => opened, given)
        },
      ),
      { numRuns: 120 },
    )
  })
})

describe('after a restart', () => {
  it('the least recently used still goes first', async () => {
    const { real } = await open(3)
    const { session, registry, store } = real
    await session.activate([NAMES[0] ?? ''])
    await session.activate([NAMES[1] ?? ''])
    await session.activate([NAMES[2] ?? ''])
    await call(session, NAMES[0] ?? '')
    await session.close()
    for (const restored of [
      await registry.openSession({ state: JSON.parse(JSON.stringify(session)), maxActive: 3 }),
      await registry.openSession({ id: 'chat', store, maxActive: 3 }),
    ]) {
      expect((await restored.activate([NAMES[5] ?? ''])).evicted).toEqual([NAMES[1]])
      expect((await restored.activate([NAMES[6] ?? ''])).evicted).toEqual([NAMES[2]])
      expect((await restored.activate([NAMES[3] ?? ''])).evicted).toEqual([NAMES[0]])
    }
  })
})

describe('a session that is opened from a state with a store', () => {
  it('goes by the state, not by what the store has', async () => {
    const { real } = await open(0)
    const { session, registry, store } = real
    await session.activate([NAMES[0] ?? ''])
    const state = session.toJSON()
    await session.activate([NAMES[1] ?? ''])
    await session.close()
    const restored = await registry.openSession({ state, store })
    await restored.activate([NAMES[2] ?? ''])
    expect(shown(restored)).toEqual(['tool_search', NAMES[0], NAMES[2]])
    expect(shown(await registry.openSession({ id: 'chat', store }))).toEqual(shown(restored))
  })

  it('is in the store once it is closed', async () => {
    const { real } = await open(0)
    await real.session.activate([NAMES[0] ?? ''])
    const store = memoryStore()
    const restored = await real.registry.openSession({ state: real.session.toJSON(), store })
    await restored.close()
    expect(shown(await real.registry.openSession({ id: 'chat', store }))).toEqual(['tool_search', NAMES[0]])
  })
})

describe('a session that is opened with a smaller cap', () => {
  it('stays within it, whatever the store has', async () => {
    const { real } = await open(3)
    const { session, registry, store } = real
    await session.activate(NAMES.slice(0, 3))
    await session.close()
    const smaller = await registry.openSession({ id: 'chat', store, maxActive: 1 })
    expect(shown(smaller)).toEqual(['tool_search', NAMES[0]])
    await call(smaller, NAMES[0] ?? '')
    expect(shown(smaller)).toEqual(['tool_search', NAMES[0]])
    await smaller.deactivate(NAMES)
    expect(shown(smaller)).toEqual(['tool_search'])
    expect(shown(await registry.openSession({ id: 'chat', store }))).toEqual(['tool_search'])
  })
})

describe('a cap in tokens', () => {
  it('makes room for what it must, and evicts no more', async () => {
    const { real } = await open(0)
    const [one] = real.session.surface().tools
    expect(one).toBeDefined()
    await real.session.activate(NAMES)
    const tokens = real.session.toJSON().activations.map((activation) => activation.tokens)
    const maxActiveTokens = (tokens[0] ?? 0) + (tokens[1] ?? 0) + (tokens[2] ?? 0)
    const session = await real.registry.openSession({ maxActiveTokens, maxActive: 0 })
    const report = await session.activate(NAMES)
    expect(report).toEqual({ activated: NAMES.slice(0, 3), evicted: [], missing: [] })
    expect(await session.activate([NAMES[6] ?? ''])).toMatchObject({ evicted: [NAMES[2]] })
    expect(session.toJSON().activations.map(({ name: each }) => each)).toEqual([NAMES[0], NAMES[1], NAMES[6]])
  })
})
