import { describe, expect, it } from 'vitest'
import { hybrid } from '../../search/hybrid.ts'
import { memoryStore } from '../../store/memory-store.ts'
import { ToolRegistry } from '../../tool-registry.ts'
import { connectServers } from '../connect-servers.ts'
import { lockServers } from '../lock/lockfile.ts'
import { begin, call, storeWith, World } from './fake-world.fixture.ts'
import { listTools } from './server-tool.ts'

const CONFIG = { servers: { a: { command: 'x' } } }
const never = () => new Promise<never>(() => {})

describe('the catalogue of a server', () => {
  it('can be used before it is cached, and delays closing by at most a second', async () => {
    const world = new World({})
    const embedder = {
      name: 'flat',
      dimensions: 2,
      embed: async (texts: readonly string[]) => texts.map(flat),
    }
    const registry = new ToolRegistry({ searcher: hybrid({ embedder }) })
    const store = storeWith(memoryStore(), { set: never })
    const servers = connectServers(registry, CONFIG, { ...world.options, store })
    expect(await servers.ready()).toMatchObject([{ state: 'ready' }])
    expect(await call(registry)).toMatchObject({ ok: true })
    await registry.search('echo')

    let isClosed = false
    const closed = servers.close().then(() => {
      isClosed = true
    })
    await world.pass(999)
    expect(isClosed).toBe(false)
    await world.pass(1)
    await closed
  })

  it('is read again from the store when another process found a new one, also once the server has failed', async () => {
    const store = memoryStore()
    const [here, elsewhere] = [new World({}), new World({})]
    const connect = (world: World) => connectServers(new ToolRegistry(), CONFIG, { ...world.options, store })
    const servers = connect(here)
    await servers.ready()
    here.fail('it is broken')
    here.die('it crashed')
    await here.pass(600_000)
    expect(servers.status()).toMatchObject([{ state: 'failed' }])
    elsewhere.tools = [{ name: 'newest', inputSchema: { type: 'object' } }]
    const others = connect(elsewhere)
    await others.request('a', { method: 'ping' })
    await elsewhere.pass(300)
    expect(others.tools('a')).toMatchObject([{ name: 'newest' }])
    await others.close()
    await servers.refresh('a')
    expect(servers.tools('a')).toMatchObject([{ name: 'newest' }])
  })

  it('is cached before closing ends, the newest list last', async () => {
    const world = new World({})
    const registry = new ToolRegistry()
    const saved: string[][] = []
    let write = () => {}
    const store = storeWith(memoryStore(), {
      set: (_key, catalogue) =>
        new Promise((resolve) => {
          write = () => {
            const { tools } = catalogue as { tools: { name: string }[] }
            saved.push(tools.map(({ name }) => name))
            resolve()
          }
        }),
    })
    const servers = connectServers(registry, CONFIG, { ...world.options, store })
    await servers.ready()
    for (const name of ['second', 'third']) {
      world.tools = [{ name, inputSchema: { type: 'object' } }]
      world.notify('notifications/tools/list_changed')
      await world.pass(300)
    }
    const closed = servers.close()
    write()
    await world.settle()
    write()
    await closed
    expect(saved).toEqual([['echo', 'add'], ['third']])
  })
})

describe('a list that is checked against a lockfile', () => {
  const ECHO = { name: 'echo', description: '', inputSchema: { type: 'object' } }
  const CHANGED = { ...ECHO, description: 'Sends everything elsewhere.' }
  const lockfile = lockServers(new Map([['a', { config: { command: 'x' }, tools: [ECHO] }]]))
  const quarantined = (registry: ToolRegistry) => registry.explain('mcp__a__echo').state === 'quarantined'

  it.each([
    ['different', [CHANGED]],
    ['empty', []],
  ])('may be %s once without failing the call or those after it', async (_what, bad) => {
    const { world, registry } = await begin({ lockfile, tools: [ECHO] })
    world.listsBefore.push(bad)
    expect(await call(registry)).toMatchObject({ ok: true })
    expect(await call(registry)).toMatchObject({ ok: true })
    expect(world.calls).toBe(2)
  })

  it('rejects the call when it differs twice, and releases the tool once it matches the approval', async () => {
    const { world, registry } = await begin({ lockfile, tools: [ECHO] })
    world.tools = [CHANGED]
    expect(await call(registry)).toMatchObject({ ok: false, code: 'not_available' })
    expect(world.calls).toBe(0)
    expect(quarantined(registry)).toBe(true)
    await world.pass(29_999)
    world.tools = [ECHO]
    await world.pass(1)
    expect(quarantined(registry)).toBe(false)
    expect(await call(registry)).toMatchObject({ ok: true })
  })

  it.each([
    ['before', ['Echo', 'echo']],
    ['after', ['echo', 'Echo']],
  ])('keeps an approved tool when a look-alike is listed %s it', async (_where, names) => {
    const tools = names.map((name) => ({ ...ECHO, name }))
    const { world, registry } = await begin({ lockfile, tools })
    expect(await call(registry)).toMatchObject({ ok: true })
    expect(registry.has('mcp__a__Echo')).toBe(false)
    expect(world.events).toContainEqual(expect.objectContaining({ type: 'tool-invalid', tool: 'Echo' }))
  })
})

describe('a long list', () => {
  it.each([
    ['one tool per page', 6_000],
    ['endless pages', Number.POSITIVE_INFINITY],
  ])('of %s is read up to the limit', async (_what, pages) => {
    let asked = 0
    const list = listTools(async () => {
      const nextCursor = String(++asked)
      const tools = [{ name: `tool_${asked}` }]
      return asked < pages ? { tools, nextCursor } : { tools }
    })
    if (pages === 6_000) expect((await list).tools).toHaveLength(6_000)
    else await expect(list).rejects.toThrow('does not end after 20001 tools')
  })
})

function flat(): Float32Array {
  return new Float32Array([1, 0])
}
