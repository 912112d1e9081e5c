import { announcementBoard } from '@toolcrib/mcp/stores'
import { describe, expect, it } from 'vitest'
import { SessionLocator } from './session-locator.ts'

const ARRIVAL_MS = 6_000
const PATIENCE_MS = 500
const GATHER_MS = 10

describe('the roll call of replicas', () => {
  /** A roll call of the replica `a`, whose timers fire when the test says so. */
  function open(announce: (topic: string) => Promise<boolean> = async () => true) {
    const sent: string[] = []
    const messages: unknown[] = []
    const timers = new Map<number, () => void>()
    const presence = announcementBoard().open()
    const locator = new SessionLocator(
      {
        id: 'a',
        send: (topic, message) => {
          sent.push(topic)
          messages.push(message)
          return announce(topic)
        },
      },
      presence,
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
      await locator.begin()
      fire(ARRIVAL_MS)
    }
    const arrive = async (...replicas: string[]) => {
      for (const replica of replicas) await presence.noteAlive(replica, 60_000)
    }
    const leave = async (replica: string) => {
      await presence.noteAlive(replica, 0)
      locator.left(replica)
    }
    /** Asks, and waits until the question is put. */
    const ask = async (session: string) => {
      const answer = locator.ask(session)
      for (let step = 0; step < 10; step++) await Promise.resolve()
      return { answer }
    }
    return { locator, presence, sent, messages, fire, begun, arrive, leave, ask }
  }

  it('knows that nobody has a session as soon as everybody said so, and announces nothing else', async () => {
    const { locator, sent, begun, arrive, ask } = open()
    await begun()
    expect(await locator.ask('alone')).toBe('none')
    expect(sent).toEqual([])
    await arrive('b', 'c')
    const asked = [await ask('s'), await ask('s')]
    locator.answered('s', 'b', false)
    locator.answered('s', 'c', false)
    expect(await Promise.all(asked.map(({ answer }) => answer))).toEqual(['none', 'none'])
    expect(sent).toEqual(['session-wanted'])
  })

  it('waits for nobody once one has it', async () => {
    const { locator, arrive, ask } = open()
    await locator.begin()
    await arrive('b', 'c')
    const { answer } = await ask('s')
    locator.answered('s', 'c', true)
    expect(await answer).toBe('held')
  })

  it('takes nobody for gone while it could not be recorded itself: others may have failed too', async () => {
    const { locator, presence, begun, fire } = open()
    await begun()
    expect(await locator.isAlive('b')).toBe(false)
    const noteAlive = presence.noteAlive.bind(presence)
    presence.noteAlive = () => Promise.reject(new Error('READONLY'))
    await locator.begin()
    expect(await locator.isAlive('b')).toBeUndefined()
    // It tries again soon.
    presence.noteAlive = noteAlive
    fire(1_000)
    await locator.begin()
    expect(await locator.isAlive('b')).toBeUndefined()
    fire(ARRIVAL_MS)
    expect(await locator.isAlive('b')).toBe(false)
  })

  it('waits for a replica that is silent once, and for one that leaves not at all', async () => {
    const { locator, begun, fire, arrive, leave, ask } = open()
    await begun()
    await arrive('b', 'silent')
    const first = await ask('s')
    locator.answered('s', 'b', false)
    fire(PATIENCE_MS)
    expect(await first.answer).toBe('unknown')
    const second = await ask('s')
    locator.answered('s', 'b', false)
    expect(await second.answer).toBe('none')
    locator.noteMessage('silent')
    const third = await ask('s')
    locator.answered('s', 'b', false)
    await leave('silent')
    expect(await third.answer).toBe('none')
  })

  it('asks a replica that missed a deadline again, also where there is no other', async () => {
    const { locator, sent, begun, fire, arrive, leave, ask } = open()
    await begun()
    await arrive('slow')
    const first = await ask('s')
    fire(PATIENCE_MS)
    expect(await first.answer).toBe('unknown')
    expect(await locator.ask('s')).toBe('unknown')
    expect(sent.filter((topic) => topic === 'session-wanted')).toHaveLength(2)
    locator.noteMessage('slow')
    const third = await ask('s')
    locator.answered('s', 'slow', true)
    expect(await third.answer).toBe('held')
    await leave('slow')
    expect(await locator.ask('s')).toBe('none')
    expect(sent.filter((topic) => topic === 'session-wanted')).toHaveLength(3)
  })

  it('decides nothing before it knows who is there', async () => {
    let isAway = true
    const { locator, arrive, ask, fire } = open(async () => !isAway)
    await locator.begin()
    expect(await locator.ask('s')).toBe('unknown')
    isAway = false
    await arrive('b')
    const { answer } = await ask('s')
    locator.answered('s', 'b', false)
    fire(PATIENCE_MS)
    expect(await answer).toBe('unknown')
  })

  it('decides nothing once the list of replicas was lost, until all had the time to be noted again', async () => {
    const { locator, presence, begun, arrive, ask, fire } = open()
    await begun()
    await presence.noteAlive('a', 0)
    const first = await ask('s')
    fire(PATIENCE_MS)
    expect(await first.answer).toBe('unknown')
    expect(await presence.alive()).toEqual(['a'])
    await arrive('b')
    fire(ARRIVAL_MS)
    const second = await ask('s')
    locator.answered('s', 'b', false)
    expect(await second.answer).toBe('none')
  })

  it('knows who is alive once the list is complete, and who left at once', async () => {
    const { locator, presence, fire, begun, arrive, leave } = open()
    await locator.begin()
    await arrive('b', 'c')
    expect(await locator.isAlive('b')).toBe(true)
    expect(await locator.isAlive('nobody')).toBeUndefined()
    await leave('c')
    expect(await locator.isAlive('c')).toBe(false)
    await begun()
    expect(await locator.isAlive('nobody')).toBe(false)
    // Redis was away for long: its own note is gone, and those of others may be.
    await presence.noteAlive('a', 0)
    expect(await locator.isAlive('nobody')).toBeUndefined()
    await locator.begin()
    expect(await locator.isAlive('nobody')).toBeUndefined()
    fire(ARRIVAL_MS)
    expect(await locator.isAlive('nobody')).toBe(false)
  })

  it('says what it has to answer to many questions in one message', () => {
    const { locator, sent, messages, fire } = open()
    for (let number = 0; number < 20; number++) locator.reply('b', `s${number}`, number === 7)
    locator.reply('c', 's7', true)
    fire(GATHER_MS)
    expect(sent).toEqual(['sessions-found'])
    expect(JSON.stringify(messages).match(/"isHeld":true/g)).toHaveLength(2)
  })
})
