import type { ToolcribEvent } from '@toolcrib/core'
import { describe, expect, it } from 'vitest'
import { SessionLog } from './session-log.ts'

const surfaced = (at: number, tokens: number): ToolcribEvent => ({
  type: 'surfaced',
  at,
  sessionId: 's',
  tools: 2,
  tokens,
  deferredCount: 10,
  fingerprint: `of ${tokens}`,
})

/** How many turns are counted for surfaces at these times with these tokens. */
function turnsOf(surfaces: readonly (readonly [at: number, tokens: number])[]): number | undefined {
  const log = new SessionLog()
  for (const [at, tokens] of surfaces) log.note(surfaced(at, tokens), 's', () => 50)
  return log.list()[0]?.totals.turns
}

const activated: ToolcribEvent = {
  type: 'activated',
  at: 5_000,
  sessionId: 's',
  names: ['a', 'b'],
  tokens: 120,
}

const tokensPerTool = () => 50

describe('what a turn saves', () => {
  it('is every tool less what the model reads', () => {
    const log = new SessionLog()
    expect(log.note(surfaced(1_000, 200), 's', tokensPerTool)).toEqual({ turns: 1, shown: 200, saved: 300 })
  })

  it('is less by the definitions that came in answers', () => {
    const log = new SessionLog()
    log.note(surfaced(1_000, 200), 's', tokensPerTool)
    log.note(activated, 's', tokensPerTool)
    expect(log.note(surfaced(9_000, 200), 's', tokensPerTool)).toEqual({ turns: 1, shown: 320, saved: 180 })
  })

  it('counts definitions once where they come with the surface', () => {
    const log = new SessionLog()
    log.note(surfaced(1_000, 200), 's', tokensPerTool)
    log.note(activated, 's', tokensPerTool)
    const grown = { ...surfaced(9_000, 320), tools: 4, deferredCount: 8 } as ToolcribEvent
    expect(log.note(grown, 's', tokensPerTool)).toEqual({ turns: 1, shown: 320, saved: 180 })
  })

  it('is nothing where nothing is deferred, or the search takes more than the tools', () => {
    const log = new SessionLog()
    const all = { ...surfaced(1_000, 200), deferredCount: 0 } as ToolcribEvent
    expect(log.note(all, 's', tokensPerTool).saved ?? 0).toBe(0)
    expect(log.note(surfaced(9_000, 700), 't', tokensPerTool).saved).toBe(0)
  })
})

const call = (type: 'call-started' | 'call-finished', at: number): ToolcribEvent =>
  ({
    type,
    at,
    sessionId: 'gateway:1',
    toolCallId: '1',
    name: 'add',
    ok: true,
    durationMs: 1,
  }) as ToolcribEvent

describe('the turns of a client', () => {
  const listed = (at: number, tokens: number) => ({ ...surfaced(at, tokens), sessionId: 'gateway:1' })

  it('begin with calls: a list that no call follows was read by nobody', () => {
    const log = new SessionLog()
    for (const [at, tokens] of [
      [1_000, 200],
      [9_000, 200],
      [20_000, 300],
    ] as const)
      expect(log.note(listed(at, tokens), 's', tokensPerTool)).toEqual({})
    expect(log.list()[0]?.totals.turns).toBe(0)
    expect(log.find('s')?.steps).toEqual([])
    expect(log.note(call('call-started', 30_000), 's', tokensPerTool)).toEqual({
      turns: 1,
      shown: 300,
      saved: 200,
    })
    log.note(call('call-finished', 30_001), 's', tokensPerTool)
    expect(log.find('s')?.steps).toMatchObject([
      { kind: 'surface', turn: 1, tokens: 300 },
      { kind: 'call', turn: 1 },
    ])
  })

  it('show the list that was read last until another is read', () => {
    const log = new SessionLog()
    log.note(listed(1_000, 200), 's', tokensPerTool)
    for (const at of [2_000, 3_000])
      for (const type of ['call-started', 'call-finished'] as const)
        log.note(call(type, at), 's', tokensPerTool)
    expect(log.list()[0]?.totals).toMatchObject({ turns: 2, shown: 400 })
  })
})

