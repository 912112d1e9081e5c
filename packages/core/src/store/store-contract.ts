import {
  expect,
  expectCode,
  type MakeCheck,
  type StoreCheck,
  type StoreUnderTest,
} from './contract-checks.ts'
import type { StoredValue } from './store.ts'
import { sharingChecks, updateChecks } from './store-update-contract.ts'

/**
 * The contract of stores, for any test runner: `for (const { name, run } of storeContract(openEmptyStore)) it(name,
 * run)`. Each check opens and closes its own empty store.
 */
export function storeContract(open: () => StoreUnderTest | Promise<StoreUnderTest>): StoreCheck[] {
  const check = (name: string, run: (tested: StoreUnderTest) => Promise<void>): StoreCheck => ({
    name,
    async run() {
      const tested = await open()
      try {
        await run(tested)
      } finally {
        await tested.store.close()
      }
    },
  })
  return [
    ...valueChecks(check),
    ...keyChecks(check),
    ...expiryChecks(check),
    ...updateChecks(check),
    ...sharingChecks(check),
  ]
}

function valueChecks(check: MakeCheck): StoreCheck[] {
  return [
    check('returns what was set last, and undefined for what was never set', async ({ store }) => {
      expect(await store.get('a'), undefined)
      await store.set('a', 'first')
      await store.set('b', 'other')
      await store.set('a', 'second')
      expect([await store.get('a'), await store.get('b')], ['second', 'other'])
    }),
    check('deletes a value, and does nothing where there is none', async ({ store }) => {
      await store.set('a', 1)
      await store.set('b', 2)
      await store.delete('a')
      await store.delete('a')
      await store.delete('never')
      expect([await store.get('a'), await store.get('b')], [undefined, 2])
    }),
    check('keeps JSON of every kind', async ({ store }) => {
      for (const [index, value] of JSON_VALUES.entries()) await store.set(`json:${index}`, value)
      for (const [index, value] of JSON_VALUES.entries()) expect(await store.get(`json:${index}`), value)
    }),
    check('leaves out object members that are undefined', async ({ store }) => {
      await store.set('a', { kept: 1, gone: undefined })
      expect(Object.keys(Object(await store.get('a'))), ['kept'])
    }),
    check('keeps bytes of every kind, as bytes', async ({ store }) => {
      const samples = [new Uint8Array(), Uint8Array.of(0, 10, 13, 34, 128, 255), longBytes()]
      for (const bytes of samples) {
        await store.set('bytes', bytes)
        expect(await store.get('bytes'), bytes)
      }
      await store.set('bytes', longBytes().subarray(3, 7))
      expect(await store.get('bytes'), longBytes().slice(3, 7))
    }),
    check('keeps copies: what goes in and what comes out may be changed', async ({ store }) => {
      const given = { list: [1, 2] }
      const bytes = Uint8Array.of(1, 2)
      await store.set('json', given)
      await store.set('bytes', bytes)
      given.list.push(3)
      bytes.fill(9)
      const got = (await store.get('json')) as { list: number[] }
      got.list.push(4)
      ;((await store.get('bytes')) as Uint8Array).fill(8)
      expect(await store.get('json'), { list: [1, 2] })
      expect(await store.get('bytes'), Uint8Array.of(1, 2))
    }),
    check('refuses values that are neither JSON nor bytes, and leaves the old one', async ({ store }) => {
      await store.set('a', 'old')
      for (const value of notStorable()) {
        await expectCode('config-invalid', store.set('a', value))
        await expectCode(
          'config-invalid',
          store.update('a', () => value),
        )
      }
      await expectCode('config-invalid', store.set('a', undefined as unknown as StoredValue))
      expect(await store.get('a'), 'old')
    }),
    check(
      'rejects with store-unavailable once it is closed; closing again does nothing',
      async ({ store }) => {
        await store.set('a', 1)
        const last = store.set('b', 2)
        await store.close()
        await last
        await store.close()
        await expectCode('store-unavailable', store.get('a'))
        await expectCode('store-unavailable', store.set('a', 2))
        await expectCode('store-unavailable', store.delete('a'))
        await expectCode(
          'store-unavailable',
          store.update('a', () => 3),
        )
      },
    ),
  ]
}

function keyChecks(check: MakeCheck): StoreCheck[] {
  return [
    check('keeps any key apart from any other', async ({ store }) => {
      for (const key of HOSTILE_KEYS) expect(await store.get(key), undefined)
      for (const key of HOSTILE_KEYS) await store.set(key, `value of ${key}`)
      for (const key of HOSTILE_KEYS) expect(await store.get(key), `value of ${key}`)
      for (const key of HOSTILE_KEYS) await store.delete(key)
      for (const key of HOSTILE_KEYS) expect(await store.get(key), undefined)
    }),
    check('refuses a key that is empty, too long, torn or not a text', async ({ store }) => {
      for (const key of ['', 'x'.repeat(513), 'torn \ud800', 7 as unknown as string]) {
        await expectCode('config-invalid', store.get(key))
        await expectCode('config-invalid', store.set(key, 1))
        await expectCode('config-invalid', store.delete(key))
        await expectCode(
          'config-invalid',
          store.update(key, () => 1),
        )
      }
    }),
  ]
}

