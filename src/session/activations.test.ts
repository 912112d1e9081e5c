import { describe, expect, it } from 'vitest'
import { Activations } from './activations.ts'

const candidates = (...names: string[]) => names.map((name) => ({ name, fingerprint: name, tokens: 10 }))
const names = (active: Activations) => active.list().map(({ name }) => name)
const open = (maxActive: number, maxActiveTokens = 0) => new Activations({ maxActive, maxActiveTokens })

describe('Activations', () => {
  it('keeps the order of activation, whatever is used or asked for again', () => {
    const active = open(5)
    active.activate(candidates('b', 'a'))
    active.activate(candidates('c', 'b'))
    active.use('b')
    expect(names(active)).toEqual(['b', 'a', 'c'])
  })

  it('evicts the least recently used', () => {
    const active = open(2)
    active.activate(candidates('a'))
    active.activate(candidates('b'))
    active.use('a')
    expect(active.activate(candidates('c')).evicted.map(({ name }) => name)).toEqual(['b'])
    expect(names(active)).toEqual(['a', 'c'])
  })

  it('counts asking again as use', () => {
    const active = open(2)
    active.activate(candidates('a'))
    active.activate(candidates('b'))
    active.activate(candidates('a'))
    active.activate(candidates('c'))
    expect(names(active)).toEqual(['a', 'c'])
  })

  it('never evicts members of the batch, and keeps the best of one that is too large', () => {
    const active = open(2)
    active.activate(candidates('old'))
    const change = active.activate(candidates('a', 'b', 'c'))
    expect(change.activated).toEqual(['a', 'b'])
    expect(change.evicted.map(({ name }) => name)).toEqual(['old'])
  })

  it('evicts the worst of an earlier batch first', () => {
    const active = open(3)
    active.activate(candidates('best', 'middle', 'worst'))
    active.activate(candidates('next'))
    expect(names(active)).toEqual(['best', 'middle', 'next'])
  })

  it('leaves preloaded tools outside the cap', () => {
    const active = open(1)
    active.preload(candidates('kept', 'kept2'))
    active.activate(candidates('a'))
    active.activate(candidates('b'))
    expect(names(active)).toEqual(['kept', 'kept2', 'b'])
  })

  it('has no cap at 0', () => {
    const active = open(0)
    active.activate(candidates(...Array.from({ length: 100 }, (_, index) => `t${index}`)))
    expect(active.list()).toHaveLength(100)
  })

  it('holds to a cap in tokens, but always lets the best one in', () => {
    const active = open(0, 25)
    expect(active.activate(candidates('a', 'b', 'c')).activated).toEqual(['a', 'b'])
    const huge = active.activate([{ name: 'huge', fingerprint: '', tokens: 1000 }])
    expect(huge.activated).toEqual(['huge'])
    expect(names(active)).toEqual(['huge'])
  })

  it('goes on from what was saved, in use order too', () => {
    const before = open(2)
    before.activate(candidates('a'))
    before.activate(candidates('b'))
    before.use('a')
    const after = open(2)
    expect(after.restore(before.list())).toEqual([])
    after.activate(candidates('c'))
    expect(names(after)).toEqual(['a', 'c'])
  })
})
