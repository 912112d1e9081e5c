import { describe, expect, it } from 'vitest'
import { RefreshPace } from './refresh-pace.ts'

function begin() {
  const clock = { time: 0 }
  const warned: number[] = []
  const pace = new RefreshPace(
    () => clock.time,
    (delayMs) => void warned.push(delayMs),
  )
  /** A change, and the list that is read after it. */
  const change = (tookMs = 10) => {
    const delayMs = pace.next()
    clock.time += delayMs + tookMs
    pace.wasRead(tookMs)
    return delayMs
  }
  return { clock, warned, change }
}

describe('the pace of a list that changes', () => {
  it('reads a single change at once, also the next one after a while', () => {
    const { clock, warned, change } = begin()
    expect(change()).toBe(300)
    clock.time += 31_000
    expect([change(), warned]).toEqual([300, []])
  })

  it('is read less and less often while it keeps changing, with one warning', () => {
    const { warned, change } = begin()
    const delays = Array.from({ length: 15 }, () => change())
    expect(delays.slice(0, 6)).toEqual([300, 600, 1_200, 2_400, 4_800, 9_600])
    expect(delays.at(-1)).toBe(300_000)
    expect(warned).toEqual([9_600])
  })

  it('takes a tenth of the time at most, however long it takes to read', () => {
    const { change } = begin()
    expect([change(4_000), change(4_000), change(4_000)]).toEqual([300, 36_000, 36_000])
  })
})
