import { describe, expect, it } from 'vitest'
import { memoryStore } from '../store/memory-store.ts'
import { storeSpill } from './store-spill.ts'

describe('storeSpill', () => {
  it('returns a text under its handle, whoever opens the store next', async () => {
    const store = memoryStore()
    const handle = await storeSpill(store).put('session', 'a long text')
    expect(handle).toMatch(/^r_[0-9a-f]{12}$/)
    expect(await storeSpill(store).get('session', handle)).toBe('a long text')
  })

  it('keeps the texts of one session apart', async () => {
    const spill = storeSpill(memoryStore())
    const handles = [await spill.put('session', 'one'), await spill.put('session', 'two')]
    expect(await Promise.all(handles.map((handle) => spill.get('session', handle)))).toEqual(['one', 'two'])
  })

  it('shows a session nothing of another, and takes session ids of any kind', async () => {
    const spill = storeSpill(memoryStore())
    const ids = ['a', 'a:b', '__proto__', '', 'x'.repeat(2_000)]
    const handles = await Promise.all(ids.map(async (id) => await spill.put(id, `of ${id}`)))
    for (const [index, id] of ids.entries()) {
      const seen = await Promise.all(handles.map((handle) => spill.get(id, handle)))
      expect(seen).toEqual(ids.map((other, place) => (place === index ? `of ${other}` : undefined)))
    }
  })

  it('reads nothing but spilled texts from the store, whatever handle a model makes up', async () => {
    const store = memoryStore()
    await store.set('session:1', { sessionId: 'session', text: 'not spilled' })
    await store.set('spill:r_odd', 'not an entry')
    const spill = storeSpill(store)
    for (const handle of ['', 'session:1', '../session:1', 'r_odd', 'r_nope', 'x'.repeat(1_000), 'r_\ud800'])
      expect(await spill.get('session', handle)).toBeUndefined()
  })

  it('forgets a text when its time is up', async () => {
    let now = 0
    const spill = storeSpill(memoryStore({ clock: () => now }), { ttlMs: 1_000 })
    const handle = await spill.put('session', 'text')
    now = 999
    expect(await spill.get('session', handle)).toBe('text')
    now = 1_000
    expect(await spill.get('session', handle)).toBeUndefined()
  })

  it('refuses a text that is too long, and limits out of range', async () => {
    const spill = storeSpill(memoryStore(), { maxChars: 4 })
    await expect(async () => spill.put('session', '12345')).rejects.toThrow('more than 4 characters')
    for (const options of [{ maxChars: 0 }, { ttlMs: -1 }, { ttlMs: Number.NaN }, { ttl: 5 }])
      expect(() => storeSpill(memoryStore(), options as object)).toThrow(
        expect.objectContaining({ code: 'config-invalid' }),
      )
  })
})
