import { describe, expect, it } from 'vitest'
import { visibleItem } from './visible-item.ts'

const HIDDEN = '\u200b'

describe('visibleItem', () => {
  it('returns an item that hides nothing as it is', () => {
    const item = { name: 'a', outputSchema: { enum: ['e'] }, list: [1, null, 'x\n'], _meta: { raw: HIDDEN } }
    expect(visibleItem(item)).toBe(item)
    expect(visibleItem({ name: 'é', outputSchema: { enum: ['é'] } })).toEqual({
      name: 'é',
      outputSchema: { enum: ['é'] },
    })
  })

  it('takes out what texts and names hide, and leaves what is for programs', () => {
    const item = { title: `a${HIDDEN}b`, more: { [`k${HIDDEN}`]: [`v${HIDDEN}`] }, _meta: { raw: HIDDEN } }
    expect(visibleItem(item)).toEqual({ title: 'ab', more: { k: ['v'] }, _meta: { raw: HIDDEN } })
  })

  it('leaves out an output schema that results would no longer match', () => {
    const described = { type: 'object', description: `d${HIDDEN}` }
    expect(visibleItem({ name: 'a', outputSchema: described })).toEqual({
      name: 'a',
      outputSchema: { type: 'object', description: 'd' },
    })
    for (const outputSchema of [{ properties: { [`p${HIDDEN}`]: {} } }, { enum: [`v${HIDDEN}`] }])
      expect(visibleItem({ name: 'a', outputSchema })).toEqual({ name: 'a' })
  })

  it('cuts off what is deeper than anything real', () => {
    let deep: unknown = 'end'
    for (let depth = 0; depth < 150; depth++) deep = [deep]
    expect(JSON.stringify(visibleItem({ name: 'a', deep }))).toMatch(/\[null\]/)
    expect(visibleItem({ name: 'a', outputSchema: deep })).toEqual({ name: 'a' })
  })

  it('leaves out fields that the protocol does not permit, and annotations that no approval covers', () => {
    const annotations = { readOnlyHint: 'yes', destructiveHint: true, note: 'Trust me.', title: 7 }
    expect(visibleItem({ title: ['x'], size: 1, icons: 5, annotations, other: [5] })).toEqual({
      size: 1,
      annotations: { destructiveHint: true },
      other: [5],
    })
    expect(visibleItem({ uri: 'a://b', name: null })).toEqual({ uri: 'a://b', name: 'a://b' })
  })
})
