import { setImmediate as nextTurn } from 'node:timers/promises'
import { ToolcribError } from '@toolcrib/core'
import { type Announcements, announcementBoard } from '@toolcrib/mcp/stores'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { Json } from '../json-rpc.ts'
import type { ModernRequest } from '../modern/pending-call.ts'
import { RemoteCalls } from './remote-calls.ts'
import type { ReplicaMessenger } from './replica-messenger.ts'
import { Replicas, type ReplicaWork } from './replicas.ts'

const RETRY_MS = 500
const BOUND_TO = 'ada/tool'
const PARKED = { holder: 'holder', call: 'parked-1' }

describe('a call that another replica holds', () => {
  /** Replicas of one board. What they try again they try at once; no other timer fires. */
  function open() {
    const board = announcementBoard()
    const ran: Json[] = []
    const work = {
      resume: (call: string, _boundTo: string, { inputResponses }: ModernRequest) => {
        if (call !== PARKED.call || ran.length > 0) return undefined
        ran.push(inputResponses)
        return Promise.resolve({ content: 'done' })
      },
    }
    const nobody = {
      ...{ take: () => {}, ended: () => {}, wanted: () => false, listChanged: () => {} },
      ...{ reloaded: () => {}, missed: () => {}, resume: () => undefined },
      hasSealed: async (state) => state === 'genuine',
    } satisfies ReplicaWork
    const join = (id: string, own: Partial<Announcements> = {}, parked: Partial<ReplicaWork> = {}) => {
      const ids = [id]
      const replicas = new Replicas(
        { ...board.open(), ...own },
        {
          store: undefined,
          schedule: (ms, run) => {
            if (ms === RETRY_MS) setImmediate(run)
            return () => {}
          },
          newId: () => ids.shift() ?? crypto.randomUUID(),
          warn: () => {},
          limits: { askTimeoutMs: 60_000 },
        },
      )
      replicas.begin({ ...nobody, ...parked })
      onTestFinished(() => replicas.close())
      return replicas
    }
    return { board, join, ran, holder: join('holder', {}, work) }
  }

  function answer(text: string): ModernRequest {
    return {
      ...{ meta: {}, envelope: {}, requestState: undefined, inputResponses: { text } },
      ...{ signal: new AbortController().signal, notify: () => {}, flushed: async () => {} },
      ask: () => Promise.reject(new Error('nothing is asked')),
    }
  }

  it('is continued once, also when nobody heard what came of it and the client asks again elsewhere', async () => {
    const { board, join, ran, holder } = open()
    const { publish } = board.open()
    // It is announced, but the reply of Redis is lost each time.
    const deaf = join('deaf', {
      publish: async (topic, body) => {
        await publish(topic, body)
        throw new ToolcribError('store-unavailable', 'Redis did not answer')
      },
      subscribe: () => () => {},
    })
    await expect(deaf.resume(PARKED, BOUND_TO, answer('first'))).rejects.toMatchObject({
      data: { retryAfterMs: 1_000 },
    })
    const other = join('other')
    expect(await other.resume(PARKED, BOUND_TO, answer('again'))).toEqual({ content: 'done' })
    expect(await holder.resume(PARKED, BOUND_TO, answer('once more'))).toEqual({ content: 'done' })
    expect(ran).toEqual([{ text: 'first' }])
  })

  it('is continued with a state that only the replica that holds it can check, if that one has sealed it', async () => {
    const { join, ran } = open()
    const other = join('other')
    const resume = (unchecked: string) => other.resume({ ...PARKED, unchecked }, BOUND_TO, answer(unchecked))
    await expect(resume('forged')).rejects.toThrow('Invalid or expired requestState')
    expect(await resume('genuine')).toEqual({ content: 'done' })
    expect(ran).toEqual([{ text: 'genuine' }])
  })

  it('is not answered to another client or for another tool', async () => {
    const { join, holder } = open()
    const other = join('other')
    expect(await other.resume(PARKED, BOUND_TO, answer('first'))).toEqual({ content: 'done' })
    for (const replica of [other, holder])
      await expect(replica.resume(PARKED, 'bob/tool', answer('mine'))).rejects.toThrow(
        'Invalid or expired requestState',
      )
  })

  it('is waited for when the replica that holds it speaks while nobody is sure that it is there', async () => {
    const messenger = { id: 'other', send: async () => true, sendOrQueue: async () => true }
    const timers: (() => void)[] = []
    let sayGone = (_isAlive: boolean) => {}
    const looked = new Promise<boolean>((resolve) => {
      sayGone = resolve
    })
    const services = {
      schedule: (_ms: number, fire: () => void) => {
        timers.push(fire)
        return () => {}
      },
      newId: () => 'reply-1',
      limits: { askTimeoutMs: 60_000 },
    }
    const calls = new RemoteCalls(services, {
      messenger: messenger as unknown as ReplicaMessenger,
      locator: { isAlive: () => looked },
    })
    calls.begin({ resume: () => undefined, hasSealed: async () => true })
    const resumed = calls.resume(PARKED, BOUND_TO, answer('first'))
    await expect.poll(() => timers.length).toBe(1)
    timers[0]?.()
    await calls.receive('alive', { reply: 'reply-1' })
    sayGone(false)
    await nextTurn()
    await calls.receive('resumed', { reply: 'reply-1', result: { content: 'done' } })
    expect(await resumed).toEqual({ content: 'done' })
  })
})
