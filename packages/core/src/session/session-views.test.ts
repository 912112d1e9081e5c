import { describe, expect, it } from 'vitest'
import type { View } from '../registry/view.ts'
import type { ViewBuilder } from '../registry/view-builder.ts'
import { memoryStore } from '../store/memory-store.ts'
import type { Store } from '../store/store.ts'
import type { Schedule } from '../time.ts'
import type { CallResult } from '../tool.ts'
import type { Told } from './conversation.ts'
import { loadSession } from './load-session.ts'
import { Persisted } from './persisted.ts'
import { PromptPrefix, type SentRequest } from './prompt-prefix.ts'
import { prefixKeeping, toldKeeping } from './saved-state.ts'
import { SessionViews } from './session-views.ts'

const SENT: SentRequest = {
  settings: 'x',
  surface: { tools: [], deferredCount: 0, strategy: 'dispatch', fingerprint: 'f' },
  behind: '- first (1): tool',
  promptNote: '',
  lateTools: [],
  servers: [],
  isWarned: false,
}

/** A result that quotes a server without trust. */
const QUOTING: CallResult = {
  toolCallId: '1',
  name: 'x',
  result: { ok: true, value: '' },
  durationMs: 0,
  untrusted: { server: 'first' },
}

/** A store whose writes and reads wait until they are let go, and a clock that is run by hand. */
function open(behaviour: 'hangs' | 'throws' | 'works') {
  const kept = memoryStore()
  const waiting: (() => void)[] = []
  const timers: (() => void)[] = []
  const retries: (() => void)[] = []
  const events: string[] = []
  const state = { behaviour }
  const hold = <Value>(work: () => Promise<Value>): Promise<Value> => {
    if (state.behaviour === 'throws') throw new Error('broken')
    if (state.behaviour === 'works') return work()
    return new Promise((resolve, reject) => waiting.push(() => work().then(resolve, reject)))
  }
  const store: Store = {
    get: (key) => hold(() => kept.get(key)),
    set: (key, value) => hold(() => kept.set(key, value)),
    update: (key, change) => hold(() => kept.update(key, change)),
    delete: (key) => kept.delete(key),
    close: () => kept.close(),
  }
  const schedule: Schedule = (_delayMs, run) => {
    timers.push(run)
    return () => {}
  }
  const place = {
    id: 'c',
    writer: 'w',
    store,
    schedule,
    background: (_delayMs: number, run: () => void) => {
      retries.push(run)
      return () => {}
    },
    emit: (event: { type: string }) => void events.push(event.type),
  }
  const prefix = new Persisted<PromptPrefix | undefined>(undefined, prefixKeeping('c', 'x'), place)
  const told: Persisted<readonly Told[]> = new Persisted(
    [],
    { ...toldKeeping('c'), onMerge: (now, past) => views.noteMerge(now, past) },
    place,
  )
  const view = { showing: () => view, deferred: new Map() } as unknown as View
  const views = new SessionViews({ current: () => view } as ViewBuilder, { prefix, told })
  views.begin(new PromptPrefix(SENT))
  return { kept, waiting, timers, retries, events, state, place, prefix, told, views }
}

/** Runs what waits, which may add to it. */
function runAll(waiting: (() => void)[]): void {
  for (const run of waiting.splice(0)) run()
}

const settled = () => new Promise((resolve) => setImmediate(resolve))

