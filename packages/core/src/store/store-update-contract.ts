import { expect, type MakeCheck, type StoreCheck } from './contract-checks.ts'
import type { StoredValue } from './store.ts'

/** What an update does, alone and among others. */
export function updateChecks(check: MakeCheck): StoreCheck[] {
  return [
    check('replaces a value by what the change makes of it, and returns that', async ({ store }) => {
      expect(await store.update('a', (current) => [current === undefined ? 'none' : 'some']), ['none'])
      expect(await store.update('a', (current) => ({ was: current as string[] })), { was: ['none'] })
      expect(await store.get('a'), { was: ['none'] })
      expect(await store.update('a', () => Uint8Array.of(1, 2)), Uint8Array.of(1, 2))
    }),
    check('returns a copy from an update too', async ({ store }) => {
      const made = { n: 1 }
      const returned = (await store.update('a', () => made)) as { n: number }
      made.n = 2
      returned.n = 3
      expect(await store.get('a'), { n: 1 })
    }),
    check('deletes the key when a change returns undefined', async ({ store }) => {
      await store.set('a', 1)
      expect(await store.update('a', () => undefined), undefined)
      expect(await store.update('never', () => undefined), undefined)
      expect([await store.get('a'), await store.get('never')], [undefined, undefined])
    }),
    check('writes nothing when a change returns the value it was given', async ({ store }) => {
      await store.set('a', { n: 1 })
      const returned = await store.update('a', (current) => {
        ;(current as { n: number }).n = 2
        return current
      })
      expect(typeof returned, 'object')
      expect(await store.get('a'), { n: 1 })
    }),
    check('passes on what a change throws, writes nothing and goes on', async ({ store }) => {
      await store.set('a', 'old')
      const fault = new Error('no')
      const caught = await store
        .update('a', () => {
          throw fault
        })
        .catch((thrown: unknown) => thrown)
      expect(caught === fault, true)
      expect(await store.get('a'), 'old')
      expect(await store.update('a', (current) => `${current} and new`), 'old and new')
    }),
    check('loses none of a hundred updates at once', async ({ store }) => {
      await Promise.all(Array.from({ length: 100 }, () => store.update('count', increment)))
      expect(await store.get('count'), 100)
    }),
    check('loses no update among writes to other keys', async ({ store }) => {
      const keys = ['a', 'b', 'c', 'd']
      await Promise.all(
        Array.from({ length: 80 }, (_, index) => store.update(keys[index % 4] ?? '', increment)),
      )
      expect(await Promise.all(keys.map((key) => store.get(key))), [20, 20, 20, 20])
    }),
    check(
      'applies a set, an update and a delete of one key in the order they were called',
      async ({ store }) => {
        const first = store.set('a', 1)
        const second = store.update('a', increment)
        await Promise.all([first, second])
        expect(await store.get('a'), 2)
        await Promise.all([store.delete('a'), store.update('a', increment)])
        expect(await store.get('a'), 1)
      },
    ),
  ]
}

/** What several processes do to the same data. */
export function sharingChecks(check: MakeCheck): StoreCheck[] {
  return [
    check('shows every process what another one wrote', async ({ store, openAgain }) => {
      if (openAgain === undefined) return
      const other = await openAgain()
      await store.set('a', { n: 1 })
      expect(await other.get('a'), { n: 1 })
      await other.update('a', () => Uint8Array.of(7))
      expect(await store.get('a'), Uint8Array.of(7))
      await store.delete('a')
      expect(await other.get('a'), undefined)
      await other.close()
    }),
    check('keeps values after it was closed', async ({ store, openAgain }) => {
      if (openAgain === undefined) return
      await store.set('a', 'kept')
      await store.close()
      const next = await openAgain()
      expect(await next.get('a'), 'kept')
      await next.close()
    }),
    check('loses no update of several processes at once', async ({ store, openAgain }) => {
      if (openAgain === undefined) return
      const other = await openAgain()
      await Promise.all(
        Array.from({ length: 60 }, (_, index) => (index % 2 ? store : other).update('count', increment)),
      )
      expect([await store.get('count'), await other.get('count')], [60, 60])
      await other.close()
    }),
  ]
}

function increment(current: StoredValue | undefined): StoredValue {
  return Number(current ?? 0) + 1
}
