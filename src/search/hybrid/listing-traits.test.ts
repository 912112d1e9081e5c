import { describe, expect, it } from 'vitest'
import type { Listing } from '../../tool.ts'
import { ListingNumbers } from '../listing-numbers.ts'
import { BUILTIN, ListingTraits } from './listing-traits.ts'

function listing(name: string, about: Partial<Listing> = {}): Listing {
  return {
    name,
    ownName: name,
    description: 'Returns the weather of a place.',
    inputSchema: { type: 'object' },
    source: { kind: 'mcp', server: 'weather' },
    trust: 0,
    ...about,
  }
}

function withParameters(count: number): Listing['inputSchema'] {
  const names = Array.from({ length: count }, (_, at) => [`field_${at}`, { type: 'string' }] as const)
  return { type: 'object', properties: Object.fromEntries(names) }
}

function open() {
  const numbers = new ListingNumbers()
  const traits = new ListingTraits(numbers)
  const update = (source: string, listings: readonly Listing[]) =>
    traits.change(numbers.update(source, listings))
  return { numbers, traits, update }
}

describe('the traits of a listing', () => {
  it('say whether it is deprecated and how many parameters it has, up to eight', () => {
    const { traits, update } = open()
    update('weather', [
      listing('old', { description: 'DEPRECATED: use forecast instead.' }),
      listing('plain', { inputSchema: withParameters(8) }),
      listing('padded', { inputSchema: withParameters(80) }),
    ])
    expect([0, 1, 2].map((number) => traits.isDeprecated(number))).toEqual([true, false, false])
    expect([0, 1, 2].map((number) => traits.parametersOf(number))).toEqual([0, 1, 1])
  })

  it('are those of the new listing when a number is used again', () => {
    const { numbers, traits, update } = open()
    update('weather', [listing('old', { description: 'Deprecated.', inputSchema: withParameters(8) })])
    expect(traits.parametersOf(0)).toBe(1)
    const before = traits.sourceOf(0)
    update('weather', [])
    update('files', [listing('read', { source: { kind: 'mcp', server: 'files' } })])
    expect(numbers.listings[0]?.name).toBe('read')
    expect([traits.isDeprecated(0), traits.parametersOf(0)]).toEqual([false, 0])
    expect(traits.sourceOf(0)).not.toBe(before)
  })

  it('tell sources apart by kind and name', () => {
    const { traits, update } = open()
    update('all', [
      listing('a'),
      listing('b'),
      listing('c', { source: { kind: 'plugin', plugin: 'weather' } }),
      listing('d', { source: { kind: 'builtin' } }),
    ])
    const [a, b, c, d] = [0, 1, 2, 3].map((number) => traits.sourceOf(number))
    expect(a).toBe(b)
    expect(new Set([a, c, d]).size).toBe(3)
    expect(d).toBe(BUILTIN)
  })

  it('survive packing', () => {
    const { traits, update } = open()
    update('weather', [
      listing('old', { description: 'Deprecated.' }),
      listing('new', { inputSchema: withParameters(3) }),
    ])
    const counted = traits.parametersOf(1)
    const { traits: restored, numbers } = open()
    numbers.reserve(2)
    restored.adopt(traits.pack([1, 0]))
    expect([restored.isDeprecated(0), restored.isDeprecated(1)]).toEqual([false, true])
    expect(restored.parametersOf(0)).toBe(counted)
  })
})
