import { describe, expect, it } from 'vitest'
import { RollCall } from './roll-call.ts'

describe('the roll call of replicas', () => {
  /** A roll call whose timers fire when the test says so. */
  function open(announce: (topic: string) => Promise<boolean> = async () => true) {
    const said: string[] = []
    const timers = new Map<number, () => void>()
    const rollCall = new RollCall(
      (topic) => {
        said.push(topic)
        return announce(topic)
      },
      (ms, run) => {
        timers.set(ms, run)
        return () => void timers.delete(ms)
      },
    )
    const fire = (ms: number) => {
      const run = timers.get(ms)
      timers.delete(ms)
      run?.()
    }
    const begun = async () => {
      await rollCall.begin()
      fire(2_000)
    }
    return { rollCall, said, fire, begun }
  }

  it('knows that nobody has a session as soon as everybody said so', async () => {
    const { rollCall, said, begun } = open()
    await begun()
    expect(await rollCall.ask('alone')).toBe('none')
    expect(said).toEqual(['joined'])
    for (const replica of ['b', 'c']) rollCall.heard(replica)
    const asked = [rollCall.ask('s'), rollCall.ask('s')]
    rollCall.answered('s', 'b', false)
    rollCall.answered('s', 'c', false)
    expect(await Promise.all(asked)).toEqual(['none', 'none'])
    expect(said).toEqual(['joined', 'session-wanted'])
  })

  it('waits for nobody once one has it', async () => {
    const { rollCall } = open()
    await rollCall.begin()
    for (const replica of ['b', 'c']) rollCall.heard(replica)
    const asked = rollCall.ask('s')
    rollCall.answered('s', 'c', true)
    expect(await asked).toBe('held')
  })

  it('waits for a replica that is silent once, and for one that leaves not at all', async () => {
    const { rollCall, begun, fire } = open()
    await begun()
    for (const replica of ['b', 'silent']) rollCall.heard(replica)
    const first = rollCall.ask('s')
    rollCall.answered('s', 'b', false)
    fire(500)
    expect(await first).toBe('unknown')
    const second = rollCall.ask('s')
    rollCall.answered('s', 'b', false)
    expect(await second).toBe('none')
    rollCall.heard('silent')
    const third = rollCall.ask('s')
    rollCall.answered('s', 'b', false)
    rollCall.left('silent')
    expect(await third).toBe('none')
  })

  it('asks a replica that missed a deadline again, also where there is no other', async () => {
    const { rollCall, said, begun, fire } = open()
    await begun()
    rollCall.heard('slow')
    const first = rollCall.ask('s')
    fire(500)
    expect(await first).toBe('unknown')
    expect(await rollCall.ask('s')).toBe('unknown')
    expect(said.filter((topic) => topic === 'session-wanted')).toHaveLength(2)
    rollCall.heard('slow')
    const third = rollCall.ask('s')
    rollCall.answered('s', 'slow', true)
    expect(await third).toBe('held')
    rollCall.left('slow')
    expect(await rollCall.ask('s')).toBe('none')
    expect(said.filter((topic) => topic === 'session-wanted')).toHaveLength(3)
  })

  it('decides nothing before it knows who is there', async () => {
    let isAway = true
    const { rollCall, said, fire } = open(async () => !isAway)
    await rollCall.begin()
    expect(await rollCall.ask('s')).toBe('unknown')
    isAway = false
    rollCall.heard('b')
    const asked = rollCall.ask('s')
    rollCall.answered('s', 'b', false)
    fire(500)
    expect(await asked).toBe('unknown')
    expect(said.filter((topic) => topic === 'joined').length).toBe(3)
  })
})
