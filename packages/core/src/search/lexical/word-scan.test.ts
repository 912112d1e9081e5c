import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Listing } from '../../tool.ts'
import { LexicalIndex } from '../lexical.ts'
import { ListingIds } from '../listing-ids.ts'
import { acceptEvery } from '../searcher.ts'
import { sampleListing } from '../searcher-contract.ts'

const WORDS = [
  'send',
  'sends',
  'file',
  'files',
  'mail',
  'weather',
  'list',
  'lists',
  'get',
  'issue',
  'pull',
  'chart',
]

/** Common words come often, rare ones seldom, as in real catalogues. */
const anyWord = fc.nat(WORDS.length ** 2 - 1).map((at) => WORDS[Math.floor(Math.sqrt(at))] as string)
const anyText = fc.array(anyWord, { minLength: 1, maxLength: 12 }).map((words) => words.join(' '))
const anyCatalogue = fc.array(anyText, { minLength: 1, maxLength: 120 })

function indexOf(texts: readonly string[]): {
  index: LexicalIndex
  listings: Listing[]
  numbers: ListingIds
} {
  const numbers = new ListingIds()
  const index = new LexicalIndex(numbers)
  const listings = texts.map((text, at) => sampleListing(`tool${at}`, text))
  index.update('some', listings)
  return { index, listings, numbers }
}

describe('a scan by words', () => {
  it('finds the same listings in the same order as rating every listing', () => {
    fc.assert(
      fc.property(
        anyCatalogue,
        anyText,
        fc.integer({ min: 1, max: 12 }),
        fc.nat(3),
        (texts, asked, limit, every) => {
          const { index, listings, numbers } = indexOf(texts)
          const accepts =
            every === 0 ? acceptEvery : ({ name }: Listing) => Number(name.slice(4)) % (every + 1) > 0
          const words = asked.split(' ').map((text) => ({ text, weight: 1 }))
          const scan = index.scan(words, accepts)
          const best = scan.best(limit)
          // Watched listings are rated in full.
          const fresh = index.scan(words, accepts)
          fresh.best(1, { watched: listings.map((listing) => numbers.numberOf(listing) ?? -1) })
          const rated = listings
            .filter((listing) => accepts(listing))
            .map((listing) => ({ listing, ...fresh.rate(numbers.numberOf(listing) ?? -1) }))
            .filter(({ score }) => score > 0)
          expect(scan.countAll()).toBe(rated.length)
          expect(fresh.countAll()).toBe(rated.length)
          expect(best).toHaveLength(Math.min(limit, rated.length))
          const scores = rated.map(({ score }) => score).toSorted((a, b) => b - a)
          for (const [at, match] of best.entries()) {
            const own = fresh.rate(match.number)
            expect(match.score).toBeCloseTo(own.score, 4)
            expect(match.coverage).toBeCloseTo(own.coverage, 4)
            expect(match.score).toBeCloseTo(scores[at] ?? 0, 4)
          }
        },
      ),
      { numRuns: 300 },
    )
  })

  it('breaks ties by name', () => {
    const { index } = indexOf(Array.from({ length: 40 }, () => 'sends mail'))
    const best = index.scan([{ text: 'mail', weight: 1 }], acceptEvery).best(3)
    expect(best.map(({ listing }) => listing.name)).toEqual(['tool0', 'tool1', 'tool10'])
  })

  it('rates what it is asked to watch, in whichever window, and nothing else', () => {
    const { index, listings, numbers } = indexOf(
      Array.from({ length: 20_000 }, (_, at) => (at % 3 === 0 ? 'sends mail' : 'lists files')),
    )
    const watched = [0, 1, 8_190, 8_193, 19_998].map((at) => numbers.numberOf(listings[at] as Listing) ?? -1)
    const scan = index.scan([{ text: 'mail', weight: 1 }], acceptEvery)
    const best = scan.best(2, { watched: [...watched, -1, 8_190] })
    expect(best).toHaveLength(2)
    expect(watched.map((number) => scan.rate(number).score > 0)).toEqual([true, false, true, true, true])
    expect(scan.countAll()).toBe(6_667)
  })
})
