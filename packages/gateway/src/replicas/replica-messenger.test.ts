import { ToolcribError } from '@toolcrib/core'
import { type Announcements, announcementBoard } from '@toolcrib/mcp/stores'
import { describe, expect, it, onTestFinished } from 'vitest'
import { ReplicaMessenger } from './replica-messenger.ts'

const RETRY_MS = 500
const DEADLINE_MS = 60_000

describe('what a replica says', () => {
  /** A messenger whose announcements fail as long as they are away, and whose timers fire when the test says so. */
  function open() {
    const real = announcementBoard().open()
    onTestFinished(() => real.close())
    const state = { isAway: true, tries: 0 }
    const heard: unknown[] = []
    const announcements: Announcements = {
      ...real,
      publish: async (topic, body) => {
        state.tries++
        if (state.isAway) throw new ToolcribError('store-unavailable', 'Redis is away')
        heard.push([topic, body])
      },
    }
    const timers: { ms: number; run: () => void }[] = []
    const warnings: string[] = []
    const messenger = new ReplicaMessenger(announcements, {
      store: undefined,
      newId: () => 'me',
      warn: (warning) => void warnings.push(warning),
      limits: { askTimeoutMs: DEADLINE_MS },
      schedule: (ms, run) => {
        const timer = { ms, run }
        timers.push(timer)
        return () => {
          if (timers.includes(timer)) timers.splice(timers.indexOf(timer), 1)
        }
      },
    })
    const fire = async (ms: number) => {
      for (const timer of timers.filter((each) => each.ms === ms)) {
        if (timers.includes(timer)) timers.splice(timers.indexOf(timer), 1)
        timer.run()
      }
      await new Promise((resolve) => setImmediate(resolve))
    }
    return { messenger, state, heard, fire, timers, warnings }
  }

  it('is kept while the others cannot be reached, and sent in its order when they can', async () => {
    const { messenger, state, heard, fire, timers, warnings } = open()
    const words = ['one', 'two', 'three']
    for (const word of words) expect(await messenger.sendOrQueue('client-message', { word })).toBe(true)
    await fire(RETRY_MS)
    expect(heard).toEqual([])
    state.isAway = false
    await fire(RETRY_MS)
    expect(heard).toEqual(words.map((word) => ['client-message', { word, by: 'me' }]))
    expect(warnings).toEqual(['Redis is away'])
    expect(timers).toEqual([])
    expect(await messenger.sendOrQueue('client-message', { word: 'four' })).toBe(true)
    expect(heard).toHaveLength(4)
  })

  it('is dropped after the time that a client has for an answer', async () => {
    const { messenger, state, heard, fire } = open()
    await messenger.sendOrQueue('client-message', { word: 'late' })
    await fire(DEADLINE_MS)
    state.isAway = false
    await fire(RETRY_MS)
    expect(heard).toEqual([])
  })

  it('is refused when too much waits, of one session or of all', async () => {
    const { messenger, state } = open()
    const keep = (session: string) => messenger.sendOrQueue('client-message', { session })
    for (let number = 0; number < 100; number++) expect(await keep('one')).toBe(true)
    expect(await keep('one')).toBe(false)
    for (let number = 0; number < 900; number++) expect(await keep(`other-${number}`)).toBe(true)
    expect(await keep('more')).toBe(false)
    // What waits is not tried again with each message.
    expect(state.tries).toBe(1)
  })

  it('is refused when it is too long to wait together with the rest', async () => {
    const { messenger } = open()
    const long = { text: 'x'.repeat(15_000_000) }
    expect(await messenger.sendOrQueue('client-message', long)).toBe(true)
    expect(await messenger.sendOrQueue('client-message', long)).toBe(true)
    expect(await messenger.sendOrQueue('client-message', long)).toBe(false)
  })
})
