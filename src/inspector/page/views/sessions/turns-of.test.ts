import { describe, expect, it } from 'vitest'
import type { SessionStep } from '../../../record/session-log.ts'
import { turnsOf } from './turns-of.ts'

const step = (turn: number, kind: SessionStep['kind'], more: Partial<SessionStep> = {}): SessionStep => ({
  at: 0,
  turn,
  kind,
  text: '',
  ...more,
})

describe('the turns of a session', () => {
  it('have the surface that was listed last, and what was checked out when they began', () => {
    const turns = turnsOf([
      step(0, 'opened'),
      step(1, 'surface', { tokens: 300, isExact: true, deferred: 40 }),
      step(1, 'search'),
      step(1, 'activated', { names: ['rain', 'sun'], tokens: 90 }),
      step(2, 'call', { names: ['rain'] }),
      step(2, 'evicted', { names: ['sun'] }),
      step(3, 'call', { names: ['rain'] }),
      step(4, 'surface', { tokens: 390, deferred: 39, names: ['rain'] }),
    ])
    expect(turns).toEqual([
      { turn: 1, tokens: 300, isExact: true, deferred: 40, names: [] },
      { turn: 2, tokens: 300, isExact: true, deferred: 40, names: ['rain', 'sun'] },
      { turn: 3, tokens: 300, isExact: true, deferred: 40, names: ['rain'] },
      { turn: 4, tokens: 390, isExact: false, deferred: 39, names: ['rain'] },
    ])
  })

  it('are those whose surface is known', () => {
    expect(turnsOf([step(7, 'call', { names: ['rain'] })])).toEqual([])
  })
})
