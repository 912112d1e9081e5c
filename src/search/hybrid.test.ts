import { describe, expect, it } from 'vitest'
import { staticEmbedder } from '../embedders/static-embedder.ts'
import { hybrid } from './hybrid.ts'
import { parseQuery } from './query/query.ts'
import { acceptEvery, type Ranking, type SearchIndex } from './searcher.ts'
import { sampleListing, searcherContract } from './searcher-contract.ts'
import type { Embedder } from './vectors/embedder.ts'
import { fakeEmbedder, slowEmbedder } from './vectors/fake-embedder.ts'

const embedder = staticEmbedder()

describe('hybrid keeps the contract of searchers', () => {
  for (const { name, run } of searcherContract(() => hybrid({ embedder }))) it(name, run)
})

describe('hybrid, on an embedder that answers later, keeps the contract of searchers', () => {
  const slow = slowEmbedder(fakeEmbedder())
  for (const { name, run } of searcherContract(() => hybrid({ embedder: slow }))) it(name, run)
})

describe('hybrid', () => {
  const TOOLS = [
    sampleListing('mcp__sky__get_forecast', 'Tells tomorrow’s temperature and rain for a city', 'sky'),
    sampleListing('mcp__post__send_email', 'Delivers an e-mail message to its recipients', 'post'),
    sampleListing('mcp__bank__transfer_money', 'Moves an amount from one account to another', 'bank'),
    sampleListing('mcp__git__create_pull_request', 'Opens a pull request for a branch', 'git'),
    sampleListing('mcp__photos__resize_image', 'Makes a picture smaller or larger', 'photos'),
  ]
  const open = (): SearchIndex => {
    const index = hybrid({ embedder }).open()
    for (const tool of TOOLS) index.update(tool.name, [tool])
    return index
  }

  it('finds by meaning what shares no word with the query', async () => {
    const { matches } = await rank(open(), 'weather')
    expect(matches[0]?.listing.ownName).toBe('get_forecast')
    expect(matches[0]?.reasons.join()).toMatch(/means|meaning/)
  })

  it('does not call a word unmatched whose meaning was found', async () => {
    expect((await rank(open(), 'weather')).unmatchedTerms).toEqual([])
    expect((await rank(open(), 'weather zzyzx')).unmatchedTerms).toEqual(['zzyzx'])
  })

  it('finds the tool of each part of a request', async () => {
    const query = 'check the weather forecast in Rome tomorrow, then email the result to my whole team'
    const { matches } = await rank(open(), query, 2)
    expect(matches.map(({ listing }) => listing.ownName).sort()).toEqual(['get_forecast', 'send_email'])
    expect(matches.flatMap(({ reasons }) => reasons).join()).toContain('fits the part "')
  })

  it('trusts meaning in a short request, and words in a long one', async () => {
    // Whatever is asked means the same as `near`, and somewhat the same as `worded`, which alone holds the word.
    const embed = (text: string): Float32Array =>
      Float32Array.from(text.includes('worded') ? [0.6, 0.8] : [1, 0])
    const toy: Embedder = { name: 'toy', dimensions: 2, embed: (texts) => texts.map(embed) }
    const index = hybrid({ embedder: toy }).open()
    index.update('a', [sampleListing('near', 'Something else'), sampleListing('worded', 'About a quince')])
    const first = async (query: string): Promise<string | undefined> =>
      (await rank(index, query)).matches[0]?.listing.name
    const others = Array.from({ length: 15 }, (_, at) => 'xyz'.repeat(at + 1))
    expect(await first('quince')).toBe('near')
    expect(await first(`quince ${others.join(' ')}`)).toBe('worded')
  })

  it('gives reasons for words and for meaning', async () => {
    const [first] = (await rank(open(), 'create pull request')).matches
    expect(first?.reasons).toContain('"pull" in name, description')
    expect(first?.reasons.some((reason) => reason.includes('means') || reason.includes('meaning'))).toBe(true)
  })

  it('is surer of a match that fits than of one that hardly does', async () => {
    const [fitting] = (await rank(open(), 'send an email')).matches
    const [poor] = (await rank(open(), 'amount of cholesterol in grilled salmon')).matches
    expect(fitting?.score).toBeGreaterThan(0.8)
    expect(poor === undefined || poor.score < 0.5).toBe(true)
  })

  it('says so when nothing fits', async () => {
    const { total, matches, unmatchedTerms } = await rank(open(), 'zzyzx qwrtplk')
    expect([total, matches.length, unmatchedTerms]).toEqual([0, 0, ['zzyzx', 'qwrtplk']])
  })

  it('reads what a person would read, past hidden characters', async () => {
    const index = hybrid({ embedder }).open()
    index.update('a', [
      sampleListing('deliver_message', 'Sends an em\u200Bail\u{E0041}\u{E0042} to a mail\u00ADbox'),
    ])
    expect((await rank(index, 'email mailbox')).total).toBe(1)
  })

  it('leaves filters out of what is meant', async () => {
    const { matches } = await rank(open(), 'forecast -transfer_money')
    expect(matches[0]?.listing.ownName).toBe('get_forecast')
  })
})

async function rank(index: SearchIndex, text: string, limit = 5): Promise<Ranking> {
  return await index.rank(parseQuery(text), { limit, accepts: acceptEvery })
}
