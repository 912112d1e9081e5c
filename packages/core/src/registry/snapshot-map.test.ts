import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type MapChange, type MapSnapshot, SnapshotMap } from './snapshot.ts'

interface Value {
  readonly text: string
}

const change = fc.record({
  action: fc.constantFrom('set', 'set', 'delete', 'snapshot'),
  key: fc.nat(900),
  value: fc.nat(5),
})

it('is a map, and its snapshots stay as they were taken and know in what they differ', () => {
  fc.assert(
    fc.property(fc.array(change, { maxLength: 1_200, size: 'max' }), (steps) => {
      const map = new SnapshotMap<Value>()
      const model = new Map<string, Value>()
      const taken: { snapshot: MapSnapshot<Value>; expected: Map<string, Value> }[] = []
      for (const { action, key, value } of steps) {
        const set = { text: `v${value}` }
        if (action === 'set') {
          map.set(`k${key}`, set)
          model.set(`k${key}`, set)
        } else if (action === 'delete') {
          map.delete(`k${key}`)
          model.delete(`k${key}`)
        } else if (taken.length < 8) taken.push({ snapshot: map.snapshot(), expected: new Map(model) })
      }
      expect([...map.values()].length).toBe(model.size)
      for (const { snapshot, expected } of [...taken, { snapshot: map.snapshot(), expected: model }]) {
        expect(snapshot.size).toBe(expected.size)
        expect(new Map(snapshot)).toEqual(expected)
        expect(new Set(snapshot.keys())).toEqual(new Set(expected.keys()))
        for (let key = 0; key < 900; key += 7) {
          expect(snapshot.get(`k${key}`)).toBe(expected.get(`k${key}`))
          expect(snapshot.has(`k${key}`)).toBe(expected.has(`k${key}`))
        }
        for (const other of taken)
          expect(written(snapshot.changesSince(other.snapshot) ?? [])).toEqual(
            written(differences(other.expected, expected)),
          )
      }
    }),
    { numRuns: 30 },
  )
})

function differences(before: ReadonlyMap<string, Value>, after: ReadonlyMap<string, Value>) {
  const keys = new Set([...before.keys(), ...after.keys()])
  return [...keys]
    .filter((key) => before.get(key) !== after.get(key))
    .map((key) => ({ key, before: before.get(key), after: after.get(key) }))
}

function written(changes: readonly MapChange<Value>[]): string[] {
  return changes.map(({ key, before, after }) => `${key}: ${before?.text} → ${after?.text}`).sort()
}

describe('a map with snapshots', () => {
  it('takes none while nothing changes', () => {
    const map = numbered(3)
    const first = map.snapshot()
    expect(map.snapshot()).toBe(first)
    map.set('k1', { text: 'new' })
    expect(map.snapshot()).not.toBe(first)
  })

  it('keeps the order in which keys came, also of one that left and returned', () => {
    const map = numbered(3)
    map.delete('k1')
    map.set('k3', { text: 'v3' })
    map.set('k1', { text: 'again' })
    expect([...map.snapshot().keys()]).toEqual(['k0', 'k1', 'k2', 'k3'])
    const visited: string[] = []
    map.snapshot().forEach(({ text }, key) => {
      visited.push(`${key} ${text}`)
    })
    expect(visited).toEqual(['k0 v0', 'k1 again', 'k2 v2', 'k3 v3'])
  })

  it('forgets the places of keys that left, once there are many; snapshots from before stay', () => {
    const map = numbered(3_000)
    const before = map.snapshot()
    for (let key = 0; key < 2_900; key++) map.delete(`k${key}`)
    const after = map.snapshot()
    expect(after.changesSince(before)).toBeUndefined()
    expect([before.size, [...before].length, before.get('k0')]).toEqual([3_000, 3_000, { text: 'v0' }])
    expect([after.size, [...after].length, after.get('k0')]).toEqual([100, 100, undefined])
    expect([...after.keys()][0]).toBe('k2900')
  })

  it('ignores the deletion of a key that it does not have', () => {
    const map = numbered(2)
    const before = map.snapshot()
    map.delete('other')
    map.delete('k1')
    map.delete('k1')
    expect([map.size, map.snapshot().size, before.size]).toEqual([1, 1, 2])
  })
})

function numbered(count: number): SnapshotMap<Value> {
  const map = new SnapshotMap<Value>()
  for (let key = 0; key < count; key++) map.set(`k${key}`, { text: `v${key}` })
  return map
}
