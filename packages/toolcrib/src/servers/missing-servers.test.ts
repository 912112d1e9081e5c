import { PassThrough } from 'node:stream'
import { stripVTControlCharacters } from 'node:util'
import type { ServerStatus } from '@toolcrib/core'
import { describe, expect, it } from 'vitest'
import { fakeTerminal } from '../terminal/fake-terminal.fixture.ts'
import { noteMissing } from './missing-servers.ts'

const failed = (server: string): ServerStatus => ({
  server,
  state: 'failed',
  reason: 'it exited with code 1',
})
const ready: ServerStatus = { server: 'files', state: 'ready' }

describe('servers that are missing from a result', () => {
  it('have a line each on a terminal, or one for all when they are many', () => {
    const errors = Object.assign(new PassThrough(), { isTTY: true, columns: 80 })
    const { terminal } = fakeTerminal({ errors })
    const lines = () => stripVTControlCharacters(String(errors.read())).trimEnd().split('\n')
    expect(noteMissing(terminal, [ready, ...['a', 'b', 'c'].map(failed)], 'listed')).toBe(0)
    expect(lines()).toEqual(
      ['a', 'b', 'c'].map(
        (name) => `note ${name} is not listed: it exited with code 1; see "toolcrib doctor"`,
      ),
    )
    expect(noteMissing(terminal, [ready, ...['a', 'b', 'c', 'd'].map(failed)], 'listed')).toBe(0)
    expect(lines()).toEqual(['note 4 servers are not listed: a, b, c, d; see why with "toolcrib doctor"'])
  })

  it('have their cause and the next step on a terminal, whatever its width', () => {
    const errors = Object.assign(new PassThrough(), { isTTY: true, columns: 80 })
    const { terminal } = fakeTerminal({ errors })
    const pause = 'so it was not started again; next attempt in 9 s, or now with "toolcrib doctor"'
    const reason = `it exited with code 1; last output: no such region (failed 2 s ago, ${pause})`
    noteMissing(terminal, [ready, { server: 'broken', state: 'failed', reason }], 'searched')
    const said = stripVTControlCharacters(String(errors.read()))
    expect(said.replace(/\s+/g, ' ').trim()).toBe(
      'note broken is not searched: it exited with code 1; last output: no such region; see "toolcrib doctor"',
    )
    for (const line of said.split('\n')) expect(line.length).toBeLessThanOrEqual(80)
    const endless = { server: 'loud', state: 'failed', reason: `it exited: ${'a '.repeat(5_000)}` } as const
    noteMissing(terminal, [ready, endless], 'searched')
    expect(String(errors.read()).trim().split('\n').length).toBeLessThanOrEqual(4)
  })

  it('have their whole reason on a terminal when nothing else is there', () => {
    const errors = Object.assign(new PassThrough(), { isTTY: true, columns: 80 })
    const { terminal } = fakeTerminal({ errors })
    const reason =
      'it is not in toolcrib.lock, so it was not started; see "toolcrib diff", then "toolcrib approve a"'
    expect(noteMissing(terminal, [{ server: 'a', state: 'failed', reason }], 'listed')).toBe(1)
    const said = stripVTControlCharacters(String(errors.read()))
    expect(said.replaceAll('\n', ' ')).toContain(
      `note a is not listed: it failed: ${reason} error no server responded`,
    )
    for (const line of said.split('\n')) expect(line.length).toBeLessThanOrEqual(80)
  })

  it('have a line each, with the whole reason, where no person reads them', () => {
    const { terminal, stderr } = fakeTerminal()
    noteMissing(terminal, [ready, ...['a', 'b', 'c', 'd'].map(failed)], 'counted')
    expect(stripVTControlCharacters(stderr()).match(/is not counted: it failed: it exited/g)).toHaveLength(4)
  })
})
