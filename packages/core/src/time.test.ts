import { describe, expect, it } from 'vitest'
import { readClock, type Schedule, scheduleWithTimers, waitPatiently } from './time.ts'

describe('readClock', () => {
  it('reads a function, an object and Date', () => {
    expect(readClock(() => 7)()).toBe(7)
    expect(readClock({ now: () => 8 })()).toBe(8)
    expect(readClock(Date)()).toBeCloseTo(Date.now(), -3)
  })
})

describe('waitPatiently', () => {
  /** A process that was held up: its first timer is due before it reads anything. */
  function heldUp(then: Schedule): Schedule {
    let timers = 0
    return (delayMs, fire) => then(timers++ === 0 ? 0 : delayMs, fire)
  }

  it('still waits after this process was held up for the whole time', async () => {
    let isRead = false
    const reading = new Promise<void>((resolve) => void setTimeout(resolve, 5)).then(() => {
      isRead = true
    })
    await waitPatiently(60_000, reading, heldUp(scheduleWithTimers))
    expect(isRead).toBe(true)
  })

  it('ends when the time is up, and with work that fails', async () => {
    const waits: number[] = []
    const atOnce: Schedule = (delayMs, fire) => {
      waits.push(delayMs)
      queueMicrotask(fire)
      return () => {}
    }
    await waitPatiently(2_000, new Promise(() => {}), atOnce)
    expect(waits.reduce((sum, ms) => sum + ms, 0)).toBe(2_000)
    await waitPatiently(60_000, Promise.reject(new Error('no')), scheduleWithTimers)
  })
})
