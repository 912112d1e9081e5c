import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { deleteSession, type Session, type SessionDialect, type Tool, ToolRegistry } from 'toolcrib'
import { anthropic } from 'toolcrib/anthropic'
import { openaiResponses } from 'toolcrib/openai-responses'
import { redisStore } from 'toolcrib/redis'
import { fileStore, memoryStore, type Store } from 'toolcrib/stores'
import { describe, expect, inject, it, onTestFinished } from 'vitest'

const DAY_MS = 24 * 3_600_000

const tool = (name: string): Tool => ({
  name,
  description: `Does ${name} to a document, a ticket or a person, and says how it went.`,
  inputSchema: { type: 'object', properties: { path: { type: 'string' }, text: { type: 'string' } } },
  execute: () => ({ ok: true, value: name }),
})

/** A registry of 2,654 tools of 50 servers; of a later one, the first server has changed. */
function registryOf({ isLater = false, now = 0 } = {}) {
  const clock = { now }
  const registry = new ToolRegistry({ mode: 'lazy', clock: () => clock.now })
  for (let server = 0; server < 50; server++) {
    const tools = Array.from({ length: server < 4 ? 54 : 53 }, (_, n) => tool(`tool_${n}`))
    registry.syncMcp(`server${server}`, isLater && server === 0 ? tools.slice(1) : tools)
  }
  const failures: string[] = []
  registry.subscribe((event) => {
    if (event.type === 'load-failed') failures.push(event.error)
  })
  return { registry, clock, failures }
}

/** The bytes of a request without messages, and of what is behind its search. */
function requestOf(session: Session<SessionDialect>): string {
  const dialect = session.settings.dialect as ReturnType<typeof anthropic>
  const surface = session.surface()
  return JSON.stringify([
    dialect.toRequest({ surface, messages: [] }),
    surface.deferredTools,
    surface.lateTools,
  ])
}

const sizeOf = (value: unknown) => Buffer.byteLength(JSON.stringify(value) ?? '')

/** A store, and the values that were written to it, by key. */
function noted(store: Store, refuses: (key: string) => boolean = () => false) {
  const written = new Map<string, unknown>()
  const note = (key: string, value: unknown) => {
    if (refuses(key)) throw new Error('full')
    if (value === undefined) written.delete(key)
    else written.set(key, value)
  }
  const watched: Store = {
    get: (key) => store.get(key),
    set: async (key, value, options) => {
      note(key, value)
      await store.set(key, value, options)
    },
    update: async (key, change, options) => {
      if (refuses(key)) throw new Error('full')
      const value = await store.update(key, change, options)
      note(key, value)
      return value
    },
    delete: (key) => store.delete(key),
    close: () => store.close(),
  }
  return { store: watched, written }
}

const DIALECTS: [string, () => SessionDialect][] = [
  ['Anthropic', () => anthropic()],
  ['the Responses API', () => openaiResponses()],
]

const STORES: [string, () => Promise<Store>][] = [
  ['memory', async () => memoryStore()],
  [
    'files',
    async () => {
      const directory = await mkdtemp(join(tmpdir(), 'toolcrib-'))
      onTestFinished(() => rm(directory, { recursive: true }))
      return fileStore({ directory })
    },
  ],
  ...(inject('redisUrl') === undefined
    ? []
    : [
        [
          'Redis',
          async () => redisStore({ url: String(inject('redisUrl')), prefix: `shared-${Math.random()}:` }),
        ] as [string, () => Promise<Store>],
      ]),
]

describe.each(DIALECTS)('sessions of %s over thousands of tools', (_name, dialect) => {
  it.each(STORES)('are small in %s, and go on at another replica', async (_store, openStore) => {
    const real = await openStore()
    onTestFinished(() => real.close())
    const { store, written } = noted(real)
    const { registry } = registryOf()
    const open = (id: string) => registry.openSession({ id, store, dialect: dialect() })
    const first = await open('one')
    const bytes = requestOf(first)
    await first.activate(['mcp__server0__tool_0'])
    await first.close()
    const shared = [...written.keys()].filter((key) => /^(sent-)?tools:/.test(key))
    expect(shared.length).toBeGreaterThan(2)
    written.clear()
    const second = await open('two')
    requestOf(second)
    await second.close()
    expect([...written.keys()].sort()).toEqual(['sent:two', 'since:two'])
    for (const value of written.values()) expect(sizeOf(value)).toBeLessThan(20_000)
    expect(sizeOf(first)).toBeLessThan(20_000)

    const later = registryOf({ isLater: true })
    const restored = await later.registry.openSession({ id: 'one', store, dialect: dialect() })
    expect(requestOf(restored)).toBe(bytes)
    await restored.close()
    await deleteSession(store, 'one')
    const other = await later.registry.openSession({ id: 'two', store, dialect: dialect() })
    expect(requestOf(other)).toBe(bytes)
    expect(later.failures).toEqual([])
  })

  it('keep the tools that joined late apart too', async () => {
    const { store, written } = noted(memoryStore())
    const { registry } = registryOf()
    const session = await registry.openSession({ id: 'one', store, dialect: dialect() })
    requestOf(session)
    registry.syncMcp(
      'late',
      Array.from({ length: 300 }, (_, n) => tool(`late_${n}`)),
    )
    const bytes = requestOf(session)
    await session.close()
    expect(sizeOf(written.get('since:one'))).toBeLessThan(20_000)
    const later = registryOf()
    const restored = await later.registry.openSession({ id: 'one', store, dialect: dialect() })
    expect(restored.toJSON().firstRequest).toEqual(session.toJSON().firstRequest)
    later.registry.syncMcp(
      'late',
      Array.from({ length: 300 }, (_, n) => tool(`late_${n}`)),
    )
    expect(requestOf(restored)).toBe(bytes)
    const same = await registry.openSession({ state: structuredClone(session.toJSON()), dialect: dialect() })
    expect(requestOf(same)).toBe(bytes)
  })

  it('share what they show, also after a server has joined', async () => {
    const { registry } = registryOf()
    const own = dialect()
    const sessions = await Promise.all([1, 2].map(() => registry.openSession({ dialect: own })))
    const [first, second] = sessions.map((session) => session.surface())
    expect(first).toBe(second)
    registry.syncMcp('late', [tool('late')])
    const [late, other] = sessions.map((session) => session.surface())
    expect(late).toBe(other)
    expect(late?.lateTools?.map(({ name }) => name)).toEqual(['mcp__late__late'])
  })

  it('go on from JSON where the tools are the same, and else begin a new request and say so', async () => {
    const { registry } = registryOf()
    const session = await registry.openSession({ id: 'one', dialect: dialect() })
    const bytes = requestOf(session)
    const state = JSON.parse(JSON.stringify(session))
    for (const isLater of [false, true]) {
      const other = registryOf({ isLater })
      const restored = await other.registry.openSession({ state, dialect: dialect() })
      const failure = expect.stringMatching(/needs definitions that are not kept here or have expired/)
      expect(other.failures).toEqual(isLater ? [failure] : [])
      expect(requestOf(restored) === bytes).toBe(!isLater)
    }
  })
})

