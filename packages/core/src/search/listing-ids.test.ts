import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Listing } from '../tool.ts'
import { ListingIds } from './listing-ids.ts'
import { sampleListing } from './searcher-contract.ts'

const LISTINGS = Array.from({ length: 8 }, (_, at) => sampleListing(`tool${at}`, 'does something'))

describe('the numbers of listings', () => {
  it('are those of the listings that some source has, whatever comes and goes', () => {
    const update = fc.record({
      source: fc.constantFrom('a', 'b', 'c'),
      listings: fc.array(fc.constantFrom(...LISTINGS), { maxLength: 6 }),
    })
    fc.assert(
      fc.property(fc.array(update, { maxLength: 30 }), (updates) => {
        const numbers = new ListingIds()
        const held = new Map<string, readonly Listing[]>()
        const followed = new Map<number, Listing>()
        for (const { source, listings } of updates) {
          held.set(source, listings)
          const { removed, added } = numbers.update(source, listings)
          for (const { number, listing } of removed) {
            expect(followed.get(number)).toBe(listing)
            followed.delete(number)
          }
          for (const { number, listing } of added) {
            expect(followed.has(number)).toBe(false)
            followed.set(number, listing)
          }
          const wanted = new Set([...held.values()].flat())
          expect(new Set(followed.values())).toEqual(wanted)
          expect(numbers.size).toBe(wanted.size)
          expect(followed.size).toBe(wanted.size)
          for (const [number, listing] of followed) expect(numbers.numberOf(listing)).toBe(number)
          // Numbers are given again, so they do not grow.
          expect(numbers.listings.length).toBeLessThanOrEqual(LISTINGS.length)
        }
      }),
    )
  })

  it('keep the order of a source, without doubles', () => {
    const numbers = new ListingIds()
    const [a, b, c] = LISTINGS as [Listing, Listing, Listing]
    numbers.update('one', [a, b])
    numbers.update('one', [c, a, c])
    expect([...numbers.sources]).toEqual([['one', [c, a]]])
  })

  it('know the source of each, also when a number is used again', () => {
    const [a, b, c] = LISTINGS as [Listing, Listing, Listing]
    const numbers = new ListingIds()
    const ofSource = (number: number) => numbers.listingsOf(numbers.sourceOf(number))
    numbers.update('one', [a, b])
    expect(ofSource(0)).toEqual([a, b])
    const before = ofSource(0)
    numbers.update('one', [a, b])
    expect(ofSource(0)).not.toBe(before)
    numbers.update('one', [b])
    numbers.update('two', [c])
    expect([ofSource(0), ofSource(1)]).toEqual([[c], [b]])
    const restored = new ListingIds()
    restored.reserve(3)
    restored.claim('saved', [b, c], 1)
    restored.claim('other', [a], 0)
    expect([0, 1, 2].map((number) => restored.listingsOf(restored.sourceOf(number)))).toEqual([
      [a],
      [b, c],
      [b, c],
    ])
  })

  it('are claimed by a source as a whole or not at all', () => {
    const [a, b, c] = LISTINGS as [Listing, Listing, Listing]
    const numbers = new ListingIds()
    numbers.reserve(5)
    expect(numbers.claim('one', [a, b], 0)).toBe(true)
    expect(numbers.claim('two', [c, a], 2)).toBe(false)
    expect(numbers.claim('two', [c, c], 2)).toBe(false)
    expect(numbers.numberOf(c)).toBeUndefined()
    expect(numbers.listings).toEqual([a, b, undefined, undefined, undefined])
    expect([...numbers.sources.keys()]).toEqual(['one'])
    numbers.free([2, 3, 4])
    expect(numbers.update('two', [c, a]).added).toEqual([{ number: 4, listing: c }])
  })
})
