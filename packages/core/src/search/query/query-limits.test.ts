import { describe, expect, it } from 'vitest'
import { parseQuery, readPart } from './query.ts'

const EMPTY = { names: [], words: [], required: [], excluded: [], servers: [], phrases: [] }
const words = (count: number, prefix = 'w') =>
  Array.from({ length: count }, (_, index) => `${prefix}${index}`)
const messageOf = (text: unknown) => {
  try {
    parseQuery(text as string)
  } catch (error) {
    return (error as Error).message
  }
  return 'nothing thrown'
}

describe('a query, whole', () => {
  it.each([
    ['send mail', { ...EMPTY, text: 'send mail', kind: 'keyword', words: ['send', 'mail'] }],
    ['  send\tmail ', { ...EMPTY, text: '  send\tmail ', kind: 'keyword', words: ['send', 'mail'] }],
    ['send, mail', { ...EMPTY, text: 'send, mail', kind: 'keyword', words: ['send', 'mail'] }],
    ['+send', { ...EMPTY, text: '+send', kind: 'keyword', required: ['send'] }],
    ['select:a', { ...EMPTY, text: 'select:a', kind: 'select', names: ['a'] }],
    ['/a/', { ...EMPTY, text: '/a/', kind: 'regex', pattern: 'a' }],
    ['/a/i', { ...EMPTY, text: '/a/i', kind: 'regex', pattern: 'a' }],
    ['/a/b/i', { ...EMPTY, text: '/a/b/i', kind: 'regex', pattern: 'a/b' }],
    [
      '-x /a  b/ -y',
      { ...EMPTY, text: '-x /a  b/ -y', kind: 'regex', pattern: 'a  b', excluded: ['x', 'y'] },
    ],
    ['/a -c/', { ...EMPTY, text: '/a -c/', kind: 'regex', pattern: 'a -c' }],
    ['+d /a -c/i', { ...EMPTY, text: '+d /a -c/i', kind: 'regex', pattern: 'a -c', required: ['d'] }],
    ['/\na\n/', { ...EMPTY, text: '/\na\n/', kind: 'regex', pattern: '\na\n' }],
  ])('%j', (text, query) => {
    expect(parseQuery(text)).toEqual(query)
  })

  it('is not a pattern without anything between the slashes, or with more after them', () => {
    expect(parseQuery('// a').kind).toBe('keyword')
    expect(parseQuery('/a/ b').kind).toBe('keyword')
    expect(parseQuery('/a/g').kind).toBe('keyword')
  })

  it('is a pattern without slashes only when asked to, and not when it only filters', () => {
    expect(parseQuery('a b', { as: 'pattern' })).toEqual({
      ...EMPTY,
      text: 'a b',
      kind: 'regex',
      pattern: 'a b',
    })
    expect(parseQuery('a b', { as: 'words' }).kind).toBe('keyword')
    expect(parseQuery('+a', { as: 'pattern' })).toMatchObject({ kind: 'keyword', required: ['a'] })
    expect(parseQuery(' x  a.*b  -y ', { as: 'pattern' })).toMatchObject({
      pattern: 'x  a.*b',
      excluded: ['y'],
    })
  })

  it('may repeat its filters around a pattern that holds their words', () => {
    expect(parseQuery('-a /-a b -a/ -a')).toMatchObject({ pattern: '-a b -a', excluded: ['a', 'a'] })
  })
})

describe('what is read of a long query', () => {
  it('are its first 4,000 characters', () => {
    expect(readPart('x'.repeat(5_000))).toHaveLength(4_000)
    expect(parseQuery(`${'x'.repeat(3_998)} yz`).words).toEqual(['x'.repeat(3_998), 'y'])
    expect(parseQuery(`${'x'.repeat(3_998)} y`).words).toEqual(['x'.repeat(3_998), 'y'])
    expect(parseQuery(`${'x'.repeat(4_000)} +late`).required).toEqual([])
  })

  it('are its first 256 words, plain or not', () => {
    expect(parseQuery(words(300).join(' ')).words).toEqual(words(256))
    expect(parseQuery(words(300).join(', ')).words).toEqual(words(256))
    expect(parseQuery(words(256).join(', ')).words).toHaveLength(256)
  })

  it('are 16 filters of each kind', () => {
    const names = words(20)
    const first = words(16)
    expect(parseQuery(names.map((name) => `+${name}`).join(' ')).required).toEqual(first)
    expect(parseQuery(`x ${names.map((name) => `-${name}`).join(' ')}`).excluded).toEqual(first)
    expect(parseQuery(`server:${names.join(',')}`).servers).toEqual(first)
    expect(parseQuery(names.map((name) => `"${name}"`).join(' ')).phrases).toEqual(first)
  })

  it('is a phrase up to six words, beside four others at most', () => {
    const phrase = words(6).join(' ')
    expect(parseQuery(`"${phrase}"`).phrases).toEqual([phrase])
    expect(parseQuery(`"${phrase} more"`).phrases).toEqual([])
    expect(parseQuery(`a b c d "e f"`).phrases).toEqual(['e f'])
    expect(parseQuery(`a b c d g "e f"`).phrases).toEqual([])
  })
})

describe('an operator', () => {
  it('needs a letter, also after digits; numbers stay words', () => {
    expect(parseQuery('+2fa x').required).toEqual(['2fa'])
    expect(parseQuery('x -2').words).toEqual(['x', '2'])
    expect(parseQuery('x +_a').required).toEqual(['_a'])
    expect(parseQuery('Server:GitHub')).toMatchObject({ servers: ['GitHub'], words: [] })
    expect(parseQuery('x server:"a b" SERVER:"c"').servers).toEqual(['a b', 'c'])
  })

  it('without anything to look for is ignored', () => {
    for (const text of [
      'send -_',
      'send -"-"',
      'send -" "',
      'send +"…"',
      'send server:"-"',
      'send server:,-',
    ])
      expect(parseQuery(text)).toMatchObject({ words: ['send'], required: [], excluded: [], servers: [] })
  })

  it('leaves out the punctuation around its word, and spaces in its quotes', () => {
    expect(parseQuery('x +slack, -"  merge queue "')).toMatchObject({
      required: ['slack'],
      excluded: ['merge queue'],
    })
    expect(parseQuery('"send, mail!" now')).toMatchObject({
      words: ['send', 'mail', 'now'],
      phrases: ['send, mail!'],
    })
  })
})

describe('a query that is refused', () => {
  const next =
    'add words that say what the tool should do, such as "send email", or name tools with select:A,B'
  it.each<[unknown, string]>([
    ['', 'the query is empty'],
    [' \u200b ', 'the query is empty'],
    ['-x', 'the query only excludes words (-word)'],
    ['???', 'the query contains no word'],
    ['""', 'the query contains no word'],
    ['select: ,', 'select: names no tool'],
    [undefined, 'the query is not a string'],
    [7, 'the query is not a string'],
  ])('%j says why, and what to do', (text, reason) => {
    expect(messageOf(text)).toBe(`${reason}; ${next}`)
  })
})

describe('a query of many hidden characters', () => {
  it('is read up to forty thousand characters, hidden ones included', () => {
    const hidden = '\u200b'
    expect(parseQuery(`${hidden.repeat(39_000)}send`).words).toEqual(['send'])
    expect(messageOf(`${hidden.repeat(41_000)}send`)).toContain('the query is empty')
  })
})
