import fc from 'fast-check'
import { expect, it } from 'vitest'
import { LayeredMap, type ReadMap } from './layered-map.ts'

const step = fc.record({
  action: fc.constantFrom('set', 'set', 'delete', 'snapshot'),
  key: fc.nat(900),
  value: fc.nat(5),
})

it('is a map, and its snapshots stay as they were taken', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 1_200, size: 'max' }), (steps) => {
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
