import fc from 'fast-check'
import { estimateTokenCount } from 'tokenx'
import { describe, expect, it } from 'vitest'
import { estimateTokens } from './text.ts'

describe('estimateTokens', () => {
  const texts: Record<string, string> = {
    'an empty text': '',
    'a sentence': "It's the user's first day, isn't it? (Yes!)",
    'a definition': JSON.stringify(
      { name: 'read_file', schema: { type: 'object', maxLength: 123_456 } },
      null,
      2,
    ),
    'lines and marks': 'one\ntwo.\nthree\r\n\n  four:\n\tfive \n six\n',
    'long runs': `${'a'.repeat(40)} ${'7'.repeat(10)} ${'-'.repeat(20)}`,
    'other scripts': 'naïve café, 東京 in ひらがな – ok 👍',
    'a mark that is not ASCII at the end': 'read all of it…',
  }
  it.each(Object.entries(texts))('counts %s as tokenx does', (_, text) => {
    expect(estimateTokens(text)).toBe(estimateTokenCount(text))
  })

  it('counts any text as tokenx does', () => {
    const pieces = fc.constantFrom(
      '\n',
      '\r\n',
      ' ',
      '\t',
      '.',
      '{"',
      '--',
      "'",
      'a',
      'Word',
      'word',
      '42',
      '\u0000',
      'é',
    )
    const text = fc.oneof(
      fc.string(),
      fc.array(pieces, { maxLength: 30 }).map((parts) => parts.join('')),
    )
    fc.assert(
      fc.property(text, (any) => {
        expect(estimateTokens(any)).toBe(estimateTokenCount(any))
      }),
      { numRuns: 2_000 },
    )
  })
})