describe('the definitions that sessions share in a store', () => {
  const open = ({ registry }: ReturnType<typeof registryOf>, id: string, store: Store) =>
    registry.openSession({ id, store, dialect: openaiResponses() })

  it('are written before what refers to them', async () => {
    const inner = memoryStore()
    const state = { refuses: (key: string) => key.startsWith('sent-tools:') }
    const { store } = noted(inner, (key) => state.refuses(key))
    const session = await open(registryOf(), 'one', store)
    const bytes = requestOf(session)
    await expect(session.close()).rejects.toMatchObject({ code: 'store-unavailable' })
    expect(await inner.get('sent:one')).toBeUndefined()

    state.refuses = () => false
    const again = await open(registryOf(), 'one', store)
    expect(requestOf(again)).toBe(bytes)
    await again.close()
    expect(await inner.get('sent:one')).toBeDefined()
  })

  it('are written again where the store has lost them', async () => {
    const inner = memoryStore()
    const { store, written } = noted(inner)
    const here = registryOf()
    const first = await open(here, 'one', store)
    const bytes = requestOf(first)
    await first.close()
    for (const key of written.keys()) await inner.delete(key)
    const second = await open(here, 'two', store)
    requestOf(second)
    await second.close()
    const elsewhere = await open(registryOf({ isLater: true }), 'two', store)
    expect(requestOf(elsewhere)).toBe(bytes)
  })

  it('are written once for sessions that are saved at the same time', async () => {
    const inner = memoryStore()
    const sets: string[] = []
    const { store } = noted(inner)
    const counted: Store = {
      ...store,
      set: async (key, value, options) => {
        sets.push(key)
        await new Promise((resolve) => setImmediate(resolve))
        await store.set(key, value, options)
      },
    }
    const here = registryOf()
    const sessions = await Promise.all(['one', 'two', 'three'].map((id) => open(here, id, counted)))
    for (const session of sessions) requestOf(session)
    await Promise.all(sessions.map((session) => session.close()))
    expect(sets.length).toBeGreaterThan(2)
    expect(new Set(sets).size).toBe(sets.length)
  })

  it('are not used if the store has others in their place', async () => {
    const inner = memoryStore()
    const { store, written } = noted(inner)
    const session = await open(registryOf(), 'one', store)
    const bytes = requestOf(session)
    await session.close()
    const [key = ''] = [...written.keys()].filter((each) => each.startsWith('tools:'))
    const [first, ...others] = (await inner.get(key)) as unknown as { description: string }[]
    await inner.set(key, [{ ...first, description: 'Forged.' }, ...others] as never)
    const later = registryOf({ isLater: true })
    const restored = await open(later, 'one', store)
    expect(later.failures).toHaveLength(1)
    expect(requestOf(restored)).not.toContain('Forged.')
    expect(requestOf(restored)).not.toBe(bytes)
  })

  it('are written by part: a change of one server leaves most as they are', async () => {
    const { store, written } = noted(memoryStore())
    const save = async (isLater: boolean, id: string) => {
      const session = await open(registryOf({ isLater }), id, store)
      requestOf(session)
      await session.close()
      return new Set([...written.keys()].filter((key) => key.startsWith('tools:')))
    }
    const before = await save(false, 'one')
    const after = await save(true, 'two')
    expect(before.size).toBeGreaterThan(5)
    expect(after.size).toBe(before.size + 1)
  })

  it('stay as long as any session uses them, and a session whose definitions are gone begins a new request', async () => {
    const clock = { now: 0 }
    const store = memoryStore({ clock: () => clock.now })
    const first = await open(registryOf(), 'one', store)
    const bytes = requestOf(first)
    await first.close()
    for (const day of [80, 160, 240]) {
      clock.now = day * DAY_MS
      const later = registryOf({ isLater: true, now: clock.now })
      const session = await open(later, 'one', store)
      expect(requestOf(session)).toBe(bytes)
      await session.close()
    }
    clock.now = 331 * DAY_MS
    const later = registryOf({ isLater: true, now: clock.now })
    const session = await open(later, 'one', store)
    expect(later.failures).toEqual([expect.stringMatching(/have expired; the session makes a new one/)])
    expect(requestOf(session)).not.toBe(bytes)
    await session.close()
  })
})
