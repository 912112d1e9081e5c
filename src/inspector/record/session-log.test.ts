import type { ToolcribEvent } from 'toolcrib'
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
