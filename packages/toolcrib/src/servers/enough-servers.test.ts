import type { McpEvent } from '@toolcrib/mcp'
import { describe, expect, it } from 'vitest'
import { enoughServers } from './enough-servers.ts'

describe('enoughServers', () => {
  it('is reached five seconds after the last server connected or failed, when tools are available', async () => {
    const { timers, schedule } = fakeTimers()
    let found = 0
    const enough = enoughServers(() => found > 0, schedule)
    enough.note(state('a', 'connecting'))
    enough.note(state('b', 'failed'))
    expect(timers).toEqual([])
    found = 1
    enough.note(state('a', 'ready'))
    enough.note(state('c', 'cold'))
    expect(timers).toMatchObject([
      { ms: 5_000, isStopped: true },
      { ms: 5_000, isStopped: false },
    ])
    timers[1]?.fire()
    await enough.reached
  })

  it('is not delayed by a server that fails repeatedly', () => {
    const { timers, schedule } = fakeTimers()
    const enough = enoughServers(() => true, schedule)
    for (let times = 0; times < 3; times++) enough.note(state('a', 'failed'))
    expect(timers).toMatchObject([{ isStopped: false }])
    enough.stop()
    expect(timers).toMatchObject([{ isStopped: true }])
  })
})

function state(server: string, state: 'cold' | 'connecting' | 'ready' | 'failed'): McpEvent {
  return { type: 'server-state', server, state, at: 0 }
}

function fakeTimers() {
  const timers: { ms: number; fire: () => void; isStopped: boolean }[] = []
  const schedule = (ms: number, fire: () => void) => {
    const timer = { ms, fire, isStopped: false }
    timers.push(timer)
    return () => {
      timer.isStopped = true
    }
  }
  return { timers, schedule }
}
