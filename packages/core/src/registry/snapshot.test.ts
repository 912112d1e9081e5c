import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { Catalogue } from './catalogue.ts'
import { type Entry, EntryOrder, type ReadMap } from './entry.ts'
import { mcpEntry } from './registrar.ts'
import { changedGroups, type Snapshot } from './snapshot.ts'

const sync = fc.record({
  server: fc.nat(6),
  tools: fc.array(fc.nat(40), { maxLength: 6 }),
  isRead: fc.boolean(),
})

it('sorts every snapshot by name, whichever were sorted before', () => {
  fc.assert(
    fc.property(fc.array(sync, { maxLength: 25 }), (steps) => {
      const catalogue = new Catalogue([], () => {})
      const taken: { snapshot: Snapshot; names: string[] }[] = []
      for (const { server, tools, isRead } of steps) {
        const entries = [...new Set(tools)].map((tool) =>
          mcpEntry(
            { name: `t${tool}`, description: '', inputSchema: {}, execute: () => ({ ok: true, value: '' }) },
            `s${server}`,
          ),
        )
        catalogue.replaceSource(`mcp:s${server}`, entries)
        const snapshot = catalogue.snapshot()
        const listings = [...snapshot.groups.values()].flat()
        taken.push({ snapshot, names: listings.map(({ name }) => name).sort() })
        if (isRead) expect(snapshot.sorted.map(({ name }) => name)).toEqual(taken.at(-1)?.names)
      }
      for (const { snapshot, names } of taken) {
        expect(snapshot.sorted.map(({ name }) => name)).toEqual(names)
        for (const entry of snapshot.sorted) expect(snapshot.get(entry.name)).toBe(entry)
      }
    }),
    { numRuns: 60 },
  )
})

describe('the order of entries', () => {
  /** Entries by name, which count how often all of them are read. */
  class CountedEntries implements ReadMap<Entry> {
    readonly #byName = new Map<string, Entry>()
    readings = 0

    constructor(names: readonly string[]) {
      for (const name of names) this.add(name)
    }

    get size(): number {
      return this.#byName.size
    }

    add(name: string): void {
      const entry = mcpEntry(
        { name, description: '', inputSchema: {}, execute: () => ({ ok: true, value: '' }) },
        's',
      )
      this.#byName.set(name, entry)
    }

    get(name: string): Entry | undefined {
      return this.#byName.get(name)
    }

    values(): Iterable<Entry> {
      this.readings++
      return this.#byName.values()
    }
  }

  const MAX_NOTED = 10_000

  it.each([
    [1, 1],
    [MAX_NOTED, 1],
    [MAX_NOTED + 1, 2],
  ])('reads all entries once; after %d changes %d times', (changes, readings) => {
    const entries = new CountedEntries(['b', 'a'])
    const order = new EntryOrder()
    order.sort(entries, order.change)
    for (let change = 0; change < changes; change++) order.note(`gone${change}`)
    const sorted = order.sort(entries, order.change)
    expect(sorted).toEqual([entries.get('a'), entries.get('b')])
    expect(Object.isFrozen(sorted)).toBe(true)
    expect(entries.readings).toBe(readings)
  })

  it('of an older catalogue is found without touching that of the newest', () => {
    const entries = new CountedEntries(['a'])
    const order = new EntryOrder()
    const older = order.change
    order.note('a')
    const newest = order.sort(entries, order.change)
    const old = order.sort(new CountedEntries([]), older)
    expect([newest.length, old, Object.isFrozen(old)]).toEqual([1, [], true])
    expect(order.sort(entries, order.change)).toEqual(newest)
    expect(entries.readings).toBe(1)
  })
})

it('the groups that changed are those that came, went or are another list', () => {
  const [old, kept, left, came] = [[], [], [], []]
  const before = new Map([
    ['changed', old],
    ['kept', kept],
    ['left', left],
  ])
  const now: never[] = []
  const after = new Map([
    ['changed', now],
    ['kept', kept],
    ['came', came],
  ])
  const changes = [...changedGroups(before, after)]
  expect(changes).toEqual([
    ['left', left, []],
    ['changed', old, now],
    ['came', [], came],
  ])
  const [, [, wasOld, isNow] = []] = changes
  expect([wasOld === old, isNow === now]).toEqual([true, true])
})
