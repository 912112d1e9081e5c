import { readFileSync } from 'node:fs'
import { staticEmbedder } from '@toolcrib/embedder'
import { describe, expect, it } from 'vitest'
import type { ListingGroups } from '../registry/snapshot.ts'
import type { Listing } from '../tool.ts'
import { CatalogueSearch } from './catalogue-search.ts'
import { hybrid } from './hybrid.ts'
import { parseQuery } from './query/query.ts'
import { digestOfListings, packSections, readSections } from './saved-index.ts'
import { acceptEvery } from './searcher.ts'
import type { Embedder } from './vectors/embedder.ts'

const WORKSHOP = new URL('../../../../bench/recall/', import.meta.url)
const QUERIES = linesOf('workshop-queries.jsonl')
  .filter((_, at) => at % 16 === 0)
  .map(({ query }) => String(query))

function linesOf(file: string): Record<string, unknown>[] {
  return readFileSync(new URL(file, WORKSHOP), 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
}

/** New objects each time, as after a restart. */
function workshop(): Map<string, Listing[]> {
  const groups = new Map<string, Listing[]>()
  for (const tool of linesOf('workshop-tools.jsonl') as unknown as (Listing & { server: string })[]) {
    const { server, name, description, inputSchema } = tool
    const source = { kind: 'mcp', server } as const
    const listing = {
      name: `mcp__${server}__${name}`,
      ownName: name,
      description,
      inputSchema,
      source,
      trust: 0,
    }
    groups.set(`mcp:${server}`, [...(groups.get(`mcp:${server}`) ?? []), listing])
  }
  return groups
}

const table = staticEmbedder()
const EVERY = { limit: 10, accepts: acceptEvery }

class Start {
  embedded = 0
  readonly searcher: ReturnType<typeof hybrid>
  readonly #catalogue: CatalogueSearch

  constructor(saved?: Uint8Array, { name }: { readonly name?: string } = {}) {
    const embedder: Embedder = {
      name: name ?? table.name,
      dimensions: table.dimensions,
      knows: (word) => table.knows?.(word) === true,
      embed: (texts) => {
        this.embedded += texts.length
        return table.embed(texts)
      },
    }
    this.searcher = hybrid({ embedder })
    if (saved) this.searcher.importIndex(saved)
    this.#catalogue = new CatalogueSearch(this.searcher)
  }

  /** How many listings were embedded for it. */
  async sync(groups: ListingGroups): Promise<number> {
    this.#catalogue.sync(groups)
    this.embedded = 0
    await this.#catalogue.search('message')
    return this.embedded - 1
  }

  async answers(): Promise<unknown[]> {
    const answers: unknown[] = []
    for (const query of QUERIES) {
      const { total, ranked, unmatchedTerms } = await this.#catalogue.search(query)
      answers.push({
        query,
        total,
        unmatchedTerms,
        ranked: ranked.map(({ listing, ...rest }) => [listing.name, rest]),
      })
    }
    return answers
  }
}

const saved = (async () => {
  const start = new Start()
  await start.sync(workshop())
  return start.searcher.exportIndex() ?? new Uint8Array(0)
})()

describe('a saved index', () => {
  it('gives the same answers, and embeds nothing again', async () => {
    const fresh = new Start()
    await fresh.sync(workshop())
    const restored = new Start(fresh.searcher.exportIndex())
    expect(await restored.sync(workshop())).toBe(0)
    expect(await restored.answers()).toEqual(await fresh.answers())
  })

  it('indexes only the sources that changed, joined or left since', async () => {
    const groups = workshop()
    const [changed, left, ...others] = [...groups.keys()]
    const moved = groups.get(changed ?? '') ?? []
    groups.set(changed ?? '', [
      { ...(moved[0] as Listing), description: 'Tunes the harpsichord' },
      ...moved.slice(1),
    ])
    groups.delete(left ?? '')
    const source = { kind: 'mcp', server: 'garden' } as const
    const joined = { ...(moved[0] as Listing), name: 'mcp__garden__water', ownName: 'water', source }
    groups.set('mcp:garden', [joined])
    expect(others.length).toBeGreaterThan(3)

    const restored = new Start(await saved)
    expect(await restored.sync(groups)).toBe(moved.length + 1)
    const fresh = new Start()
    await fresh.sync(groups)
    expect(await restored.answers()).toEqual(await fresh.answers())

    // And it goes on as any other index, and can be saved again.
    const later = new Map([...workshop()].slice(2))
    await Promise.all([restored.sync(later), fresh.sync(later)])
    expect(await restored.answers()).toEqual(await fresh.answers())
    const again = new Start(restored.searcher.exportIndex())
    expect(await again.sync(later)).toBe(0)
    expect(await again.answers()).toEqual(await fresh.answers())
  })

  it('knows a source again after one of its tools changed', async () => {
    const groups = workshop()
    const start = new Start()
    await start.sync(groups)
    const [key = '', listings = []] = [...groups][0] ?? []
    const first = { ...(listings[0] as Listing), description: 'Tunes the harpsichord' }
    const changed = new Map(groups).set(key, [first, ...listings.slice(1)])
    await start.sync(changed)
    const restored = new Start(start.searcher.exportIndex())
    expect(await restored.sync(changed)).toBe(0)
    expect(await restored.answers()).toEqual(await start.answers())
  })

  it('follows a source that changes, and changes back, before the first search', async () => {
    const groups = workshop()
    const [key = '', listings = []] = [...groups][0] ?? []
    const restored = hybrid({ embedder: table })
    restored.importIndex(await saved)
    const index = restored.open()
    for (const [source, held] of groups) index.update(source, held)
    const others = { ...(listings[0] as Listing), description: 'Tunes the harpsichord' }
    index.update(key, [others])
    index.update(key, [])
    // Nothing is lost before the first search.
    expect(restored.exportIndex()).toBeUndefined()
    const again = workshop().get(key) ?? []
    index.update(key, again)
    const fresh = hybrid({ embedder: table }).open()
    for (const [source, held] of groups) fresh.update(source, source === key ? again : held)
    for (const query of [...QUERIES, 'tune the harpsichord'])
      expect(await index.rank(parseQuery(query), EVERY)).toEqual(await fresh.rank(parseQuery(query), EVERY))
  })

  it('has its vectors before the first search', async () => {
    const restored = hybrid({ embedder: table })
    restored.importIndex(await saved)
    const index = restored.open()
    for (const [source, held] of workshop()) index.update(source, held)
    const other = hybrid({ embedder: table })
    expect(other.importVectors(restored.exportVectors())).toBe([...workshop().values()].flat().length)
  })

  it('tells listings apart whose texts are the same in another order or place', () => {
    const [one] = [...workshop().values()].flat() as [Listing]
    const withTexts = (changes: Partial<Listing>): Listing => ({ ...one, inputSchema: {}, ...changes })
    const values = (...texts: string[]) => ({ properties: { p: { enum: texts } } })
    const variants = [
      [withTexts({ ownName: 'a', description: 'b' }), withTexts({ ownName: 'c', description: 'd' })],
      [withTexts({ ownName: 'a', description: 'b', inputSchema: values('office', 'c', '', '', 'd') })],
      [withTexts({ ownName: 'a', description: 'b', inputSchema: values('c') })],
      [withTexts({ ownName: 'a', description: 'b', inputSchema: { properties: { p: {}, c: {} } } })],
      [withTexts({ ownName: 'a', description: 'b\0' })],
      [withTexts({ ownName: 'a', description: 'b' })],
      [withTexts({ ownName: 'ab', description: '' })],
    ]
    expect(new Set(variants.map(digestOfListings)).size).toBe(variants.length)
    expect(digestOfListings([withTexts({})])).toBe(digestOfListings([withTexts({})]))
  })

  it('is not made of a catalogue in which two sources have the same listing', async () => {
    const groups = workshop()
    const start = new Start()
    await start.sync(new Map([...groups, ['mcp:copy', [...groups.values()][0] ?? []]]))
    expect(start.searcher.exportIndex()).toBeUndefined()
    await start.sync(groups)
    expect(start.searcher.exportIndex()).toBeDefined()
  })

  it('is ignored if it is damaged, cut short, or of another embedder', async () => {
    const bytes = await saved
    const count = [...workshop().values()].flat().length
    const damaged = bytes.slice()
    damaged[bytes.length >> 1] = (damaged[bytes.length >> 1] ?? 0) ^ 1
    for (const wrong of [
      damaged,
      bytes.subarray(0, bytes.length - 8),
      bytes.subarray(0, 11),
      new Uint8Array(0),
    ]) {
      const start = new Start(wrong)
      expect(await start.sync(workshop())).toBe(count)
    }
    expect(await new Start(bytes, { name: 'another' }).sync(workshop())).toBe(count)
  })

  it('is read from any offset', async () => {
    const bytes = await saved
    const shifted = new Uint8Array(bytes.length + 3)
    shifted.set(bytes, 3)
    expect(await new Start(shifted.subarray(3)).sync(workshop())).toBe(0)
  })

  it('keeps sections apart, whatever their lengths', () => {
    const sections = { a: Uint8Array.of(1, 2, 3), none: new Uint8Array(0), b: Uint8Array.of(4) }
    const bytes = packSections('recipe', sections)
    expect(readSections(bytes, 'recipe')).toEqual({ state: 'ready', sections })
    expect(readSections(bytes, 'another')).toEqual({ state: 'outdated' })
    expect(readSections(bytes.subarray(1), 'recipe')).toEqual({ state: 'damaged' })
  })
})
