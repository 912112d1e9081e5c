import { describe, expect, it } from 'vitest'
import type { EventBody } from '../events.ts'
import { memoryStore } from '../store/memory-store.ts'
import type { Change, Store, StoredValue } from '../store/store.ts'
import { type Activations, activate, deactivate } from './activations.ts'
import { ActiveTools } from './active-tools.ts'
import type { ChangeOf } from './kept.ts'
import { loadSession } from './load-session.ts'
import { Persisted, type StorePlace } from './persisted.ts'
import { activeKeeping } from './saved-state.ts'
import { writeState } from './state.ts'

const CAPS = { maxActive: 0, maxActiveTokens: 0 }

/** Checks out one tool. */
const take =
  (name: string, caps = CAPS): ChangeOf<Activations> =>
  (state) =>
    activate(state, { candidates: [candidate(name)] }, caps).state
/** Gives one tool back. */
const giveBack =
  (name: string): ChangeOf<Activations> =>
  (state) =>
    deactivate(state, [name]).state
const candidate = (name: string) => ({ name, fingerprint: name, tokens: 1 })
const namesOf = (state: Activations = []) => state.map(({ name }) => name)

/** A memory store that works, hangs or fails, as it is set. */
class MoodyStore implements Store {
  mood: 'works' | 'hangs' | 'fails' = 'works'
  updates = 0
  readonly #inner = memoryStore()
  readonly #held: (() => void)[] = []

  get(key: string): Promise<StoredValue | undefined> {
    return this.#reach(() => this.#inner.get(key))
  }
  set(key: string, value: StoredValue): Promise<void> {
    return this.#inner.set(key, value)
  }
  update(key: string, change: Change): Promise<StoredValue | undefined> {
    this.updates++
    return this.#reach(() => this.#inner.update(key, change))
  }
  delete(key: string): Promise<void> {
    return this.#inner.delete(key)
  }
  close(): Promise<void> {
    return this.#inner.close()
  }

