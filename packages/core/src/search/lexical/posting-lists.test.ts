import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { LISTING_SHIFT, PostingLists } from './posting-lists.ts'

function valuesOf(lists: PostingLists, id: number): number[] {
  const start = lists.starts[id] ?? 0
  return [...lists.values.subarray(start, start + (lists.lengths[id] ?? 0))]
}

function posting(listing: number): number {
  return (listing << LISTING_SHIFT) | 1
}

describe('PostingLists', () => {
  it('behaves like a list of sorted sets, whatever is inserted, removed, released and compacted', () => {
    const step = fc.record({
      list: fc.nat(7),
      value: fc.nat(40),
      action: fc.constantFrom('insert', 'insert', 'remove', 'release', 'compact'),
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
          if (action === 'insert' && !set.has(value)) {
            set.add(value)
            lists.insert(id, posting(value))
          }
          if (action === 'remove') expect(lists.remove(id, value)).toBe(set.delete(value))
          if (action === 'release') {
            for (const held of set) lists.remove(id, held)
            lists.release(id)
            ids.delete(list)
            model.delete(list)
          }
        }
        for (const [list, set] of model) {
          const id = ids.get(list) ?? -1
          const held = valuesOf(lists, id).map((value) => value >>> LISTING_SHIFT)
          expect(held).toEqual([...set].toSorted((a, b) => a - b))
          for (let value = 0; value <= 40; value++) expect(lists.find(id, value) >= 0).toBe(set.has(value))
        }
      }),
    )
  })

  it('reuses the space of released lists', () => {
    const lists = new PostingLists()
    const fillAndRelease = (): void => {
      const ids = Array.from({ length: 200 }, () => lists.create())
      for (const id of ids) for (let value = 0; value < 20; value++) lists.insert(id, posting(value))
      for (const id of ids) {
        for (let value = 0; value < 20; value++) lists.remove(id, value)
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
    for (const id of ids) for (let value = 0; value < 30; value++) lists.insert(id, posting(value))
    const full = lists.byteLength
    for (const id of ids.slice(10)) {
      for (let value = 0; value < 30; value++) lists.remove(id, value)
      lists.release(id)
    }
    lists.compactIfSparse()
    expect(lists.byteLength).toBeLessThan(full / 3)
    for (const id of ids.slice(0, 10)) expect(valuesOf(lists, id)).toHaveLength(30)
  })
})
