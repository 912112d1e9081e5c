import { describe, expect, it } from 'vitest'
import { memoryStore } from './memory-store.ts'
import { storeContract } from './store-contract.ts'

describe('memoryStore', () => {
  for (const { name, run } of storeContract(openStore)) it(name, run)

  it('drops what was used longest ago when it holds too many entries', async () => {
    const store = memoryStore({ maxEntries: 2 })
    await store.set('a', 1)
    await store.set('b', 2)
    await store.get('a')
    await store.set('c', 3)
    expect([await store.get('a'), await store.get('b'), await store.get('c')]).toEqual([1, undefined, 3])
  })

  it('drops what was used longest ago when it holds too many characters', async () => {
    const store = memoryStore({ maxChars: 10 })
    await store.set('a', Uint8Array.of(1, 2, 3, 4, 5))
    await store.set('b', '123')
    await store.update('c', () => '4')
    expect([await store.get('a'), await store.get('b'), await store.get('c')]).toEqual([
      undefined,
      '123',
      '4',
    ])
    await store.set('b', 0)
    await store.set('d', Uint8Array.of(1, 2, 3, 4, 5, 6))
    expect(await store.get('c')).toBe('4')
  })

  it('refuses a value that is larger than the whole store, and leaves the others', async () => {
    const store = memoryStore({ maxChars: 10 })
    await store.set('a', 1)
    await expect(store.set('b', 'x'.repeat(9))).rejects.toMatchObject({ code: 'config-invalid' })
    expect(await store.get('a')).toBe(1)
  })

  it.each([{ maxEntry: 5 }, { maxEntries: 0 }, { maxChars: Number.NaN }, { clock: 5 }])(
    'refuses the options %o',
    (options) => {
      expect(() => memoryStore(options as object)).toThrow(
        expect.objectContaining({ code: 'config-invalid' }),
      )
    },
  )

  it('counts nothing of what has expired, whether or not it is asked for again', async () => {
    let now = 0
    const store = memoryStore({ maxEntries: 21, clock: () => now })
    for (let index = 0; index < 10; index++) await store.set(`lasting ${index}`, index)
    for (let index = 0; index < 10; index++) await store.set(`brief ${index}`, index, { ttlMs: 5 })
    now = 10
    for (let round = 0; round < 3; round++)
      for (let index = 0; index < 10; index++) await store.set('other', index)
    for (let index = 0; index < 9; index++) await store.set(`new ${index}`, index)
    expect(await store.get('lasting 0')).toBe(0)
  })
})

function openStore() {
  let now = 1_000
  return {
    store: memoryStore({ clock: () => now }),
    passTime: (ms: number) => {
      now += ms
    },
  }
}
