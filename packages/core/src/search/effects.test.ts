import { describe, expect, it } from 'vitest'
import type { Listing } from '../tool.ts'
import { effectOf } from '../tool-effect.ts'
import { askedEffect, mayBeHinted, readersFirst } from './effects.ts'
import { parseQuery } from './query/query.ts'

const listing = (ownName: string, more: Partial<Listing> = {}): Listing => ({
  name: ownName,
  ownName,
  description: '',
  inputSchema: {},
  source: { kind: 'mcp', server: 'a' },
  trust: 0,
  ...more,
})

describe('what a tool does', () => {
  it.each([
    ['get_issue', 'reads'],
    ['listIssues', 'reads'],
    ['repos-search', 'reads'],
    ['get_deleted_items', 'reads'],
    ['storage_table_list', 'reads'],
    ['create_issue', 'writes'],
    ['post_message', 'writes'],
    ['library.search_book', 'reads'],
    ['delete_repo', 'destroys'],
    ['list_delete', 'destroys'],
    ['git_branch_delete', 'destroys'],
    ['weather', undefined],
  ])('is said by the verb of its name: %s', (name, effect) => {
    expect(effectOf(listing(name))).toBe(effect)
  })

  it('is said by annotations where the name does not say it', () => {
    expect(effectOf(listing('weather', { annotations: { readOnlyHint: true } }))).toBe('reads')
    expect(effectOf(listing('weather', { annotations: { readOnlyHint: false } }))).toBe('writes')
    expect(effectOf(listing('get_rid', { annotations: { destructiveHint: true } }))).toBe('destroys')
  })

  it('is not hidden by a claim to be read-only', () => {
    expect(effectOf(listing('drop_table', { annotations: { readOnlyHint: true } }))).toBe('destroys')
  })

  it('is said by the first word of the description otherwise', () => {
    expect(effectOf(listing('weather', { description: 'Fetches the weather.' }))).toBe('reads')
    expect(effectOf(listing('weather', { description: 'Erases the weather.' }))).toBe('destroys')
  })
})

describe('what a request asks for', () => {
  it.each([
    ['list all tables', 'reads'],
    ['Can you please find the latest invoice', 'reads'],
    ['which bills are open', 'reads'],
    ['how many users do we have', 'reads'],
    ['list overdue issues and comment on each', 'writes'],
    ['find old branches, then delete them', 'destroys'],
    ['create an issue', 'writes'],
    ['how do I crop an image', undefined],
    ['the weather in Oslo', undefined],
  ])('%s', (request, effect) => {
    expect(askedEffect(request.split(' '))).toBe(effect)
  })
})

describe('a hint', () => {
  it('names a tool that deletes only if the request asks to delete', () => {
    expect(mayBeHinted(listing('delete_deployment'), 'undo the last deployment')).toBe(false)
    expect(mayBeHinted(listing('delete_deployment'), 'please remove the last deployment')).toBe(true)
    expect(mayBeHinted(listing('get_deployment'), 'undo the last deployment')).toBe(true)
  })
})

describe('a request to read', () => {
  const ranked = (names: readonly string[]) =>
    names.map((name, at) => ({ listing: listing(name), score: 1 - at / 10, reasons: [] }))
  const order = (request: string, names: readonly string[], places = 10) =>
    readersFirst(ranked(names), parseQuery(request, { as: 'words' }), places).map(
      (match) => match.listing.name,
    )

  it('puts a tool that changes something below one that reads the same thing', () => {
    expect(order('list issues', ['create_issue', 'close_issue', 'get_issues'])).toEqual([
      'get_issues',
      'create_issue',
      'close_issue',
    ])
  })

  it('puts a tool that deletes below any that reads', () => {
    expect(order('show the trash', ['empty_trash', 'get_mail'])).toEqual(['get_mail', 'empty_trash'])
  })

  it('leaves the others where they are', () => {
    expect(order('show my mail', ['send_mail', 'weather', 'get_time'])).toEqual([
      'send_mail',
      'weather',
      'get_time',
    ])
    expect(order('delete issues', ['delete_issue', 'get_issues'])).toEqual(['delete_issue', 'get_issues'])
    expect(order('list issues', ['create_issue', 'get_issues'], 1)).toEqual(['create_issue', 'get_issues'])
  })

  it('keeps the scores of the places', () => {
    const placed = readersFirst(
      ranked(['create_issue', 'get_issues']),
      parseQuery('list issues', { as: 'words' }),
      10,
    )
    expect(placed.map(({ score }) => score)).toEqual([1, 0.9])
  })

  it('does not lift a tool that hardly fits', () => {
    const matches = ranked(['delete_issue', 'get_issues']).map((match, at) => ({
      ...match,
      fit: at === 0 ? 1 : 0.2,
    }))
    const placed = readersFirst(matches, parseQuery('list issues', { as: 'words' }), 10)
    expect(placed.map((match) => match.listing.name)).toEqual(['delete_issue', 'get_issues'])
  })
})
