import { describe, expect, it } from 'vitest'
import { hybrid } from '../../search/hybrid.ts'
import { ToolRegistry } from '../../tool-registry.ts'
import type { CatalogueCache } from '../cache/catalogue-cache.ts'
import { connectServers } from '../connect-servers.ts'
import { call, World } from './fake-world.fixture.ts'

const CONFIG = { servers: { a: { command: 'x' } } }
const never = () => new Promise<never>(() => {})

describe('what a server lists', () => {
  it('can be used before it is remembered, and is let go of a second after the end', async () => {
    const world = new World({})
    const embedder = {
      name: 'flat',
      dimensions: 2,
      embed: async (texts: readonly string[]) => texts.map(flat),
    }
    const registry = new ToolRegistry({ searcher: hybrid({ embedder }) })
    const cache: CatalogueCache = {
      load: async () => undefined,
      save: never,
      loadIndex: async () => undefined,
      saveIndex: never,
    }
    const servers = connectServers(registry, CONFIG, { ...world.options, cache })
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

  it('is remembered before the end, the newest list last', async () => {
    const world = new World({})
    const registry = new ToolRegistry()
    const saved: string[][] = []
    let write = () => {}
    const cache: CatalogueCache = {
      load: async () => undefined,
      save: (_server, _fingerprint, { tools }) =>
        new Promise((resolve) => {
          write = () => {
            saved.push(tools.map(({ name }) => name))
            resolve()
          }
        }),
    }
    const servers = connectServers(registry, CONFIG, { ...world.options, cache })
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

function flat(): Float32Array {
  return new Float32Array([1, 0])
}
