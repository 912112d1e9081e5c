import { describe, expect, it } from 'vitest'
import { memoryStore } from '../store/memory-store.ts'
import type { Store } from '../store/store.ts'
import type { Schedule } from '../time.ts'
import type { CallResult } from '../tool.ts'
import { FirstRequest } from './first-request.ts'
import { loadSent, SavedFirstRequest } from './saved-first-request.ts'
import type { SentRequest } from './sent-request.ts'

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
  const first = new FirstRequest(SENT)
  const saved = new SavedFirstRequest({ first, begin: () => {} }, 'x', place)
  return { kept, waiting, timers, retries, events, state, place, first, saved }
}

/** Runs what waits, which may add to it. */
function runAll(waiting: (() => void)[]): void {
  for (const run of waiting.splice(0)) run()
}

const settled = () => new Promise((resolve) => setImmediate(resolve))

describe('the copy of a first request in a store', () => {
  it('is written once for each change', async () => {
    const { kept, saved, first, events } = open('works')
    expect(saved.isDue).toBe(true)
    await saved.save()
    expect(await kept.get('sent:c')).toEqual({ ...SENT, writers: [['w', 1]] })
    expect(saved.isDue).toBe(false)
    first.warn([QUOTING])
    expect(saved.isDue).toBe(true)
    await saved.close()
    expect(await kept.get('sent:c')).toMatchObject({ isWarned: true })
    expect(events).toEqual([])
  })

  it('delays its session once where the store hangs, and is written when it answers again', async () => {
    const { kept, saved, waiting, timers, events, state } = open('hangs')
    const saving = saved.save()
    await settled()
    runAll(timers)
    await saving
    expect(events).toEqual(['save-failed'])
    // Nobody waits for it, but the next turn makes another attempt.
    await saved.save()
    const closing = saved.close()
    runAll(timers)
    await expect(closing).rejects.toMatchObject({
      code: 'store-unavailable',
      cause: new Error('the store did not answer within 2000 ms'),
    })
    state.behaviour = 'works'
    runAll(waiting)
    await settled()
    await saved.close()
    expect(await kept.get('sent:c')).toMatchObject(SENT)
    expect(events).toEqual(['save-failed'])
  })

  it.each(['the next turn', 'a timer', 'closing'])(
    'is written by %s after a write that never returns',
    async (by) => {
      const { kept, saved, first, timers, retries, events, state, waiting } = open('hangs')
      const saving = saved.save()
      await settled()
      runAll(timers)
      await saving
      state.behaviour = 'works'
      first.warn([QUOTING])
      if (by === 'the next turn') await saved.save()
      else if (by === 'a timer') runAll(retries)
      else await saved.close()
      await settled()
      expect(await kept.get('sent:c')).toMatchObject({ isWarned: true })
      expect(saved.isDue).toBe(false)
      // The abandoned write arrives after all, and changes nothing.
      runAll(waiting)
      await settled()
      expect(await kept.get('sent:c')).toMatchObject({ isWarned: true, writers: [['w', 2]] })
      expect(events).toEqual(['save-failed'])
    },
  )

  it('takes a store that throws for one that rejects', async () => {
    const { saved, events, state, kept } = open('throws')
    await saved.save()
    await expect(saved.close()).rejects.toMatchObject({
      code: 'store-unavailable',
      cause: new Error('broken'),
    })
    expect(new Set(events)).toEqual(new Set(['save-failed']))
    state.behaviour = 'works'
    await saved.close()
    expect(await kept.get('sent:c')).toEqual({ ...SENT, writers: [['w', expect.any(Number)]] })
  })

  it.each(['hangs', 'throws'] as const)(
    'is done without where the store %s on loading',
    async (behaviour) => {
      const { place, timers, events } = open(behaviour)
      const loading = loadSent(place)
      await settled()
      for (const run of timers) run()
      expect(await loading).toBeUndefined()
      expect(events).toEqual(['load-failed'])
    },
  )
})
