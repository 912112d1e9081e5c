import { describe, expect, it } from 'vitest'
import type { Listing } from '../../tool.ts'
import { sampleListing } from '../searcher-contract.ts'
import { CheckedEmbedder, type Embedder } from '../vectors/embedder.ts'
import { ListingVectors } from '../vectors/listing-vectors.ts'
import { Centre, relatedFromMiddle } from './centre.ts'

/** Two directions: what all tools have in common, and what they do. */
const embedder: Embedder = {
  name: 'plane',
  dimensions: 2,
  embed: (texts) => texts.map((text) => turned(Number(/degrees(\d+)/.exec(text)?.[1] ?? 0))),
}

describe('the centre of a catalogue', () => {
  const ordinary = sampleListing('ordinary', 'degrees12')
  const special = sampleListing('special', 'degrees60')
  const asked = turned(34)

  it('leaves the cosines of a small catalogue as they are', () => {
    const plain = cosines(catalogueOf(400), [ordinary, special], asked, { isCentred: false })
    expect(cosines(catalogueOf(400), [ordinary, special], asked)).toEqual(plain)
  })

  it('takes off what the tools of a large catalogue have in common', () => {
    const others = catalogueOf(6_000)
    const plain = cosines(others, [ordinary, special], asked, { isCentred: false })
    expect(plain[0]).toBeGreaterThan(plain[1] ?? 1)
    const [first = 0, second = 0] = cosines(others, [ordinary, special], asked)
    expect(second).toBeGreaterThan(first)
    expect(second).toBeGreaterThan(0.9)
  })

  it('takes off less between the two', () => {
    const [small = 0] = cosines(catalogueOf(400), [ordinary, special], asked)
    const [middle = 0] = cosines(catalogueOf(2_000), [ordinary, special], asked)
    const [large = 0] = cosines(catalogueOf(6_000), [ordinary, special], asked)
    expect(middle).toBeLessThan(small)
    expect(large).toBeLessThan(middle)
  })
})

/** Tools that differ a little from each other, and have most in common. */
function catalogueOf(count: number): Listing[] {
  return Array.from({ length: count }, (_, at) => sampleListing(`tool${at}`, `degrees${at % 25}`))
}

function cosines(
  others: readonly Listing[],
  listings: readonly Listing[],
  vector: Float32Array,
  { isCentred = true } = {},
): number[] {
  const vectors = new ListingVectors(new CheckedEmbedder(embedder), { saved: new Map(), onEmbedded() {} })
  vectors.update('others', others)
  vectors.update('own', listings)
  const numbers = listings.map((listing) => vectors.numbers.numberOf(listing) ?? -1)
  const { centre } = vectors
  const [similarities, toMean] = vectors.similarities([vector, centre.mean], numbers) as [
    Float64Array,
    Float64Array,
  ]
  return [...(isCentred ? new Centre(centre, toMean).cosines(vector, similarities) : similarities)]
}

function turned(degrees: number): Float32Array {
  const angle = (degrees / 180) * Math.PI
  return Float32Array.of(Math.cos(angle), Math.sin(angle))
}

describe('the cosine from which texts are related', () => {
  it('is that of the embedder in a small catalogue, and low for each embedder in a large one', () => {
    expect(relatedFromMiddle(0.7, 100)).toBe(0.7)
    expect(relatedFromMiddle(0.7, 10_000)).toBe(0.2)
    expect(relatedFromMiddle(0.1, 10_000)).toBeCloseTo(0.1)
    const between = relatedFromMiddle(0.7, 1_500)
    expect(between).toBeGreaterThan(0.2)
    expect(between).toBeLessThan(0.7)
  })
})