describe('the copy of a prompt prefix in a store', () => {
  it('is written once, and what came since with each change', async () => {
    const { kept, prefix, told, views, events, place } = open('works')
    expect([prefix.isDue, told.isDue]).toEqual([true, true])
    await Promise.all([prefix.save(), told.save()])
    expect(await kept.get('sent:c')).toEqual({ ...SENT, writers: [['w', 1]] })
    expect([prefix.isDue, told.isDue]).toEqual([false, false])
    views.warn([QUOTING])
    expect([prefix.isDue, told.isDue]).toEqual([false, true])
    await Promise.all([prefix.close(), told.close()])
    // The bytes are not written again.
    expect(await kept.get('sent:c')).toEqual({ ...SENT, writers: [['w', 1]] })
    const since = { of: expect.any(String), lateTools: [], servers: [], isWarned: true }
    expect(await kept.get('since:c')).toEqual({ ...since, writers: [['w', 2]] })
    expect(await loadSession(place, true)).toMatchObject({ sent: SENT, conversation: { told: [since] } })
    expect(views.sent).toEqual({ ...SENT, isWarned: true })
    expect(events).toEqual([])
  })

  it.each([
    ['is taken over from a replica that replaced it', { behind: '- second (1): tool' }],
    ['is continued where only what came since an older one is left', {}],
  ])('%s', async (_name, replaced) => {
    const { kept, prefix, told, views } = open('works')
    await Promise.all([prefix.save(), told.save()])
    await kept.set('sent:c', { ...SENT, ...replaced } as never)
    const other = { of: 'another', lateTools: [], servers: [], isWarned: false }
    const earlier = 'behind' in replaced ? [await kept.get('since:c')] : []
    await kept.set('since:c', { ...other, earlier, writers: [['w', 1]] } as never)
    views.warn([QUOTING])
    await told.save()
    await settled()
    expect([prefix.isDue, told.isDue]).toEqual([false, false])
    expect(prefix.value?.sent).toEqual({ ...SENT, ...replaced })
    expect(views.sent?.isWarned).toBe(!('behind' in replaced))
    expect(told.value).toHaveLength(2)
    expect(await kept.get('since:c')).toMatchObject(
      'behind' in replaced ? { of: 'another' } : { isWarned: true, earlier: [{ of: 'another' }] },
    )
  })

  it('is that of the replica which wrote first', async () => {
    const { kept, prefix, views } = open('works')
    await kept.set('sent:c', { ...SENT, behind: '- second (1): tool' } as never)
    await prefix.save()
    expect(views.prefix?.sent.behind).toBe('- second (1): tool')
    expect(await kept.get('sent:c')).toEqual({ ...SENT, behind: '- second (1): tool' })
  })

  it('is read with what an earlier version kept apart', async () => {
    const { kept, place } = open('works')
    const { id } = new PromptPrefix(SENT)
    await kept.set('sent:c', SENT as never)
    await kept.set('since:c', { of: id, lateTools: [], servers: ['first'], isWarned: true })
    expect(await loadSession(place, true)).toEqual({
      sent: SENT,
      allowlists: [],
      conversation: { active: [], told: [{ of: id, lateTools: [], servers: ['first'], isWarned: true }] },
    })
    await kept.set('since:c', { of: id, lateTools: 7 })
    expect(await loadSession(place, true)).toMatchObject({ sent: SENT, conversation: { told: [] } })
  })

  it('delays its session once where the store hangs, and is written when it answers again', async () => {
    const { kept, prefix, waiting, timers, events, state } = open('hangs')
    const saving = prefix.save()
    await settled()
    runAll(timers)
    await saving
    expect(events).toEqual(['save-failed'])
    // Nobody waits for it, but the next turn makes another attempt.
    await prefix.save()
    const closing = prefix.close()
    runAll(timers)
    await expect(closing).rejects.toMatchObject({
      code: 'store-unavailable',
      cause: new Error('the store did not answer within 2000 ms'),
    })
    state.behaviour = 'works'
    runAll(waiting)
    await settled()
    await prefix.close()
    expect(await kept.get('sent:c')).toMatchObject(SENT)
    expect(events).toEqual(['save-failed'])
  })

  it.each(['the next turn', 'a timer', 'closing'])(
    'is written by %s after a write that never returns',
    async (by) => {
      const { kept, prefix, told, views, timers, retries, events, state, waiting } = open('hangs')
      const saving = Promise.all([prefix.save(), told.save()])
      await settled()
      runAll(timers)
      await saving
      state.behaviour = 'works'
      views.warn([QUOTING])
      if (by === 'the next turn') await Promise.all([prefix.save(), told.save()])
      else if (by === 'a timer') runAll(retries)
      else await Promise.all([prefix.close(), told.close()])
      await settled()
      const isWarned = { isWarned: true, writers: [['w', 2]] }
      expect(await kept.get('since:c')).toMatchObject(isWarned)
      expect(await kept.get('sent:c')).toEqual({ ...SENT, writers: [['w', 1]] })
      expect([prefix.isDue, told.isDue]).toEqual([false, false])
      // The abandoned writes arrive after all, and change nothing.
      runAll(waiting)
      await settled()
      expect(await kept.get('since:c')).toMatchObject(isWarned)
      expect(await kept.get('sent:c')).toEqual({ ...SENT, writers: [['w', 1]] })
      expect(events).toEqual(['save-failed', 'save-failed'])
    },
  )

  it('takes a store that throws for one that rejects', async () => {
    const { prefix, events, state, kept } = open('throws')
    await prefix.save()
    await expect(prefix.close()).rejects.toMatchObject({
      code: 'store-unavailable',
      cause: new Error('broken'),
    })
    expect(new Set(events)).toEqual(new Set(['save-failed']))
    state.behaviour = 'works'
    await prefix.close()
    expect(await kept.get('sent:c')).toEqual({ ...SENT, writers: [['w', expect.any(Number)]] })
  })

  it.each(['hangs', 'throws'] as const)(
    'is done without where the store %s on loading',
    async (behaviour) => {
      const { place, timers, events } = open(behaviour)
      const loading = loadSession(place, true)
      await settled()
      for (const run of timers) run()
      expect(await loading).toBeUndefined()
      expect(events).toEqual(['load-failed', 'load-failed'])
    },
  )
})
