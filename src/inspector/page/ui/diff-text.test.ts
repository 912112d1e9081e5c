import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { diffCharacters } from './diff-text.ts'

describe('a comparison of texts', () => {
  it('shows what was removed and what was added', () => {
    expect(diffCharacters('the cat sat', 'the dog sat')).toEqual([
      { kind: 'same', text: 'the ' },
      { kind: 'removed', text: 'cat' },
      { kind: 'added', text: 'dog' },
      { kind: 'same', text: ' sat' },
    ])
  })

  it('holds both texts, whatever they are', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), fc.string({ unit: 'grapheme' }), (before, after) => {
        const pieces = diffCharacters(before, after)
        const without = (kind: string) =>
          pieces
            .filter((piece) => piece.kind !== kind)
            .map(({ text }) => text)
            .join('')
        expect([without('added'), without('removed')]).toEqual([before, after])
      }),
    )
  })

  it('replaces long texts whole, rather than hold up the page', () => {
    const [before, after] = ['a'.repeat(50_000), 'b'.repeat(50_000)]
    expect(diffCharacters(before, after).map(({ kind }) => kind)).toEqual(['removed', 'added'])
  })
})