  /** Lets everything that hangs go on. */
  letGo(): void {
    for (const go of this.#held.splice(0)) go()
  }

  async saved(): Promise<readonly string[]> {
    const state = (await this.#inner.get('session:s')) as { activations?: Activations } | undefined
    return namesOf(state?.activations)
  }

  async #reach<Value>(work: () => Promise<Value>): Promise<Value> {
    if (this.mood === 'fails') throw new Error('away', { cause: new Error('ECONNREFUSED') })
    if (this.mood === 'hangs') await new Promise<void>((resolve) => this.#held.push(resolve))
    return work()
  }
}

/** A session's activations over a moody store, with timers that fire when the test says so. */
function setUp(store = new MoodyStore(), state: Activations = []) {
  const events: EventBody[] = []
  const timers = new Set<{ readonly delayMs: number; readonly fire: () => void }>()
  const retries: { readonly delayMs: number; readonly fire: () => void }[] = []
  const gone: string[] = []
  const place = {
    id: 's',
    writer: crypto.randomUUID(),
    store,
    emit: (event: EventBody) =>
      void (event.type === 'evicted' ? gone.push(...event.names) : events.push(event)),
    schedule(delayMs: number, fire: () => void) {
      const timer = { delayMs, fire }
      timers.add(timer)
      return () => void timers.delete(timer)
    },
    background(delayMs: number, fire: () => void) {
      const timer = { delayMs, fire }
      retries.push(timer)
      return () => void retries.splice(retries.indexOf(timer), 1)
    },
  }
  const { saved } = keep(place, state)
  return {
    retries,
    store,
    saved,
    place,
    gone,
    events,
    waits: () => [...timers].map(({ delayMs }) => delayMs),
    /** Everyone's patience is used up. */
    expire() {
      for (const timer of [...timers]) {
        timers.delete(timer)
        timer.fire()
      }
    },
    change(name: string) {
      saved.apply(take(name))
      return saved.save()
    },
  }
}

/** What is checked out, in a store. */
function keep(place: StorePlace, state: Activations = []) {
  const keeping = activeKeeping('s', { caps: CAPS, allowlists: [] })
  const saved: Persisted<Activations> = new Persisted(
    state,
    { ...keeping, onMerge: (now, past) => active.noteMerge(now, past) },
    place,
  )
  const active = new ActiveTools(saved, CAPS, place.emit)
  return { saved, active }
}

/** Lets all work that waits for nothing outside be done. */
const settle = () => new Promise<void>((resolve) => setImmediate(resolve))

async function isDone(work: Promise<unknown>): Promise<boolean> {
  let done = false
  void work.then(() => {
    done = true
  })
  await settle()
  return done
}

describe('what is checked out, in a store', () => {
  it('take effect at once, and are written', async () => {
    const { saved, store, change, waits } = setUp()
    saved.apply(take('a'))
    expect(namesOf(saved.value)).toEqual(['a'])
    expect(store.updates).toBe(0)
    await change('b')
    expect(await store.saved()).toEqual(['a', 'b'])
    expect(store.updates).toBe(1)
    expect(waits()).toEqual([])
  })

  it('are not written when nothing changed', async () => {
    const { saved, store } = setUp()
    await saved.save()
    await saved.close()
    expect(store.updates).toBe(0)
  })

  it('are written when a store that failed works again, though nothing changes any more', async () => {
    const { store, change, retries, events } = setUp()
    const retry = async () => {
      retries.shift()?.fire()
      await settle()
    }
    store.mood = 'fails'
    await change('a')
    await change('b')
    expect(retries.map(({ delayMs }) => delayMs)).toEqual([1_000])
    const told = events.length
    await retry()
    expect(retries.map(({ delayMs }) => delayMs)).toEqual([2_000])
    await retry()
    await retry()
    expect(retries.map(({ delayMs }) => delayMs)).toEqual([5_000])
    expect(events.length).toBe(told)
    store.mood = 'works'
    await retry()
    expect(await store.saved()).toEqual(['a', 'b'])
    expect(retries).toEqual([])
  })

  it('are tried again at a store that hangs, without adding writes for ever', async () => {
    const { store, saved, change, retries, expire } = setUp()
    store.mood = 'hangs'
    const waiting = change('a')
    await settle()
    expire()
    await waiting
    for (let round = 0; round < 5; round++) {
      retries.shift()?.fire()
      await settle()
      expire()
      await settle()
    }
    expect(store.updates).toBe(2)
    store.mood = 'works'
    store.letGo()
    await settle()
    expect(await store.saved()).toEqual(['a'])
    await saved.close()
    expect(retries).toEqual([])
  })

  it('name what a change made room for in the store, though it was not known here', async () => {
    const caps = { maxActive: 2, maxActiveTokens: 0 }
    const store = new MoodyStore()
    const [here, there] = [setUp(store), setUp(store)]
    const evicted = [here.gone, there.gone]
    const change = ({ saved }: typeof here, name: string) => {
      saved.apply(take(name, caps))
      return saved.save()
    }
    await change(here, 'a')
    await change(here, 'b')
    await change(there, 'c')
    expect(await store.saved()).toEqual(['b', 'c'])
    expect(evicted).toEqual([[], ['a']])
    // What it evicted knowingly is not named again.
    await change(there, 'd')
    expect(evicted).toEqual([[], ['a']])
  })

  it('need no store', async () => {
    const { place } = setUp()
    const { saved, active } = keep({ ...place, store: undefined })
    active.preload([candidate('a')])
    saved.replace()
    await Promise.all([saved.save(), saved.refresh()])
    await saved.close()
    expect(namesOf(active.all)).toEqual(['a'])
  })

  it('include what changed while a write was under way', async () => {
    const { saved, store, change } = setUp()
    store.mood = 'hangs'
    const first = change('a')
    const second = change('b')
    store.mood = 'works'
    store.letGo()
    await Promise.all([first, second])
    expect(await store.saved()).toEqual(['a', 'b'])
    expect(namesOf(saved.value)).toEqual(['a', 'b'])
    expect(store.updates).toBe(2)
  })
})

describe('a store that hangs', () => {
  it('is waited for two seconds, once: not by later changes', async () => {
    const { saved, store, change, waits, expire, events } = setUp()
    store.mood = 'hangs'
    const first = change('a')
    const meanwhile = change('b')
    expect(await isDone(first)).toBe(false)
    expect(waits()).toEqual([2_000])
    expire()
    await Promise.all([first, meanwhile])
    for (const name of ['c', 'd', 'e']) expect(await isDone(change(name))).toBe(true)
    expect(namesOf(saved.value)).toEqual(['a', 'b', 'c', 'd', 'e'])
    expect(events).toEqual([
      { type: 'save-failed', sessionId: 's', error: 'the store did not answer within 2000 ms' },
    ])
  })

  it('is tried again with the next change, one attempt at a time, and gets everything', async () => {
    const { store, change, expire } = setUp()
    store.mood = 'hangs'
    const first = change('a')
    expire()
    await first
    expect(store.updates).toBe(1)
    await change('b')
    await change('c')
    expect(store.updates).toBe(2)
    expire()
    await settle()
    // The first two writes are never answered at all.
    store.mood = 'works'
    await change('d')
    await settle()
    expect(store.updates).toBe(3)
    expect(await store.saved()).toEqual(['a', 'b', 'c', 'd'])
  })

  it('is waited for again once it has answered', async () => {
    const { store, change, expire, waits } = setUp()
    store.mood = 'hangs'
    const first = change('a')
    expire()
    await first
    store.mood = 'works'
    await change('b')
    await settle()
    store.mood = 'hangs'
    const later = change('c')
    expect(await isDone(later)).toBe(false)
    expect(waits()).toEqual([2_000])
    expire()
    await later
  })

  it('loses and doubles nothing when it answers late', async () => {
    const { saved, store, change, expire } = setUp()
    store.mood = 'hangs'
    const first = change('a')
    expire()
    await first
    store.mood = 'works'
    await change('b')
    await settle()
    store.letGo()
    await settle()
    expect(await store.saved()).toEqual(['a', 'b'])
    expect(namesOf(saved.value)).toEqual(['a', 'b'])
    await change('c')
    expect(await store.saved()).toEqual(['a', 'b', 'c'])
  })

  it('undoes nothing newer when it answers late', async () => {
    const { saved, store, change, expire } = setUp()
    await change('z')
    store.mood = 'hangs'
    const first = change('a')
    expire()
    await first
    store.mood = 'works'
    saved.apply(giveBack('a'))
    await saved.save()
    expect(await store.saved()).toEqual(['z'])
    store.letGo()
    await settle()
    expect(await store.saved()).toEqual(['z'])
    expect(namesOf(saved.value)).toEqual(['z'])
  })

  it('keeps a bounded list of changes, and applies them to what others wrote meanwhile', async () => {
    const { saved, store, change } = setUp()
    await change('a')
    store.mood = 'fails'
    for (let n = 0; n < 1_000; n++) {
      saved.apply(take(`t${n}`))
      if (n < 999) saved.apply(giveBack(`t${n}`))
    }
    await saved.save()
    store.mood = 'works'
    let changes = 0
    const other = setUp(store, saved.value)
    await other.change('x')
    const { update } = store
    store.update = (key, change) =>
      update.call(store, key, (current) => {
        changes++
        return change(current)
      })
    await saved.save()
    expect(changes).toBe(1)
    expect([...(await store.saved())].sort()).toEqual(['a', 't999', 'x'])
    expect(namesOf(saved.value).sort()).toEqual(['a', 't999', 'x'])
  })

  it('is waited for by close() no longer than by anyone else, and a moment once it did not answer', async () => {
    const { saved, store, change, expire, waits } = setUp()
    store.mood = 'hangs'
    saved.apply(take('a'))
    const closing = expect(saved.close()).rejects.toMatchObject({ code: 'store-unavailable' })
    await settle()
    expect(Math.max(...waits())).toBe(2_000)
    expire()
    await closing
    await change('b')
    const again = expect(saved.close()).rejects.toMatchObject({ code: 'store-unavailable' })
    await settle()
    expect(waits()).toContain(200)
    expire()
    await again
  })

  it('keeps close() waiting for one more attempt, then lets it throw with the cause', async () => {
    const { saved, store, change, expire } = setUp()
    store.mood = 'hangs'
    const first = change('a')
    expire()
    await first
    const closing = saved.close()
    const outcome = expect(closing).rejects.toMatchObject({
      code: 'store-unavailable',
      message: 'the session "s" could not be saved',
      cause: expect.objectContaining({ message: 'the store did not answer within 2000 ms' }),
    })
    await settle()
    expire()
    await outcome
  })

  it('that is back by then is written by close()', async () => {
    const { saved, store, change, expire } = setUp()
    store.mood = 'hangs'
    const first = change('a')
    expire()
    await first
    store.mood = 'works'
    await saved.close()
    expect(await store.saved()).toEqual(['a'])
  })
})

describe('a store that fails', () => {
  it('is an event with its cause; nothing rejects, and the next change writes everything', async () => {
    const { saved, store, change, events } = setUp()
    store.mood = 'fails'
    await change('a')
    expect(events).toEqual([{ type: 'save-failed', sessionId: 's', error: 'away: ECONNREFUSED' }])
    await change('b')
    expect(events).toHaveLength(2)
    store.mood = 'works'
    await change('c')
    expect(await store.saved()).toEqual(['a', 'b', 'c'])
    expect(namesOf(saved.value)).toEqual(['a', 'b', 'c'])
    await saved.close()
    expect(events).toHaveLength(2)
  })

  it('lets close() throw with its cause, after one more attempt', async () => {
    const { saved, store, change } = setUp()
    store.mood = 'fails'
    await change('a')
    await expect(saved.close()).rejects.toMatchObject({
      code: 'store-unavailable',
      cause: expect.objectContaining({ message: 'away' }),
    })
    expect(store.updates).toBe(2)
    store.mood = 'works'
    await saved.close()
    expect(await store.saved()).toEqual(['a'])
  })

  it('may throw at once, or contain an invalid state', async () => {
    const { place, events } = setUp()
    const update = () => {
      throw new Error('closed')
    }
    const { saved: throwing } = keep({ ...place, store: Object.assign(new MoodyStore(), { update }) })
    throwing.apply(take('a'))
    await throwing.save()
    expect(events).toMatchObject([{ type: 'save-failed', error: 'closed' }])

    const damaged = setUp()
    await damaged.store.set('session:s', { version: 7 })
    await damaged.change('a')
    expect(damaged.events).toMatchObject([
      { type: 'save-failed', error: expect.stringContaining('version is 7') },
    ])
    expect(namesOf(damaged.saved.value)).toEqual(['a'])
  })
})

describe('two replicas of one session', () => {
  it('keep all that both activate, and each learns of the other’s with its next change', async () => {
    const store = new MoodyStore()
    const [one, two] = [setUp(store), setUp(store)]
    const wanted = Array.from({ length: 20 }, (_, index) => `t${index}`)
    await Promise.all(wanted.map((name, index) => (index % 2 === 0 ? one : two).change(name)))
    expect([...(await store.saved())].sort()).toEqual([...wanted].sort())
    await one.change('last')
    expect(namesOf(one.saved.value).sort()).toEqual([...wanted, 'last'].sort())
  })

  it('do not bring back what the other gave back', async () => {
    const store = new MoodyStore()
    const [one, two] = [setUp(store), setUp(store)]
    await one.change('a')
    await two.change('b')
    two.saved.apply(giveBack('a'))
    await two.saved.save()
    await one.change('c')
    expect(await store.saved()).toEqual(['b', 'c'])
    expect(namesOf(one.saved.value)).toEqual(['b', 'c'])
  })

  it('write again what a store has lost, though the other has written since', async () => {
    for (const next of ['refresh', 'change'] as const) {
      const store = new MoodyStore()
      const one = setUp(store)
      await one.change('a')
      const two = setUp(store, one.saved.value)
      await two.change('b')
      await store.delete('session:s')
      await one.saved.refresh()
      expect(await store.saved()).toEqual(['a'])
      if (next === 'refresh') await two.saved.refresh()
      else await two.change('a')
      expect(await store.saved()).toEqual(['a', 'b'])
      expect(namesOf(two.saved.value)).toEqual(['a', 'b'])
      await one.saved.refresh()
      expect(namesOf(one.saved.value)).toEqual(['a', 'b'])
      expect([one.gone, two.gone]).toEqual([[], []])
    }
  })

  it('restore nothing that others gave back, after so many have written that their own name is forgotten', async () => {
    const store = new MoodyStore()
    const one = setUp(store)
    await one.change('a')
    const two = setUp(store, one.saved.value)
    two.saved.apply(giveBack('a'))
    await two.saved.save()
    for (let n = 0; n < 40; n++) await setUp(store).change('b')
    await one.saved.refresh()
    expect(namesOf(one.saved.value)).toEqual(['b'])
    expect(await store.saved()).toEqual(['b'])
  })

  it('learn which tools the other evicted', async () => {
    const store = new MoodyStore()
    const one = setUp(store)
    await one.change('a')
    const two = setUp(store, one.saved.value)
    two.saved.apply(giveBack('a'))
    await two.saved.save()
    expect(two.gone).toEqual([])
    await one.change('c')
    expect(one.gone).toEqual(['a'])
    await one.change('d')
    expect(one.gone).toEqual(['a'])
  })

  it('remember no more writers than replicas could write at a time', async () => {
    const store = new MoodyStore()
    for (let n = 0; n < 40; n++) await setUp(store).change(`t${n}`)
    const { writers } = (await store.get('session:s')) as { writers: object }
    expect(Object.keys(writers)).toHaveLength(16)
  })

  it('keep what they activate while the store answers, whichever write it answers first', async () => {
    const { saved, store, change } = setUp()
    store.mood = 'hangs'
    const first = change('a')
    saved.apply(take('b'))
    store.mood = 'works'
    store.letGo()
    await first
    expect(namesOf(saved.value)).toEqual(['a', 'b'])
    expect(await store.saved()).toEqual(['a', 'b'])
  })
})

describe('loading a session', () => {
  const STATE = writeState('s', take('a')([]), [])

  it('returns what is saved, and nothing for a new session', async () => {
    const { place, store, events, waits } = setUp()
    expect(await loadSession(place, false)).toBeUndefined()
    await store.set('session:s', JSON.parse(JSON.stringify(STATE)))
    expect(namesOf((await loadSession(place, false))?.conversation.active)).toEqual(['a'])
    expect([events, waits()]).toEqual([[], []])
  })

  it('gives up a store that hangs after two seconds, with an event', async () => {
    const { place, store, events, waits, expire } = setUp()
    store.mood = 'hangs'
    const loading = loadSession(place, false)
    expect(await isDone(loading)).toBe(false)
    expect(waits()).toEqual([2_000])
    expire()
    expect(await loading).toBeUndefined()
    expect(events).toEqual([
      { type: 'load-failed', sessionId: 's', error: 'the store did not answer within 2000 ms' },
    ])
  })

  it('goes on without a store that fails, with an event that has the cause', async () => {
    const { place, store, events } = setUp()
    store.mood = 'fails'
    expect(await loadSession(place, false)).toBeUndefined()
    expect(events).toEqual([{ type: 'load-failed', sessionId: 's', error: 'away: ECONNREFUSED' }])
  })

  it('refuses a damaged state', async () => {
    const { place, store } = setUp()
    await store.set('session:s', { version: 7 })
    await expect(loadSession(place, false)).rejects.toMatchObject({ code: 'config-invalid' })
  })
})
