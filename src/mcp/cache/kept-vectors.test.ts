import { beforeEach, describe, expect, it } from 'vitest'
import { hybrid } from '../../search/hybrid.ts'
import type { Embedder } from '../../search/vectors/embedder.ts'
import { fakeEmbedder, slowEmbedder } from '../../search/vectors/fake-embedder.ts'
import { memoryStore } from '../../store/memory-store.ts'
import type { Store, StoredValue } from '../../store/store.ts'
import { ToolRegistry } from '../../tool-registry.ts'
import { connectServers } from '../connect-servers.ts'
import { storeWith, World } from '../server/fake-world.fixture.ts'

const TOOLS = [
  { name: 'send', description: 'Send a letter', inputSchema: { type: 'object' } },
  { name: 'rain', description: 'Tell when it rains', inputSchema: { type: 'object' } },
]
const TEXTS_OF_TOOLS = TOOLS.length

describe('stored vectors', () => {
  let kept: Map<string, StoredValue>
  let store: Store

  beforeEach(() => {
    kept = new Map()
    const inner = memoryStore()
    store = storeWith(inner, {
      set: async (key, value, options) => {
        await inner.set(key, value, options)
        kept.set(key, value)
      },
    })
  })

  it('make a second start embed no tools', async () => {
    expect((await start(fakeEmbedder())).embedded).toBe(TEXTS_OF_TOOLS)
    const second = await start(fakeEmbedder())
    expect(second.embedded).toBe(0)
    expect(second.found).toEqual(['mcp__a__send'])
  })

  it('make it embed no tools with a slow embedder, too', async () => {
    expect((await start(slowEmbedder(fakeEmbedder()))).embedded).toBe(TEXTS_OF_TOOLS)
    expect((await start(slowEmbedder(fakeEmbedder()))).embedded).toBe(0)
  })

  it('do not cover a tool that changed', async () => {
    await start(fakeEmbedder())
    const [send, ...others] = TOOLS
    const changed = [{ ...send, description: 'Send a letter or a parcel' }, ...others]
    expect((await start(fakeEmbedder(), { tools: changed, isFresh: true })).embedded).toBe(1)
  })

  it('of one model are not used for another', async () => {
    await start(fakeEmbedder())
    const other = { ...fakeEmbedder(), name: 'other' }
    expect((await start(other)).embedded).toBe(TEXTS_OF_TOOLS)
    expect((await start(fakeEmbedder())).embedded).toBe(0)
  })

  it.each([
    ['cut short', (bytes: Uint8Array) => bytes.subarray(0, bytes.length - 7)],
    ['empty', () => new Uint8Array()],
    ['something else', () => new TextEncoder().encode('not what it was')],
  ])('are computed again when they are %s', async (_, damage) => {
    await start(fakeEmbedder())
    const { key, bytes } = storedVectors()
    await store.set(key, damage(bytes))
    const again = await start(fakeEmbedder())
    expect(again).toEqual({ embedded: TEXTS_OF_TOOLS, found: ['mcp__a__send'] })
    expect((await start(fakeEmbedder())).embedded).toBe(0)
  })

  it('are saved after a short delay, not only at the end', async () => {
    const world = new World({ tools: TOOLS })
    const registry = new ToolRegistry({ searcher: hybrid({ embedder: fakeEmbedder() }) })
    const servers = connectServers(registry, CONFIG, { ...world.options, store })
    await servers.ready()
    await registry.search('send a letter')
    expect(storedVectors).toThrow('no vectors')
    await world.pass(5_000)
    expect(storedVectors().bytes.length).toBeGreaterThan(0)
    await servers.close()
  })

  it('cause no failure when they cannot be read or written', async () => {
    const broken = async () => {
      throw new Error('the disk is gone')
    }
    const isVectors = (key: string) => key.startsWith('vectors:')
    const failing = storeWith(store, {
      get: (key) => (isVectors(key) ? broken() : store.get(key)),
      set: (key, value, options) => (isVectors(key) ? broken() : store.set(key, value, options)),
    })
    expect(await start(fakeEmbedder(), { store: failing })).toEqual({
      embedded: TEXTS_OF_TOOLS,
      found: ['mcp__a__send'],
    })
  })

  const CONFIG = { servers: { a: { command: 'x' } } }

  /** Connects, searches, closes; returns how many tools were embedded and what was found. */
  async function start(
    embedder: Embedder,
    {
      tools = TOOLS,
      store: used = store,
      isFresh = false,
    }: { tools?: readonly object[]; store?: Store; isFresh?: boolean } = {},
  ) {
    const world = new World({ tools })
    const texts: string[] = []
    const counting: Embedder = {
      ...embedder,
      embed: (given) => {
        texts.push(...given)
        return embedder.embed(given)
      },
    }
    const registry = new ToolRegistry({ searcher: hybrid({ embedder: counting }) })
    const servers = connectServers(registry, CONFIG, {
      ...world.options,
      store: used,
      remembered: !isFresh,
    })
    await servers.ready()
    const { matches } = await registry.search('letter')
    await servers.close()
    return {
      embedded: texts.filter((text) => text !== 'letter').length,
      found: matches.map(({ name }) => name),
    }
  }

  function storedVectors(): { key: string; bytes: Uint8Array } {
    const [entry] = [...kept].filter(([key]) => key.startsWith('vectors:'))
    if (!(entry?.[1] instanceof Uint8Array)) throw new Error('there are no vectors')
    return { key: entry[0], bytes: entry[1] }
  }
})