function expiryChecks(check: MakeCheck): StoreCheck[] {
  return [
    check('forgets a value when its time is up, not before', async ({ store, passTime }) => {
      await store.set('short', 1, { ttlMs: 100 })
      await store.set('long', 2, { ttlMs: 60_000 })
      await store.set('forever', 3)
      expect(await store.get('short'), 1)
      await passTime(120)
      expect([await store.get('short'), await store.get('long')], [undefined, 2])
      expect(await store.get('forever'), 3)
    }),
    check('gives a value that is set again a new expiry', async ({ store, passTime }) => {
      await store.set('a', 1, { ttlMs: 100 })
      await store.set('a', 2)
      await store.set('b', 1)
      await store.set('b', 2, { ttlMs: 100 })
      await passTime(120)
      expect([await store.get('a'), await store.get('b')], [2, undefined])
    }),
    check('shows an update nothing of a value that has expired', async ({ store, passTime }) => {
      await store.set('a', 1, { ttlMs: 100 })
      await passTime(120)
      expect(await store.update('a', (current) => (current === undefined ? 'fresh' : 'stale')), 'fresh')
    }),
    check(
      'gives an updated value a new expiry, and an unchanged one its old',
      async ({ store, passTime }) => {
        await store.set('changed', 1, { ttlMs: 100 })
        await store.set('unchanged', { n: 1 }, { ttlMs: 100 })
        await store.update('changed', () => 2)
        await store.update('unchanged', (current) => current, { ttlMs: 60_000 })
        await store.update('limited', () => 3, { ttlMs: 100 })
        expect([await store.get('unchanged'), await store.get('limited')], [{ n: 1 }, 3])
        await passTime(120)
        expect(await store.get('changed'), 2)
        expect([await store.get('unchanged'), await store.get('limited')], [undefined, undefined])
      },
    ),
    check('refuses a time to live that is not a number above 0, and unknown options', async ({ store }) => {
      await store.set('a', 'old')
      for (const ttlMs of [0, -1, Number.NaN, Number.POSITIVE_INFINITY, '5' as unknown as number]) {
        await expectCode('config-invalid', store.set('a', 1, { ttlMs }))
        await expectCode(
          'config-invalid',
          store.update('a', () => 1, { ttlMs }),
        )
      }
      expect(await store.get('a'), 'old')
    }),
  ]
}

const JSON_VALUES: readonly StoredValue[] = [
  null,
  true,
  false,
  0,
  -1.5e-7,
  2 ** 53 - 1,
  '',
  'two\nlines, a tab\t and "quotes"',
  'ä 日本 🎈 \u0000 \u2028',
  'x'.repeat(100_000),
  [],
  {},
  [null, [], { a: [1, { b: 'c' }] }],
  { '': 1, 'a.b': 2, constructor: 3, toString: 'x', length: 4 },
  JSON.parse('{"__proto__": {"polluted": true}}'),
]

/** Created for each check, because some of them cannot be shared. */
function notStorable(): StoredValue[] {
  const cyclic: { self?: unknown } = {}
  cyclic.self = cyclic
  const values: unknown[] = [
    () => 1,
    10n,
    Symbol('s'),
    Number.NaN,
    Number.POSITIVE_INFINITY,
    new Date(0),
    new Map([['a', 1]]),
    new Set([1]),
    Promise.resolve(1),
    new Uint16Array([1]),
    { nested: Uint8Array.of(1) },
    { nested: () => 1 },
    [undefined],
    cyclic,
  ]
  return values as StoredValue[]
}

const HOSTILE_KEYS: readonly string[] = [
  'a',
  'A',
  'a:b',
  'a/b',
  'a\\b',
  '../x',
  '/etc/passwd',
  '.',
  '..',
  'con',
  'nul.txt',
  '__proto__',
  'constructor',
  'é',
  'e\u0301',
  '日本',
  '🎈',
  ' ',
  'a ',
  '\n',
  '\u0000',
  '*',
  '{a}',
  '%2e%2e%2fx',
  'x'.repeat(511),
  'x'.repeat(512),
  '日'.repeat(512),
]

function longBytes(): Uint8Array {
  return Uint8Array.from({ length: 300_000 }, (_, index) => (index * 31) % 256)
}
