import { describe, expect, it } from 'vitest'
import type { Listing, ToolSource } from '../../tool.ts'
import { CheckedEmbedder } from '../vectors/embedder.ts'
import { fakeEmbedder, slowEmbedder } from '../vectors/fake-embedder.fixture.ts'
import { ListingVectors } from '../vectors/listing-vectors.ts'
import { SourceMeans } from './source-means.ts'

const WORDS = ['bread', 'cloud', 'train', 'guitar', 'mortgage', 'volcano', 'goalkeeper', 'passport']

function listing(name: string, source: ToolSource): Listing {
  return { name, ownName: name, description: name, inputSchema: { type: 'object' }, source, trust: 0 }
}

function tools(server: string, names: readonly string[]): Listing[] {
  return names.map((name) => listing(name, { kind: 'mcp', server }))
}

function open(embedder = fakeEmbedder()) {
  const vectors = new ListingVectors(new CheckedEmbedder(embedder), {
    saved: new Map(),
    onEmbedded: () => {},
  })
  const means = new SourceMeans(vectors, embedder.dimensions)
  const agreement = async (
    text: string,
    { parts = [] as string[], of }: { parts?: string[]; of: Listing },
  ) => {
    const [plain, ...others] = (await embedder.embed([text, ...parts])) as [Float32Array, ...Float32Array[]]
    const numbers = [...vectors.numbers.listings.keys()]
    const agreements = means.agreements({ whole: plain, plain, parts: others }, numbers)
    return agreements[vectors.numbers.numberOf(of) ?? -1]
  }
  return { vectors, means, agreement }
}

describe('the means of sources', () => {
  const bakery = tools('bakery', ['bread_bake', 'bread_sell', 'bread_slice'])
  const everything = tools('everything', WORDS)
  const [loaf, stuffed] = [bakery[0], everything[0]] as [Listing, Listing]

  it('agree with a request for what the source is about, and less for a source with a tool for everything', async () => {
    const { vectors, agreement } = open()
    vectors.update('mcp:bakery', bakery)
    vectors.update('mcp:everything', everything)
    expect(await agreement('bread', { of: loaf })).toBe(1)
    const less = await agreement('bread', { of: stuffed })
    expect(less).toBeLessThan(1)
    expect(less).toBeGreaterThanOrEqual(0.5)
    // Of several parts, one is enough.
    expect(await agreement('cloud bread', { parts: ['cloud', 'bread'], of: loaf })).toBe(1)
  })

  it('take builtin tools as they are: they have nothing in common', async () => {
    const { vectors, agreement } = open()
    const builtin = WORDS.map((word) => listing(word, { kind: 'builtin' }))
    vectors.update('mcp:bakery', bakery)
    vectors.update('builtin', builtin)
    expect(await agreement('bread', { of: builtin[0] as Listing })).toBe(1)
  })

  it('are read again after an update of the source', async () => {
    const { vectors, agreement } = open()
    vectors.update('mcp:bakery', bakery)
    vectors.update('mcp:everything', everything)
    expect(await agreement('bread', { of: stuffed })).toBeLessThan(1)
    vectors.update('mcp:everything', [stuffed])
    expect(await agreement('bread', { of: stuffed })).toBe(1)
  })

  it('are read again once missing vectors are there', async () => {
    const { vectors, means, agreement } = open(slowEmbedder(fakeEmbedder()))
    vectors.update('mcp:bakery', bakery)
    await vectors.ready()
    vectors.update('mcp:everything', everything)
    const without = await agreement('bread', { of: stuffed })
    await vectors.ready()
    means.clear()
    expect(await agreement('bread', { of: stuffed })).not.toBe(without)
  })
})
