import { stripVTControlCharacters } from 'node:util'
import { withoutHidden } from '@toolcrib/core/internal'
import fc from 'fast-check'
import pc from 'picocolors'
import { describe, expect, it } from 'vitest'
import { exact, localTime, plain, plainLines, shellWord, wrap } from './text.ts'

describe('prose on a terminal', () => {
  it('is wrapped between words, and goes on where its text began', () => {
    expect(wrap('  ✗ a line that is too long for it', 16)).toBe(
      '  ✗ a line that\n    is too long\n    for it',
    )
    expect(wrap('  a line that is too long for it', 16)).toBe('  a line that is\n  too long for\n  it')
    expect(wrap('  low   a line that is too long', 20)).toBe('  low   a line that\n        is too long')
    expect(wrap('  a wide column  and its text', 20)).toBe('  a wide column  and\n  its text')
    expect(wrap('  /a/very/long/path/of/a/file', 16)).toBe('  /a/very/long/path/of/a/file')
    expect(wrap('similar in meaning (92 %) in 60 ms', 22)).toBe('similar in meaning\n(92 %) in 60 ms')
    expect(wrap('it waits for 30 s and % more', 14)).toBe('it waits for\n30 s and %\nmore')
    expect(wrap('short\n\nlines stay', 16)).toBe('short\n\nlines stay')
    expect(wrap('averyveryverylongword and more', 10)).toBe('averyveryverylongword\nand more')
  })

  it('ignores colours', () => {
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

describe('text of a server', () => {
  it('shows every character hidden from the model', () => {
    const hidden = Array.from({ length: 0x110000 }, (_, code) => String.fromCodePoint(code)).filter(
      (character) => withoutHidden(character) === '',
    )
    expect(hidden).toEqual(
      expect.arrayContaining(['\u{e0101}', '\ufe0f', '\u3164', '\u034f', '\ufeff', '\r']),
    )
    for (const show of [plain, plainLines, exact]) {
      const silent = hidden.filter((character) => {
        const code = `\\u{${character.codePointAt(0)?.toString(16)}}`
        return show(`${character}one ${character} two`) !== `${code}one ${code} two`
      })
      expect(silent).toEqual([])
    }
  })

  it('is one line, and emoji are unchanged', () => {
    expect(plain(' one\r\n  two\t❤️ ')).toBe('one two ❤️')
    expect(plainLines('one\r\ntwo')).toBe('one\ntwo')
  })

  it('differs wherever texts differ, including whitespace', () => {
    expect(exact('one\ntwo')).toBe('one⏎two')
    expect(exact('one\u00a0two\t ')).toBe('one\\u{a0}two\\u{9}\\u{20}')
    expect(exact(`one${' '.repeat(300)}two`)).toBe('one(300 spaces)two')
    expect(exact('one  two')).toBe('one  two')
  })
})

describe('a time', () => {
  it('is that of the clock on the wall', () => {
    const noon = new Date(2026, 2, 4, 12, 5, 9)
    expect(localTime(noon.toISOString())).toBe('2026-03-04 12:05:09')
  })
})

describe('a word of a command', () => {
  it('is quoted where a shell would read it otherwise', () => {
    expect(['-y', '/a/b.toml', '@x/y@1.2', 'a b', "it's", '$HOME', ''].map(shellWord)).toEqual([
      '-y',
      '/a/b.toml',
      '@x/y@1.2',
      "'a b'",
      "'it'\\''s'",
      "'$HOME'",
      "''",
    ])
  })
})
