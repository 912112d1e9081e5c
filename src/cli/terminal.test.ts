import { stripVTControlCharacters } from 'node:util'
import fc from 'fast-check'
import pc from 'picocolors'
import { describe, expect, it } from 'vitest'
import { wrap } from './terminal.ts'

describe('prose on a terminal', () => {
  it('is broken between words, and goes on where it began', () => {
    expect(wrap('  ✗ a line that is too long for it', 16)).toBe('  ✗ a line that\n  is too long\n  for it')
    expect(wrap('short\n\nlines stay', 16)).toBe('short\n\nlines stay')
    expect(wrap('averyveryverylongword and more', 10)).toBe('averyveryverylongword\nand more')
  })

  it('counts no colours', () => {
    const { green } = pc.createColors(true)
    expect(wrap(`${green('four')} ${green('four')}`, 9)).toBe(`${green('four')} ${green('four')}`)
    expect(stripVTControlCharacters(wrap(green('  four four'), 8))).toBe('  four\n  four')
  })

  it('loses no word and breaks no line that fits', () => {
    fc.assert(
      fc.property(
        fc.array(fc.stringMatching(/^\w{1,12}$/)),
        fc.integer({ min: 12, max: 40 }),
        (words, width) => {
          const text = words.join(' ')
          const lines = wrap(text, width).split('\n')
          expect(lines.join(' ')).toBe(text)
          for (const line of lines) expect(stripVTControlCharacters(line).length).toBeLessThanOrEqual(width)
        },
      ),
    )
  })
})
