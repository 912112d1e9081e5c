import type { Embedder, Listing, Store, StoredValue, VectorSearcher } from '@toolcrib/core'
import { CatalogueSearch, hybrid, memoryStore, ToolRegistry } from '@toolcrib/core'
import { beforeEach, describe, expect, it } from 'vitest'
import { sourceKey } from '../../../core/src/names.ts'
import { sampleListing } from '../../../core/src/search/searcher-contract.ts'
import { fakeEmbedder, slowEmbedder } from '../../../core/src/search/vectors/fake-embedder.fixture.ts'
import { connectServers } from '../connect-servers.ts'
import { storeWith, World } from '../server/fake-world.fixture.ts'
import { CatalogueCache } from './catalogue-cache.ts'
import { keepVectors } from './kept-vectors.ts'

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

  it('of a small catalogue neither store nor ask for an index', async () => {
    const asked: string[] = []
    const watched = storeWith(store, {
      get: (key) => {
        asked.push(key)
        return store.get(key)
      },
    })
    await start(fakeEmbedder(), { store: watched })
    await start(fakeEmbedder(), { store: watched })
    expect([...asked, ...kept.keys()].filter((key) => key.startsWith('index:'))).toEqual([])
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

describe('the stored index of a large catalogue', () => {
  const MANY = [
    sampleListing('mcp__a__send', 'Send a letter', 'a'),
    ...Array.from({ length: 2_000 }, (_, at) =>
      sampleListing(`mcp__b__count_${at}`, `Count basket ${at}`, 'b'),
    ),
  ]
  let store: Store
  let cache: CatalogueCache

  beforeEach(() => {
    store = memoryStore()
    cache = new CatalogueCache(store, { servers: ['a', 'b'] })
  })

  it('is what the next start begins with', async () => {
    expect(await start()).toMatchObject({ imported: [], embedded: MANY.length })
    expect(await start()).toEqual({ imported: ['ready'], embedded: 0, found: ['mcp__a__send'], events: [] })
  })

  it('is stored again at the end if a tool has changed', async () => {
    await start()
    const before = await cache.loadIndex('fake')
    const changed = [...MANY, sampleListing('mcp__a__post', 'Post a letter', 'a')]
    const { embedded, found } = await start(changed)
    expect([embedded, found]).toEqual([1, ['mcp__a__send', 'mcp__a__post']])
    expect((await cache.loadIndex('fake'))?.length).toBeGreaterThan(before?.length ?? 0)
    expect(await start(changed)).toMatchObject({ imported: ['ready'], found })
  })

  it('is built again if it is damaged, which an event reports', async () => {
    await start()
    const damaged = (await cache.loadIndex('fake'))?.slice() ?? new Uint8Array()
    damaged[damaged.length >>> 1] = (damaged[damaged.length >>> 1] ?? 0) ^ 1
    await cache.saveIndex('fake', damaged)
    expect(await start()).toEqual({
      imported: ['damaged'],
      embedded: 0,
      found: ['mcp__a__send'],
      events: [{ type: 'load-failed', error: 'the index of a searcher: damaged; it is built again' }],
    })
    expect((await start()).imported).toEqual(['ready'])
  })

  /** Loads, searches, closes; returns what became of the stored index, and how many tools were embedded. */
  async function start(listings: readonly Listing[] = MANY) {
    const imported: unknown[] = []
    const events: unknown[] = []
    let embedded = -1
    const inner = fakeEmbedder()
    const embed: Embedder['embed'] = (texts) => {
      embedded += texts.length
      return inner.embed(texts)
    }
    const searcher = hybrid({ embedder: { ...inner, name: 'fake', embed } })
    const watched: VectorSearcher = {
      ...searcher,
      importIndex: (bytes) => {
        const state = searcher.importIndex(bytes)
        imported.push(state)
        return state
      },
    }
    // No timer fires: what is stored is stored by `close`.
    const around = { schedule: () => () => {}, emit: (event: unknown) => void events.push(event) }
    const vectors = keepVectors(watched, cache, around)
    await vectors?.loaded
    const search = new CatalogueSearch(searcher)
    const ofServer = (server: string) =>
      listings.filter(({ source }) => sourceKey(source) === `mcp:${server}`)
    search.sync(new Map(['a', 'b'].map((server) => [server, ofServer(server)])))
    const { ranked } = await search.search('letter')
    await vectors?.close()
    return { imported, embedded, found: ranked.map(({ listing }) => listing.name), events }
  }
})