describe('what a turn shows', () => {
  const turnsOf = (log: SessionLog) => log.find('s')?.turns
  const evicted = { ...activated, type: 'evicted', names: ['b'] } as ToolcribEvent
  const reached = { ...activated, type: 'auto-activated', names: ['c'], tokens: 30 } as ToolcribEvent

  it('is its surface, and the definitions that came in answers and are still checked out', () => {
    const log = new SessionLog()
    const events = [
      surfaced(1_000, 200),
      activated,
      surfaced(9_000, 200),
      reached,
      evicted,
      surfaced(20_000, 200),
    ]
    for (const event of events) log.note(event, 's', tokensPerTool)
    const shown = { fingerprint: 'of 200', tokens: 200 }
    expect(turnsOf(log)).toEqual([
      { turn: 1, ...shown, inAnswers: 0, names: [], answered: [] },
      { turn: 2, ...shown, inAnswers: 120, names: ['a', 'b'], answered: ['a', 'b'] },
      { turn: 3, ...shown, inAnswers: 60, names: ['a', 'c'], answered: ['a'] },
    ])
  })

  it('is its surface alone where that shows what is checked out', () => {
    const log = new SessionLog()
    const grown = { ...surfaced(9_000, 320), tools: 4, deferredCount: 8 } as ToolcribEvent
    for (const event of [surfaced(1_000, 200), activated, grown]) log.note(event, 's', tokensPerTool)
    expect(turnsOf(log)?.at(-1)).toMatchObject({ tokens: 320, inAnswers: 0, answered: [] })
  })

  it('is not known of a session that began before', () => {
    const log = new SessionLog()
    log.note(call('call-started', 1), 's', tokensPerTool)
    expect(turnsOf(log)).toEqual([])
  })
})

describe('turns', () => {
  it('are counted once for a list that a client reads again at once', () => {
    const readings = [
      [1_000, 600],
      [1_020, 600],
      [1_300, 600],
    ] as const
    expect(turnsOf(readings)).toBe(1)
  })

  it('are counted for each surface that is different, or comes later', () => {
    const surfaces = [
      [1_000, 600],
      [1_020, 700],
      [9_000, 700],
    ] as const
    expect(turnsOf(surfaces)).toBe(3)
  })
})

it('a script is shown with its source, its calls, what it waits for and what it answered', () => {
  const log = new SessionLog()
  const note = (event: object) =>
    log.note({ at: 1, sessionId: 's', ...event } as ToolcribEvent, 's', tokensPerTool)
  const call = (toolCallId: string, name: string, more = {}) =>
    note({ type: 'call-finished', toolCallId, name, ok: true, durationMs: 1, ...more })
  note({ type: 'script-started', run: 'r', toolCallId: '1', source: 'return 1' })
  call('1.1', 'read')
  call('1.2', 'wipe', { ok: false, code: 'waiting' })
  note({ type: 'script-paused', run: 'r', names: ['wipe'] })
  note({ type: 'script-decided', run: 'r', granted: 1, denied: 0 })
  call('1.2', 'wipe')
  note({ type: 'script-ended', run: 'r', ok: true, answer: '1' })
  call('1', 'run_script')
  const { steps = [], totals } = log.find('s') ?? {}
  expect(steps.map(({ kind, text, names, inScript }) => [kind, text, names?.[0], inScript])).toEqual([
    ['script', 'return 1', undefined, undefined],
    ['call', '', 'read', 1],
    ['waiting', '', 'wipe', undefined],
    ['decided', '1 allowed, 0 refused', undefined, undefined],
    ['call', '', 'wipe', 2],
    ['script-ended', '1', undefined, undefined],
    ['call', '', 'run_script', undefined],
  ])
  expect(totals).toMatchObject({ calls: 3, errors: 0 })
})
