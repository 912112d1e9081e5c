import { describe, expect, it } from 'vitest'
import { Slices } from './slices.ts'

/** Slices of 10 ms with a clock that the work advances, and turns of the event loop that end when told to. */
function begin() {
  let time = 0
  const turns: (() => void)[] = []
  const slices = new Slices({ now: () => time, defer: (next) => void turns.push(next), sliceMs: 10 })
  const endTurn = async () => {
    turns.shift()?.()
    for (let hop = 0; hop < 5; hop++) await Promise.resolve()
  }
  const work = (ms: number) => {
    time += ms
  }
  return { slices, turns, endTurn, work }
}

describe('Slices', () => {
  it('lets other work run whenever a slice is used up', async () => {
    const { slices, endTurn, work } = begin()
    const done: number[] = []
    void slices.each([1, 2, 3, 4, 5], (item) => {
      work(5)
      done.push(item)
    })
    expect(done).toEqual([1, 2])
    await endTurn()
    expect(done).toEqual([1, 2, 3, 4])
    await endTurn()
    expect(done).toEqual([1, 2, 3, 4, 5])
  })

  it('does work that takes less than a slice without a pause', () => {
    const { slices, work } = begin()
    let count = 0
    void slices.each(Array(9), () => {
      count++
      work(1)
    })
    expect(count).toBe(9)
  })

  it('gives all work together one slice per turn, in the order in which it paused', async () => {
    const { slices, endTurn, work } = begin()
    const done: string[] = []
    for (const name of ['a', 'b', 'c'])
      void slices.each([1, 2], (item) => {
        work(10)
        done.push(`${name}${item}`)
      })
    expect(done).toEqual(['a1'])
    await endTurn()
    expect(done).toEqual(['a1', 'a2'])
    await endTurn()
    expect(done).toEqual(['a1', 'a2', 'b1'])
    for (let turn = 0; turn < 3; turn++) await endTurn()
    expect(done).toEqual(['a1', 'a2', 'b1', 'c1', 'b2', 'c2'])
  })

  it('starts a new slice in each turn, and leaves nothing to do behind', async () => {
    const { slices, turns, endTurn, work } = begin()
    expect(slices.isOver).toBe(false)
    work(10)
    expect(slices.isOver).toBe(true)
    await endTurn()
    expect(turns).toEqual([])
    expect(slices.isOver).toBe(false)
  })

  it('uses the turns of the event loop by default', async () => {
    const slices = new Slices({ sliceMs: 0 })
    let turns = 0
    const count = () => {
      turns++
      timer = setImmediate(count)
    }
    let timer = setImmediate(count)
    await slices.each(Array(20), () => {})
    clearImmediate(timer)
    expect(turns).toBeGreaterThanOrEqual(19)
  })
})
