import { describe, expect, it } from 'vitest'
import { type Activity, addActivity, NO_ACTIVITY, NO_TOTALS, readActivity } from './activity.ts'

const calls = (count: number) => ({ ...NO_TOTALS, calls: count })

describe('activity', () => {
  it('adds up hour by hour, and keeps the latest', () => {
    const hours = (from: number) =>
      Object.fromEntries(
        Array.from({ length: 60 }, (_, at) => [`2026-11-${String(from + at).padStart(3, '0')}`, calls(1)]),
      )
    const sum = addActivity({ ...NO_ACTIVITY, hours: hours(0) }, { ...NO_ACTIVITY, hours: hours(30) })
    expect(Object.keys(sum.hours)).toHaveLength(72)
    expect(sum.hours['2026-11-018']).toEqual(calls(1))
    expect(sum.hours['2026-11-059']).toEqual(calls(2))
    expect(sum.hours['2026-11-017']).toBeUndefined()
  })

  it('keeps the tools that were used last', () => {
    const many = Object.fromEntries(
      Array.from({ length: 20_000 }, (_, at) => [
        `t${at}`,
        { found: 1, called: 0, failed: 0, durationMs: 0 },
      ]),
    )
    const one: Activity = {
      ...NO_ACTIVITY,
      tools: { fresh: { found: 0, called: 1, failed: 0, durationMs: 4 } },
    }
    const { tools } = addActivity({ ...NO_ACTIVITY, tools: many }, one)
    expect(Object.keys(tools)).toHaveLength(20_000)
    expect([tools.fresh?.called, tools.t0]).toEqual([1, undefined])
  })

  it.each([undefined, 'text', [], { hours: 3, misses: 'x' }])('reads %o as nothing', (stored) => {
    expect(readActivity(stored)).toEqual(NO_ACTIVITY)
  })
})
