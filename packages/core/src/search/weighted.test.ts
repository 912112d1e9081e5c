import { describe, expect, it } from 'vitest'
import type { Listing } from '../tool.ts'
import { parseQuery } from './query/query.ts'
import { acceptEvery } from './searcher.ts'
import { sampleListing } from './searcher-contract.ts'
import { weighted } from './weighted.ts'

async function scores(query: string, listings: readonly Listing[]): Promise<Record<string, number>> {
  const index = weighted().open()
  index.update('all', listings)
  const { matches } = await index.rank(parseQuery(query), { limit: 10, accepts: acceptEvery })
  return Object.fromEntries(matches.map(({ listing, score }) => [listing.name, score]))
}

describe('weighted', () => {
  it('gives 10 for an equal name part, 12 for one of an MCP tool', async () => {
    expect(
      await scores('send', [sampleListing('send_note', 'x'), sampleListing('mcp__mail__send', 'x', 'mail')]),
    ).toEqual({ mcp__mail__send: 12, send_note: 10 })
  })

  it('gives 5 for a substring of a name part, 6 for one of an MCP tool', async () => {
    expect(
      await scores('end', [sampleListing('send', 'x'), sampleListing('mcp__mail__send', 'x', 'mail')]),
    ).toEqual({
      mcp__mail__send: 6,
      send: 5,
    })
  })

  it('counts the best name part once', async () => {
    expect(await scores('file', [sampleListing('file_to_file_profile', 'x')])).toEqual({
      file_to_file_profile: 10,
    })
  })

  it('adds 4 when the hint contains the word and 2 when the description does', async () => {
    const listing = sampleListing('send', 'Sends a MESSAGE', undefined, { searchHint: 'write messages' })
    expect(await scores('message', [listing])).toEqual({ send: 6 })
    expect(await scores('send', [listing])).toEqual({ send: 12 })
  })

  it('adds up the words, drops what scores nothing, and orders ties by name', async () => {
    const listings = [
      sampleListing('b_slack', 'post a message'),
      sampleListing('a_slack', 'post a message'),
      sampleListing('other', 'nothing'),
    ]
    expect(Object.entries(await scores('slack message', listings))).toEqual([
      ['a_slack', 12],
      ['b_slack', 12],
    ])
  })

  it('splits names at case, dots and dashes, and ignores the prefix mcp', async () => {
    expect(await scores('issues', [sampleListing('searchIssues', '')])).toEqual({ searchIssues: 10 })
    expect(await scores('send', [sampleListing('whatsapp.send', '')])).toEqual({ 'whatsapp.send': 10 })
    expect(await scores('mcp', [sampleListing('mcp__a__b', '', 'a')])).toEqual({})
  })

  it('says where each word was found', async () => {
    const index = weighted().open()
    index.update('all', [sampleListing('send_mail', 'Sends mail', undefined, { searchHint: 'mail out' })])
    const { matches } = await index.rank(parseQuery('mail sen'), { limit: 1, accepts: acceptEvery })
    expect(matches[0]?.reasons).toEqual([
      'name has "mail"',
      'hint contains "mail"',
      'description contains "mail"',
      'name contains "sen"',
      'description contains "sen"',
    ])
  })

  it('ignores a name of more than twelve parts, not counting its server', async () => {
    const name = (parts: number) => Array.from({ length: parts }, (_, at) => `w${at}x`).join('_')
    expect(await scores('w0x', [sampleListing(name(12), '')])).toEqual({ [name(12)]: 10 })
    expect(await scores('w0x', [sampleListing(name(13), '')])).toEqual({})
    const ofServer = sampleListing(`mcp__a_b__${name(12)}`, '', 'a_b', { ownName: name(12) })
    expect(await scores('w0x', [ofServer])).toEqual({ [ofServer.name]: 12 })
  })

  it('reads the first 64 words of a query and 2,000 characters of a description', async () => {
    const filler = (words: number) => Array.from({ length: words }, (_, at) => `q${at}q`).join(' ')
    const listings = [sampleListing('send', `${'-'.repeat(1_995)}early late`)]
    expect(await scores(`${filler(63)} send`, listings)).toEqual({ send: 10 })
    expect(await scores(`${filler(64)} send`, listings)).toEqual({})
    expect(await scores('early', listings)).toEqual({ send: 2 })
    expect(await scores('late', listings)).toEqual({})
    expect(await scores(`${filler(64).replaceAll(' ', '_')}_send`, listings)).toEqual({})
  })
})
