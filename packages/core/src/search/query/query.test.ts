import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { ToolcribError } from '../../errors.ts'
import { sampleListing } from '../searcher-contract.ts'
import { filtered, holds, parseQuery } from './query.ts'

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

  it.each([
    ['', 'the query is empty'],
    ['-slack', 'the query only excludes words (-word)'],
    ['???', 'the query contains no word'],
    ['select: ,', 'select: names no tool'],
    [5 as unknown as string, 'the query is not a string'],
  ])('says what is wrong with %j, and what to do', (text, reason) => {
    expect(() => parseQuery(text)).toThrow(`${reason}; add words that say what the tool should do`)
  })

  it('reads plain words like any others', () => {
    expect(parseQuery('  send   email ')).toEqual({ ...parseQuery('send email!'), text: '  send   email ' })
    expect(parseQuery('send email')).toMatchObject({ kind: 'keyword', words: ['send', 'email'] })
    expect(parseQuery('get', { as: 'pattern' })).toMatchObject({ kind: 'regex', pattern: 'get', words: [] })
  })

  it('reads a query with nothing but filters as one, even when asked for a pattern', () => {
    expect(parseQuery('server:x', { as: 'pattern' })).toMatchObject({ kind: 'keyword', servers: ['x'] })
  })

  it('reads select: only at the start, and names on several lines', () => {
    expect(parseQuery('please select:a')).toMatchObject({ kind: 'keyword', words: ['please', 'select:a'] })
    expect(parseQuery('select:a,\nb').names).toEqual(['a', 'b'])
  })

  it('reads a pattern only where it is all there is between the filters', () => {
    for (const text of ['go /a/b/', '/a/ go']) expect(parseQuery(text).kind).toBe('keyword')
    expect(parseQuery('/a/i')).toMatchObject({ kind: 'regex', pattern: 'a' })
    expect(parseQuery('server:x  +d  /a  b/  -e +d +d')).toMatchObject({
      kind: 'regex',
      pattern: 'a  b',
      servers: ['x'],
      required: ['d', 'd', 'd'],
      excluded: ['e'],
    })
  })

  it('ignores spaces at the ends of a phrase and punctuation in it', () => {
    expect(parseQuery('" pull -  request "')).toMatchObject({
      words: ['pull', 'request'],
      phrases: ['pull -  request'],
    })
  })

  it('takes up to six words for a phrase, beside up to four others', () => {
    expect(parseQuery('"a b c d e f"').phrases).toEqual(['a b c d e f'])
    expect(parseQuery('"a b c d e f g"').phrases).toEqual([])
    expect(parseQuery('one two three four "pull request"').phrases).toEqual(['pull request'])
    expect(parseQuery('one two three four five "pull request"').phrases).toEqual([])
  })

  it('ignores filters without a letter or digit', () => {
    expect(parseQuery('x +_ -_ server:,a,-')).toMatchObject({ required: [], excluded: [], servers: ['a'] })
  })

  it('reads 4,000 characters, 256 words and 16 filters of each kind', () => {
    expect(parseQuery(`${'x'.repeat(4_000)} y`).words).toEqual(['x'.repeat(4_000)])
    expect(parseQuery(`${'x'.repeat(4_000)}, y`).words).toEqual(['x'.repeat(4_000)])
    const words = Array.from({ length: 300 }, (_, at) => `w${at}`)
    for (const text of [words.join(' '), words.join(', ')])
      expect(parseQuery(text).words).toEqual(words.slice(0, 256))
    const filters = words.slice(0, 20).map((word) => `+${word} -${word} server:${word} "${word}"`)
    const kept = words.slice(0, 16)
    expect(parseQuery(filters.join(' '))).toMatchObject({
      required: kept,
      excluded: kept,
      servers: kept,
      phrases: kept,
    })
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

describe('filtered', () => {
  const all = () => true
  const issues = sampleListing('mcp__github__list_issues', 'Lists the issues of a repository.', 'GitHub')
  const send = sampleListing('mcp__slack__send', 'Sends a message, never a pull-request.', 'slack')
  const own = { ...sampleListing('github', 'Opens a page.'), searchHint: 'a Pull  Request in a browser' }
  const accepted = (text: string, server?: string) =>
    [issues, send, own].filter(filtered(parseQuery(text), all, server))

  it('is the given check where there is nothing to filter by', () => {
    expect(filtered(parseQuery('send'), all)).toBe(all)
  })

  it('keeps tools of the named servers, in any case', () => {
    expect(accepted('x server:GITHUB')).toEqual([issues])
    expect(accepted('x server:github,slack')).toEqual([issues, send])
    expect(accepted('x', 'Slack')).toEqual([send])
    expect(accepted('x server:github', 'slack')).toEqual([])
  })

  it('keeps what contains every required word and phrase, and nothing excluded', () => {
    expect(accepted('x +message')).toEqual([send])
    expect(accepted('x +message +page')).toEqual([])
    expect(accepted('"pull request"')).toEqual([send, own])
    expect(accepted('x -message')).toEqual([issues, own])
    expect(accepted('"pull request" -browser')).toEqual([send])
  })

  it('asks the given check last, and only about what passes the filters', () => {
    const asked: string[] = []
    const check = filtered(parseQuery('x +message'), ({ name }) => {
      asked.push(name)
      return false
    })
    expect([issues, send, own].filter(check)).toEqual([])
    expect(asked).toEqual([send.name])
  })
})

describe('holds', () => {
  const bare = sampleListing('mcp__s__t', '')

  it('finds words joined in any way, but not grown together', () => {
    for (const description of ['a pull_request', 'Pull-Request', 'pull / request', 'pull\nrequest'])
      expect(holds('pull request')({ ...bare, description })).toBe(true)
    for (const description of ['pullrequest', 'pull the request', 'pull'])
      expect(holds('pull request')({ ...bare, description })).toBe(false)
    expect(holds('_pull.request-')({ ...bare, description: 'pull request' })).toBe(true)
  })

  it('looks at name, description and hint, in any form of a letter', () => {
    for (const [wanted, written] of [
      ['caf\u00e9', 'cafe\u0301'],
      ['cafe\u0301', 'caf\u00e9'],
    ] as const)
      for (const field of ['name', 'description', 'searchHint'])
        expect(holds(wanted)({ ...bare, [field]: written })).toBe(true)
    expect(holds('hint')(bare)).toBe(false)
  })

  it('does not look at the prefix of every server tool', () => {
    expect(holds('mcp')(bare)).toBe(false)
    expect(holds('mcp')({ ...bare, name: 'mcp__s__mcp__t' })).toBe(true)
  })

  it.each(['\\', '^', '$', '*', '+', '?', '(', ')', '[', ']', '{', '}', '|'])(
    'takes %s for the character',
    (mark) => {
      expect(holds(`a${mark}b`)({ ...bare, description: `x a${mark}b x` })).toBe(true)
      expect(holds(`a${mark}b`)({ ...bare, description: 'x ab a b x' })).toBe(false)
    },
  )

  it('finds nothing for a text of separators alone', () => {
    expect(holds('-_ ./')({ ...bare, description: '-_ ./' })).toBe(false)
  })
})
