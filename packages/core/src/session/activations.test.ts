import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  type ActivationCandidate,
  type Activations,
  activate,
  deactivate,
  isLatestUse,
  mergeActivations,
  preload,
  use,
  useOrActivate,
  withinCaps,
} from './activations.ts'

const candidates = (...names: string[]) => names.map((name) => ({ name, fingerprint: name, tokens: 10 }))
const names = (state: Activations) => state.map(({ name }) => name)
const capped = (maxActive: number, maxActiveTokens = 0) => ({ maxActive, maxActiveTokens })

/** Activates one batch after another and returns the state. */
const stateAfter = (
  caps: ReturnType<typeof capped>,
  ...batches: (readonly ActivationCandidate[])[]
): Activations =>
  batches.reduce<Activations>((state, batch) => activate(state, { candidates: batch }, caps).state, [])

describe('activations', () => {
  it('keep the order of activation, whatever is used or asked for again', () => {
    const state = stateAfter(capped(5), candidates('b', 'a'), candidates('c', 'b'))
    expect(names(use(state, ['b']))).toEqual(['b', 'a', 'c'])
  })

  it('evict the least recently used', () => {
    const state = use(stateAfter(capped(2), candidates('a'), candidates('b')), ['a'])
    const change = activate(state, { candidates: candidates('c') }, capped(2))
    expect(names(change.evicted)).toEqual(['b'])
    expect(names(change.state)).toEqual(['a', 'c'])
  })

  it('need no change for the tool that was used last: all that is evicted later stays the same', () => {
    const name = fc.constantFrom('a', 'b', 'c', 'd')
    fc.assert(
      fc.property(fc.array(name, { maxLength: 8 }), name, (earlier, last) => {
        const caps = capped(3)
        const step = (state: Activations, each: string) =>
          useOrActivate(state, { candidates: candidates(each) }, caps).state
        const state = earlier.reduce(step, [])
        expect(isLatestUse(state, candidates(last))).toBe(earlier.at(-1) === last)
        if (!isLatestUse(state, candidates(last))) return
        const evictedFrom = (from: Activations) =>
          activate(from, { candidates: candidates('x', 'y') }, caps).evicted.map((each) => each.name)
        expect(evictedFrom(step(state, last))).toEqual(evictedFrom(state))
      }),
    )
    expect(isLatestUse(stateAfter(capped(3), candidates('a')), candidates('a', 'b'))).toBe(false)
  })

  it('count asking again as use', () => {
    const state = stateAfter(capped(2), candidates('a'), candidates('b'), candidates('a'), candidates('c'))
    expect(names(state)).toEqual(['a', 'c'])
  })

  it('never evict members of the batch, and keep the best of one that is too large', () => {
    const change = activate(
      stateAfter(capped(2), candidates('old')),
      { candidates: candidates('a', 'b', 'c') },
      capped(2),
    )
    expect(change.activated).toEqual(['a', 'b'])
    expect(names(change.evicted)).toEqual(['old'])
  })

  it('evict the worst of an earlier batch first', () => {
    const state = stateAfter(capped(3), candidates('best', 'middle', 'worst'), candidates('next'))
    expect(names(state)).toEqual(['best', 'middle', 'next'])
  })

  it('never evict what the same batch of calls uses: what is found has to fit beside it', () => {
    const state = stateAfter(capped(3), candidates('x', 'y', 'z'))
    const keep = new Set(['z', 'y'])
    const change = activate(state, { candidates: candidates('a', 'b'), keep }, capped(3))
    expect(change.activated).toEqual(['a'])
    expect(names(change.evicted)).toEqual(['x'])
    const full = activate(state, { candidates: candidates('a'), keep: new Set(['x', 'y', 'z']) }, capped(3))
    expect(full).toMatchObject({ activated: [], evicted: [] })
  })

  it('take no second place for what is active already', () => {
    const state = stateAfter(capped(2), candidates('x', 'y'))
    const change = activate(state, { candidates: candidates('y', 'a'), keep: new Set(['y']) }, capped(2))
    expect(change.activated).toEqual(['y', 'a'])
    expect(names(change.state)).toEqual(['y', 'a'])
  })

  it('leave preloaded tools outside the cap', () => {
    const state = preload([], candidates('kept', 'kept2'))
    const first = activate(state, { candidates: candidates('a') }, capped(1)).state
    expect(names(activate(first, { candidates: candidates('b') }, capped(1)).state)).toEqual([
      'kept',
      'kept2',
      'b',
    ])
  })

  it('have no cap at 0', () => {
    const many = candidates(...Array.from({ length: 100 }, (_, index) => `t${index}`))
    expect(stateAfter(capped(0), many)).toHaveLength(100)
  })

  it('stay within a cap in tokens, but always let the best one in', () => {
    const first = activate([], { candidates: candidates('a', 'b', 'c') }, capped(0, 25))
    expect(first.activated).toEqual(['a', 'b'])
    const huge = activate(
      first.state,
      { candidates: [{ name: 'huge', fingerprint: '', tokens: 1000 }] },
      capped(0, 25),
    )
    expect(huge.activated).toEqual(['huge'])
    expect(names(huge.state)).toEqual(['huge'])
  })

  it('evict no more than a cap in tokens asks for', () => {
    const state = stateAfter(capped(0, 30), candidates('a', 'b', 'c'))
    const change = activate(state, { candidates: candidates('d') }, capped(0, 30))
    expect(names(change.evicted)).toEqual(['c'])
  })

  it('go on from what was saved, in use order too', () => {
    const saved: Activations = JSON.parse(
      JSON.stringify(use(stateAfter(capped(2), candidates('a'), candidates('b')), ['a'])),
    )
    expect(withinCaps(saved, capped(2)).evicted).toEqual([])
    const change = activate(saved, { candidates: candidates('c') }, capped(2))
    expect(names(change.state)).toEqual(['a', 'c'])
  })

  it('give up the least recently used to a smaller cap', () => {
    const saved = use(stateAfter(capped(3), candidates('a', 'b', 'c')), ['c'])
    expect(names(withinCaps(saved, capped(1)).state)).toEqual(['c'])
  })

  it('say which were given back', () => {
    const { state, gone } = deactivate(stateAfter(capped(0), candidates('a', 'b')), ['b', 'zzz'])
    expect([names(state), names(gone)]).toEqual([['a'], ['b']])
  })

  it('change nothing they were given', () => {
    const state = Object.freeze(
      stateAfter(capped(2), candidates('a', 'b')).map((each) => Object.freeze(each)),
    )
    const before = JSON.stringify(state)
    activate(state, { candidates: candidates('c') }, capped(2))
    use(state, ['a'])
    preload(state, candidates('d'))
    deactivate(state, ['a'])
    expect(JSON.stringify(state)).toBe(before)
  })

  it('report exactly what changed, within the caps', () => {
    const name = fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f')
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.uniqueArray(name), fc.uniqueArray(name)), { maxLength: 8 }),
        fc.integer({ min: 1, max: 4 }),
        (steps, maxActive) => {
          let state: Activations = []
          for (const [wanted, used] of steps) {
            const keep = new Set(used.filter((each) => names(state).includes(each)))
            const change = activate(state, { candidates: candidates(...wanted), keep }, capped(maxActive))
            const now = names(change.state)
            expect(now.length).toBeLessThanOrEqual(maxActive)
            for (const each of change.activated) expect(now).toContain(each)
            for (const each of keep) expect(now).toContain(each)
            expect([...names(state).filter((each) => !now.includes(each))].sort()).toEqual(
              names(change.evicted).sort(),
            )
            state = use(change.state, used)
          }
        },
      ),
    )
  })
})

