import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { hybrid } from '../../search/hybrid.ts'
import type { Embedder } from '../../search/vectors/embedder.ts'
import { fakeEmbedder, slowEmbedder } from '../../search/vectors/fake-embedder.ts'
import { ToolRegistry } from '../../tool-registry.ts'
import { connectServers } from '../connect-servers.ts'
import { World } from '../server/fake-world.fixture.ts'
import { fileCatalogueCache } from './catalogue-cache.ts'

const TOOLS = [
  { name: 'send', description: 'Send a letter', inputSchema: { type: 'object' } },
  { name: 'rain', description: 'Tell when it rains', inputSchema: { type: 'object' } },
]
const TEXTS_OF_TOOLS = TOOLS.length

describe('stored vectors', () => {
  let directory: string

  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'toolcrib-vectors-'))
  })
  afterEach(() => rm(directory, { recursive: true }))

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
  ])('are computed again when the file is %s', async (_, damage) => {
    await start(fakeEmbedder())
    const file = await indexFile()
    await writeFile(file, damage(await readFile(file)))
    const again = await start(fakeEmbedder())
    expect(again).toEqual({ embedded: TEXTS_OF_TOOLS, found: ['mcp__a__send'] })
    expect((await start(fakeEmbedder())).embedded).toBe(0)
  })

  it('are saved after a short delay, not only at the end', async () => {
    const world = new World({ tools: TOOLS })
    const registry = new ToolRegistry({ searcher: hybrid({ embedder: fakeEmbedder() }) })
    const servers = connectServers(registry, CONFIG, { ...world.options, cacheDirectory: directory })
    await servers.ready()
    await registry.search('send a letter')
    await expect(indexFile()).rejects.toThrow('no index')
    await world.pass(5_000)
    await expect.poll(indexFile).toContain('fake')
    await servers.close()
  })

  it('cause no failure when they cannot be read or written', async () => {
    const broken = async () => {
      throw new Error('the disk is gone')
    }
    const cache = { ...fileCatalogueCache(directory), loadIndex: broken, saveIndex: broken }
    expect(await start(fakeEmbedder(), { cache })).toEqual({
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
      cache = fileCatalogueCache(directory),
      isFresh = false,
    }: { tools?: readonly object[]; cache?: ReturnType<typeof fileCatalogueCache>; isFresh?: boolean } = {},
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
      cache: isFresh ? { ...cache, load: async () => undefined } : cache,
    })
    await servers.ready()
    const { matches } = await registry.search('letter')
    await servers.close()
    return {
      embedded: texts.filter((text) => text !== 'letter').length,
      found: matches.map(({ name }) => name),
    }
  }

  async function indexFile(): Promise<string> {
    const name = (await readdir(directory)).find((file) => file.endsWith('.index'))
    if (name === undefined) throw new Error('there is no index')
    return join(directory, name)
  }
})
