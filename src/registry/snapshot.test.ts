import fc from 'fast-check'
import { expect, it } from 'vitest'
import { Catalogue } from './catalogue.ts'
import { mcpEntry } from './registrar.ts'
import { LayeredMap, type ReadMap, type Snapshot } from './snapshot.ts'

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

const change = fc.record({
  action: fc.constantFrom('set', 'set', 'delete', 'snapshot'),
  key: fc.nat(900),
  value: fc.nat(5),
})

it('a layered map is a map, and its snapshots stay as they were taken', () => {
  fc.assert(
    fc.property(fc.array(change, { maxLength: 1_200, size: 'max' }), (steps) => {
      const map = new LayeredMap<string>()
      const model = new Map<string, string>()
      const taken: { snapshot: ReadMap<string>; expected: Map<string, string> }[] = []
      for (const { action, key, value } of steps) {
        if (action === 'set') {
          map.set(`k${key}`, `v${value}`)
          model.set(`k${key}`, `v${value}`)
        } else if (action === 'delete') {
          map.delete(`k${key}`)
          model.delete(`k${key}`)
        } else if (taken.length < 8) taken.push({ snapshot: map.snapshot(), expected: new Map(model) })
      }
      for (const { snapshot, expected } of [...taken, { snapshot: map, expected: model }]) {
        expect(snapshot.size).toBe(expected.size)
        expect([...snapshot.values()].toSorted()).toEqual([...expected.values()].toSorted())
        for (let key = 0; key < 900; key += 7) expect(snapshot.get(`k${key}`)).toBe(expected.get(`k${key}`))
      }
    }),
    { numRuns: 30 },
  )
})
