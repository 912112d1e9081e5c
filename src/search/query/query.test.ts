import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { ToolcribError } from '../../errors.ts'
import { parseQuery } from './query.ts'

function codeOf(text: string): string | undefined {
  try {
    parseQuery(text)
    return undefined
  } catch (error) {
    return error instanceof ToolcribError ? error.code : 'another error'
  }
}

describe('parseQuery', () => {
  it('reads names after select:, trimmed and without duplicates', () => {
    expect(parseQuery('select: Read, Edit,,Read')).toMatchObject({ kind: 'select', names: ['Read', 'Edit'] })
    expect(parseQuery('SELECT:mcp__a__b').names).toEqual(['mcp__a__b'])
  })

  it('keeps plain words as written, including repeated ones', () => {
    const query = parseQuery('  Find the file, find IT! ')
    expect(query).toMatchObject({ kind: 'keyword', words: ['Find', 'the', 'file', 'find', 'IT'] })
    expect(query.text).toBe('  Find the file, find IT! ')
  })

  it('reads +word as required and -word as excluded, and ranks neither', () => {
    expect(parseQuery('+slack send -delete')).toMatchObject({
      words: ['send'],
      required: ['slack'],
      excluded: ['delete'],
    })
    expect(parseQuery('x +"pull request" -"merge queue"')).toMatchObject({
      words: ['x'],
      required: ['pull request'],
      excluded: ['merge queue'],
    })
  })

  it('reads server:name, several of them, and a quoted one with a space', () => {
    expect(parseQuery('issues server:github').servers).toEqual(['github'])
    expect(parseQuery('server:a,b server:"my files" x')).toMatchObject({
      servers: ['a', 'b', 'my files'],
      words: ['x'],
    })
  })

  it('allows server: alone, which lists that server', () => {
    expect(parseQuery('server:github')).toMatchObject({ kind: 'keyword', words: [], servers: ['github'] })
  })

  it('requires a phrase and ranks its words', () => {
    expect(parseQuery('create "pull request"')).toMatchObject({
      words: ['create', 'pull', 'request'],
      phrases: ['pull request'],
    })
    expect(parseQuery('“pull request”').phrases).toEqual(['pull request'])
  })

  it('treats quotes in a sentence as quotations', () => {
    expect(parseQuery('Send an SMS message to Ann saying "Hello"')).toMatchObject({
      words: ['Send', 'an', 'SMS', 'message', 'to', 'Ann', 'saying', 'Hello'],
      phrases: [],
    })
    expect(parseQuery('"Can you find out how warm it will be?"').phrases).toEqual([])
  })

  it('reads /pattern/ as a whole, with filters around it', () => {
    expect(parseQuery('/^get_ (a|b)/')).toMatchObject({ kind: 'regex', pattern: '^get_ (a|b)', words: [] })
    expect(parseQuery('server:x /a b -c/ +d')).toMatchObject({
      kind: 'regex',
      pattern: 'a b -c',
      servers: ['x'],
      required: ['d'],
    })
  })

  it('reads text without slashes as a pattern when asked to', () => {
    expect(parseQuery('.*', { as: 'pattern' })).toMatchObject({ kind: 'regex', pattern: '.*' })
    expect(parseQuery('server:x get|set', { as: 'pattern' })).toMatchObject({
      pattern: 'get|set',
      servers: ['x'],
    })
    expect(parseQuery('/get/', { as: 'pattern' }).pattern).toBe('get')
    expect(parseQuery('select:a', { as: 'pattern' }).kind).toBe('select')
  })

  it.each(['', '   ', '-x', '-x -y', '-_', '+"-"', '???', '""', 'select:', 'select: , ', '\u200b'])(
    'refuses %j, which asks for nothing',
    (text) => expect(codeOf(text)).toBe('query-invalid'),
  )

  it('says what to do about an empty query', () => {
    expect(() => parseQuery('-slack')).toThrow(/add words/)
  })

  it.each([
    ['- first - second', ['first', 'second']],
    ['1/2 cup', ['1/2', 'cup']],
    ['open https://example.com/a?b=c now', ['open', 'https://example.com/a?b=c', 'now']],
    ['a "quote never closed', ['a', 'quote', 'never', 'closed']],
    ["don't lose the user's words", ["don't", 'lose', 'the', "user's", 'words']],
    ['-5 degrees', ['5', 'degrees']],
    ['call +1 555 0100', ['call', '+1', '555', '0100']],
    ['a well-known e-mail', ['a', 'well-known', 'e-mail']],
    ['server: which one', ['server', 'which', 'one']],
    ['x --verbose', ['x', 'verbose']],
    ['the path /usr/bin', ['the', 'path', '/usr/bin']],
    ['C++ or C#?', ['C++', 'or', 'C#']],
  ])('loses no word of %j', (text, words) => {
    expect(parseQuery(text)).toMatchObject({
      kind: 'keyword',
      words,
      required: [],
      excluded: [],
      servers: [],
    })
  })

  it('reads words of any script', () => {
    expect(parseQuery('天気 東京 +気温 погода').words).toEqual(['天気', '東京', 'погода'])
    expect(parseQuery('天気 +気温').required).toEqual(['気温'])
  })

  it('reads any text, or throws query-invalid', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', maxLength: 60 }), (text) => {
        expect([undefined, 'query-invalid']).toContain(codeOf(text))
      }),
    )
  })

  it('keeps every word of letters in a text without operators', () => {
    const word = fc.stringMatching(/^[a-z]{1,8}$/)
    fc.assert(
      fc.property(
        fc.array(word, { minLength: 1 }),
        fc.constantFrom(' ', ', ', ' - ', '! ', '\n'),
        (words, gap) => {
          expect(parseQuery(words.join(gap)).words).toEqual(words)
        },
      ),
    )
  })
})
