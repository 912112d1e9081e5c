import { describe, expect, it } from 'vitest'
import { summaryOf } from './summary.ts'

const event = (type: string, details: Record<string, unknown>, server?: string) => ({
  number: 1,
  at: 0,
  type,
  details,
  ...(server === undefined ? {} : { server }),
})

describe('an event in a few words', () => {
  it('names what was searched and found, with the first few', () => {
    const names = ['a', 'b', 'c', 'd', 'e'].map((name) => `mcp__files__${name}`)
    expect(summaryOf(event('searched', { query: 'read', total: 1_204, names }))).toBe(
      '“read” → 1,204 found: files · a, files · b, files · c, files · d and 1 more',
    )
  })

  it('says that a search found nothing', () => {
    expect(summaryOf(event('searched', { query: 'pizza', total: 0, names: [] }))).toBe(
      '“pizza” → nothing found',
    )
  })

  it('says how a session was opened', () => {
    expect(summaryOf(event('session-opened', { restored: 0 }))).toBe('new')
    expect(summaryOf(event('session-opened', { restored: 2 }))).toBe('2 tools restored')
  })

  it('says how a call ended', () => {
    const call = { name: 'mcp__files__read', durationMs: 1_500 }
    expect(summaryOf(event('call-finished', { ...call, ok: true }))).toBe('files · read · ok in 1.5 s')
    expect(summaryOf(event('call-finished', { ...call, ok: false, code: 'timeout' }))).toBe(
      'files · read · timeout in 1.5 s',
    )
  })

  it('says what changed in a list of tools, or that nothing did', () => {
    const none = { added: [], changed: [], removed: [], skipped: [] }
    expect(summaryOf(event('server-synced', none, 'files'))).toBe('files · unchanged')
    expect(summaryOf(event('server-synced', { ...none, added: ['a', 'b'], removed: ['c'] }, 'files'))).toBe(
      'files · tools: 2 added, 1 removed',
    )
  })

  it('says what looked suspicious, and where', () => {
    const finding = { tool: 'read', message: 'holds tag characters', severity: 'high' }
    expect(summaryOf(event('tool-suspicious', { finding }, 'files'))).toBe(
      'files · read: holds tag characters',
    )
  })

  it('leaves events that it does not know to their details', () => {
    expect(summaryOf(event('something-new', { any: 1 }))).toBeUndefined()
  })
})
