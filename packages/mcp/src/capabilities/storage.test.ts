import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { StorageAccess } from '@toolcrib/core'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { attachmentsBackend } from './attachments.ts'
import { type StorageOptions, storageBackend } from './storage.ts'
import { testScope } from './testing-scope.ts'

let home: string
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'toolcrib-storage-'))
})
afterEach(() => rm(home, { recursive: true, force: true }))

for (const kind of ['memory', 'directory'] as const) {
  const backend = (options: StorageOptions = {}) =>
    storageBackend(kind === 'directory' ? { directory: home, ...options } : options)

  describe(`storage in ${kind}`, () => {
    it('keeps, replaces and deletes values', async () => {
      const store = await backend().open(true, testScope())
      expect(await store.get('a')).toBeUndefined()
      await store.set('b', 'two\nlines')
      await store.set('a', '')
      await store.set('b', 'changed\n')
      expect([await store.get('a'), await store.get('b')]).toEqual(['', 'changed\n'])
      expect(await store.keys()).toEqual(['a', 'b'])
      await store.delete('a')
      await store.delete('never')
      expect(await store.keys()).toEqual(['b'])
    })

    it('keeps any key apart from any other', async () => {
      const store = await backend().open(true, testScope())
      const key = fc.oneof(
        fc.string({ minLength: 1, maxLength: 200 }),
        fc.constantFrom(
          '../up',
          '/etc/passwd',
          'a/b',
          'A',
          'a',
          'con',
          '__proto__',
          '\n',
          '.',
          '..',
          'é',
          'e\u0301',
        ),
      )
      await fc.assert(
        fc.asyncProperty(fc.dictionary(key, fc.string()), async (values) => {
          for (const stale of await store.keys()) await store.delete(stale)
          const entries = Object.entries(values)
          for (const [name, value] of entries) await store.set(name, value)
          expect(await store.keys()).toEqual(entries.map(([name]) => name).sort())
          for (const [name, value] of entries) expect(await store.get(name)).toBe(value)
        }),
        { numRuns: 20 },
      )
    })

    it('hides a tool’s values from the others', async () => {
      const storage = backend()
      const names = ['a', 'A', 'a/b', '../a', 'memory', 'shared memory', 'memory_save']
      for (const tool of names) await (await storage.open(true, testScope({ tool }))).set('key', tool)
      for (const tool of names)
        expect(await (await storage.open(true, testScope({ tool }))).get('key')).toBe(tool)
    })

    it('shares a space between the tools that the host, or their set, joins', async () => {
      const open = (storage: ReturnType<typeof backend>, tool: string) =>
        storage.open(true, testScope({ tool }))
      const standard = backend()
      await (await open(standard, 'memory_save')).set('key', 'value')
      expect(await (await open(standard, 'memory_search')).get('key')).toBe('value')
      expect(await (await open(standard, 'kanban_list')).get('key')).toBeUndefined()
      const own = backend({ shared: { notes: ['x', 'y'] } })
      await (await open(own, 'x')).set('k', 'v')
      expect(await (await open(own, 'y')).get('k')).toBe('v')
      await (await open(own, 'kanban_list')).set('k', 'mine')
      expect(await (await open(own, 'kanban_add')).get('k')).toBeUndefined()
    })

    it('separates sessions when configured to', async () => {
      const storage = backend({ perSession: true })
      await (await storage.open(true, testScope({ sessionId: 'one' }))).set('key', 'value')
      expect(await (await storage.open(true, testScope({ sessionId: 'two' }))).get('key')).toBeUndefined()
      expect(await (await storage.open(true, testScope({ sessionId: 'one' }))).get('key')).toBe('value')
    })

    it('loses no update among concurrent calls', async () => {
      const storage = backend()
      const add = (value: string | undefined) => String(Number(value ?? 0) + 1)
      const stores = await Promise.all(Array.from({ length: 20 }, () => storage.open(true, testScope())))
      await Promise.all(stores.map((store: StorageAccess) => store.update('count', add)))
      expect(await stores[0]?.get('count')).toBe('20')
      expect(await stores[0]?.update('count', () => undefined)).toBeUndefined()
      expect(await stores[0]?.keys()).toEqual([])
    })

    it('continues after an update that throws', async () => {
      const store = await backend().open(true, testScope())
      const failing = store.update('key', () => {
        throw new Error('no')
      })
      const next = store.set('key', 'value')
      await expect(failing).rejects.toThrow('no')
      await next
      expect(await store.get('key')).toBe('value')
    })

    it('enforces its limits', async () => {
      const store = await backend({ maxKeyLength: 3, maxValueBytes: 4, maxKeys: 2 }).open(true, testScope())
      await store.set('abc', 'ääx'.slice(0, 2))
      await expect(store.set('abcd', '')).rejects.toThrow('1 to 3')
      await expect(store.set('', '')).rejects.toThrow('1 to 3')
      await expect(store.set('a', 'äää')).rejects.toThrow('6 bytes')
      await store.set('b', '')
      await expect(store.set('c', '')).rejects.toThrow('2 keys')
      await store.set('b', 'over')
    })

    it('starts nothing once the call is cancelled', async () => {
      const store = await backend().open(true, testScope({ signal: AbortSignal.abort() }))
      await expect(store.set('key', 'value')).rejects.toMatchObject({ code: 'cancelled' })
      await expect(store.get('key')).rejects.toMatchObject({ code: 'cancelled' })
    })
  })
}

it('a directory keeps values for the next process, and nothing half-written', async () => {
  const store = await storageBackend({ directory: home }).open(true, testScope())
  await Promise.all(Array.from({ length: 10 }, (_unused, round) => store.set('key', `value ${round}`)))
  const again = await storageBackend({ directory: home }).open(true, testScope())
  expect(await again.get('key')).toBe('value 9')
  expect((await readdir(home, { recursive: true })).filter((name) => name.endsWith('.tmp'))).toEqual([])
})

it('attachments are those of the turn, and cannot be added to', async () => {
  const attachment = { name: 'a.txt', mimeType: 'text/plain', data: 'text' }
  const attachments = await attachmentsBackend().open(true, testScope({ attachments: [attachment] }))
  expect(attachments).toEqual([attachment])
  expect(Object.isFrozen(attachments)).toBe(true)
  expect(await attachmentsBackend().open(true, testScope())).toEqual([])
})
