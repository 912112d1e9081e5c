import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { PostingLists } from './posting-lists.ts'

function valuesOf(lists: PostingLists, id: number): number[] {
  const start = lists.starts[id] ?? 0
  return [...lists.values.subarray(start, start + (lists.lengths[id] ?? 0))]
}

describe('PostingLists', () => {
  it('behaves like a list of sets, whatever is appended, removed, released and compacted', () => {
    const step = fc.record({
      list: fc.nat(7),
      value: fc.nat(40),
      action: fc.constantFrom('append', 'append', 'remove', 'release', 'compact'),
    })
    fc.assert(
      fc.property(fc.array(step, { maxLength: 300 }), (steps) => {
        const lists = new PostingLists()
        const ids = new Map<number, number>()
        const model = new Map<number, Set<number>>()
        for (const { list, value, action } of steps) {
          if (action === 'compact') lists.compactIfSparse()
          const id = ids.get(list) ?? lists.create()
          const set = model.get(list) ?? new Set<number>()
          ids.set(list, id)
          model.set(list, set)
          if (action === 'append' && !set.has(value)) {
            set.add(value)
            lists.append(id, value << 4)
          }
          if (action === 'remove') expect(lists.remove(id, value, 4)).toBe(set.delete(value))
          if (action === 'release') {
            for (const held of set) lists.remove(id, held, 4)
            lists.release(id)
            ids.delete(list)
            model.delete(list)
          }
        }
        for (const [list, set] of model) {
          const held = valuesOf(lists, ids.get(list) ?? -1).map((value) => value >>> 4)
          expect(held.toSorted((a, b) => a - b)).toEqual([...set].toSorted((a, b) => a - b))
        }
      }),
    )
  })

  it('reuses the space of released lists', () => {
    const lists = new PostingLists()
    const fillAndRelease = (): void => {
      const ids = Array.from({ length: 200 }, () => lists.create())
      for (const id of ids) for (let value = 0; value < 20; value++) lists.append(id, value)
      for (const id of ids) {
        for (let value = 0; value < 20; value++) lists.remove(id, value, 0)
        lists.release(id)
      }
    }
    fillAndRelease()
    const { byteLength } = lists
    for (let round = 0; round < 50; round++) fillAndRelease()
    expect(lists.byteLength).toBe(byteLength)
  })

  it('releases space once most of it is empty', () => {
    const lists = new PostingLists()
    const ids = Array.from({ length: 1000 }, () => lists.create())
    for (const id of ids) for (let value = 0; value < 30; value++) lists.append(id, value)
    const full = lists.byteLength
    for (const id of ids.slice(10)) {
      for (let value = 0; value < 30; value++) lists.remove(id, value, 0)
      lists.release(id)
    }
    lists.compactIfSparse()
    expect(lists.byteLength).toBeLessThan(full / 3)
    for (const id of ids.slice(0, 10)) expect(valuesOf(lists, id)).toHaveLength(30)
  })
})