describe('activations of tools that no longer exist', () => {
  const absent = new Set(['gone_1', 'gone_2'])
  const state = stateAfter(capped(4), candidates('gone_1', 'gone_2', 'a'))

  it('take no place under the cap', () => {
    const change = activate(state, { candidates: candidates('b'), absent }, capped(2))
    expect(change.evicted).toEqual([])
    expect(names(change.state)).toEqual(['gone_1', 'gone_2', 'a', 'b'])
    expect(withinCaps(change.state, capped(2), absent).evicted).toEqual([])
    expect(names(withinCaps(change.state, capped(2)).evicted)).toEqual(['a', 'gone_2'])
  })

  it('are remembered as far as the cap goes, and forgotten without being reported', () => {
    const change = activate(state, { candidates: candidates('b'), absent }, capped(1))
    expect(names(change.state)).toEqual(['gone_1', 'b'])
    expect(names(change.evicted)).toEqual(['a'])
  })
})

describe('using tools', () => {
  it('checks out what is not active, and evicts nothing that is used', () => {
    const state = stateAfter(capped(2), candidates('a', 'b'))
    const change = useOrActivate(state, { candidates: candidates('b', 'c') }, capped(2))
    expect(names(change.state)).toEqual(['b', 'c'])
    expect([change.activated, names(change.evicted)]).toEqual([['c'], ['a']])
    expect(useOrActivate(state, { candidates: candidates('a') }, capped(2))).toMatchObject({ evicted: [] })
  })
})

describe('merging what led from one state to another', () => {
  const from = stateAfter(capped(0), candidates('a', 'b', 'c'))
  const to = activate(deactivate(from, ['b']).state, { candidates: candidates('d') }, capped(0)).state

  it('keeps what others did meanwhile, and changes nothing more the second time', () => {
    const others = activate(deactivate(from, ['c']).state, { candidates: candidates('x') }, capped(0)).state
    const once = mergeActivations(others, { from, to }, capped(0))
    expect(names(once)).toEqual(['a', 'x', 'd'])
    expect(mergeActivations(once, { from, to }, capped(0))).toEqual(once)
  })

  it('stays within the caps', () => {
    const others = activate(from, { candidates: candidates('x') }, capped(0)).state
    expect(names(mergeActivations(others, { from, to }, capped(3)))).toHaveLength(3)
  })
})
