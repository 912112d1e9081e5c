import { describe, expect, it } from 'vitest'
import { readClock } from './time.ts'

describe('readClock', () => {
  it('reads a function, an object and Date', () => {
    expect(readClock(() => 7)()).toBe(7)
    expect(readClock({ now: () => 8 })()).toBe(8)
    expect(readClock(Date)()).toBeCloseTo(Date.now(), -3)
  })
})
