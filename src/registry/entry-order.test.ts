import fc from 'fast-check'
import { expect, it } from 'vitest'
import { Catalogue, type Snapshot } from './catalogue.ts'
import { mcpEntry } from './registrar.ts'

const step = fc.record({
  server: fc.nat(6),
  tools: fc.array(fc.nat(40), { maxLength: 6 }),
  isRead: fc.boolean(),
})

it('sorts every snapshot by name, whichever were sorted before', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 25 }), (steps) => {
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
