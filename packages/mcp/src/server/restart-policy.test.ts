import { describe, expect, it } from 'vitest'
import { RestartPolicy } from './restart-policy.ts'

describe('RestartPolicy', () => {
  it('pauses longer after each failure, jittered, and trips after five', () => {
    const policy = new RestartPolicy({ now: () => 0, random: () => 1 })
    const pauses = [1, 2, 3, 4, 5].map(() => {
      policy.noteFailure({ upMs: 0 })
      return policy.pauseMs
    })
    expect(pauses).toEqual([200, 400, 800, 1_600, 30_000])
    expect(policy.isTripped).toBe(true)
    const early = new RestartPolicy({ now: () => 0, random: () => 0 })
    early.noteFailure({ upMs: 0 })
    expect(early.pauseMs).toBe(100)
  })

  it('resets the count after a stable run', () => {
    const policy = new RestartPolicy({ now: () => 0, random: () => 1 })
    for (let failures = 0; failures < 4; failures++) policy.noteFailure({ upMs: 0 })
    policy.noteFailure({ upMs: 10_000 })
    expect(policy.isTripped).toBe(false)
    expect(policy.pauseMs).toBe(200)
  })

  it('allows one attempt when the delay is over', () => {
    let now = 0
    const policy = new RestartPolicy({ now: () => now, random: () => 1 })
    for (let failures = 0; failures < 5; failures++) policy.noteFailure({ upMs: 0 })
    now = 30_000
    expect(policy.pauseMs).toBe(0)
  })
})
