import { describe, expect, it } from 'vitest'
import type { Listing } from '../tool.ts'
import { FirstPlaces } from './first-places.ts'
import { parseQuery } from './query/query.ts'
import type { Ranked } from './searcher.ts'
import { sampleListing } from './searcher-contract.ts'
import { SourceLedger } from './source-ledger.ts'

const LARGE = 41

/** Matches from `server score`, each with its own tool; `+` before a server marks it as approved. */
function matchesOf(...written: readonly string[]): Ranked[] {
  return written.map((one, at) => {
    const [server = '', score] = one.replace('+', '').split(' ')
    const listing = sampleListing(`mcp__${server}__tool_${at}`, '', server, {
      trust: one.startsWith('+') ? 1 : 0,
    })
    return { listing, score: Number(score), reasons: ['fits'] }
  })
}

/** The servers in the order in which they were first seen, with their number of tools. */
function share(
  matches: readonly Ranked[],
  sources: Readonly<Record<string, number>>,
  query = 'anything',
  exact: ReadonlySet<Listing> = new Set(),
  alone?: ReadonlyMap<Listing, number>,
): { places: string; crowding: string[]; shared: Ranked[] } {
  const ledger = new SourceLedger()
  for (const [server, tools] of Object.entries(sources))
    ledger.record(
      [],
      Array.from({ length: tools }, (_, at) => sampleListing(`x${at}`, '', server)),
    )
  const places = new FirstPlaces(parseQuery(query), exact, ledger)
  const shared = places.share(matches, alone)
  const servers = shared.map(({ listing }) => (listing.source.kind === 'mcp' ? listing.source.server : ''))
  return { places: servers.join(' '), crowding: [...places.crowding(matches)], shared }
}

describe('the first places', () => {
  const evil = ['evil 1', 'evil 0.9', 'evil 0.9', 'evil 0.8', 'evil 0.8']

  it('give two of five to an unapproved source, when an approved one matches', () => {
    const { places, crowding } = share(matchesOf(...evil, '+good 0.4', '+good 0.3', '+good 0.3'), {
      good: 9,
      evil: 9,
    })
    expect(places).toBe('evil evil good good good evil evil evil')
    expect(crowding).toEqual(['mcp:evil'])
  })

  it('give four of ten', () => {
    const good = Array.from({ length: 8 }, () => '+good 0.5')
    expect(share(matchesOf(...evil, ...good), { good: 9, evil: 9 }).places).toBe(
      'evil evil good good good evil evil good good good',
    )
  })

  it('stay unchanged when other sources match far worse', () => {
    const { places } = share(matchesOf(...evil, '+good 0.1'), { good: 9, evil: 9 })
    expect(places).toBe('evil evil evil evil evil good')
  })

  it('demand more of other unapproved sources, and make room for them only beside a large source', () => {
    const matches = matchesOf(...evil, 'other 0.55', 'third 0.3')
    expect(share(matches, { other: 1, third: 1, evil: LARGE }).places).toBe(
      'evil evil other evil evil evil third',
    )
    expect(share(matches, { other: 1, third: 1, evil: LARGE - 1 }).places).toBe(
      'evil evil evil evil evil other third',
    )
  })

  it('go to whoever fits best without the crowding source', () => {
    const sources = { other: 1, third: 1, evil: LARGE }
    const matches = matchesOf(...evil, 'other 0.1', 'third 0.05')
    const alone = new Map(matches.slice(5).map(({ listing }, at) => [listing, at === 0 ? 0.4 : 0.5]))
    expect(share(matches, sources).places).toBe('evil evil evil evil evil other third')
    expect(share(matches, sources, undefined, undefined, alone).places).toMatch(/^evil evil third other evil/)
  })

  it('need not be shared beside a small source when nobody is approved', () => {
    const matches = matchesOf(...evil, 'other 0.9')
    const canBeShared = (tools: number, trust: number) => {
      const ledger = new SourceLedger()
      ledger.record(
        [],
        Array.from({ length: tools }, (_, at) => sampleListing(`x${at}`, '', 'evil')),
      )
      const approved = [sampleListing('mcp__good__a', '', 'good', { trust })]
      ledger.record([], approved)
      const places = new FirstPlaces(parseQuery('anything'), new Set(), ledger)
      const answer = places.canBeShared(matches, places.crowding(matches))
      ledger.record(approved, [])
      return [answer, places.canBeShared(matches, places.crowding(matches))]
    }
    expect(canBeShared(LARGE, 0)).toEqual([true, true])
    expect(canBeShared(LARGE - 1, 0)).toEqual([false, false])
    expect(canBeShared(LARGE - 1, 1)).toEqual([true, false])
  })

  it('go to the source that came first once all have used up their share', () => {
    const matches = matchesOf(...evil, 'other 0.8', 'other 0.8', 'other 0.8')
    expect(share(matches, { other: 70, evil: 70 }).places).toMatch(/^evil evil other other other/)
    expect(share(matches, { evil: 70, other: 70 }).places).toMatch(/^evil evil other other evil/)
  })

  it('are not limited for a server or a tool that the query names', () => {
    const matches = matchesOf(...evil, '+good 0.9')
    const sources = { good: 9, evil: LARGE }
    expect(share(matches, sources, 'evil tools please').crowding).toEqual([])
    const exact = new Set(matches.map(({ listing }) => listing))
    expect(share(matches, sources, 'anything', exact).crowding).toEqual([])
  })

  it('are not limited for approved servers, plugins and builtin tools', () => {
    const plugin = Array.from({ length: 5 }, (_, at) => ({
      listing: sampleListing(`p${at}`, ''),
      score: 1,
      reasons: [],
    }))
    expect(share(plugin, {}).crowding).toEqual([])
    expect(share(matchesOf('+a 1', '+a 1', '+a 1', '+a 1'), { a: LARGE }).crowding).toEqual([])
  })

  it('show decreasing scores, and say who made room', () => {
    const { shared } = share(matchesOf(...evil, '+good 0.4'), { good: 9, evil: 9 })
    expect(shared.map(({ score }) => score)).toEqual([1, 0.9, 0.4, 0.4, 0.4, 0.4])
    expect(shared[3]?.reasons).toEqual(['fits', 'moved down to make room for other sources'])
  })
})
