import { describe, expect, it } from 'vitest'
import { parseQuery } from './query.ts'
import { readRequest } from './request.ts'
import { valuesOf, valueWords } from './values.ts'

const TOOL_WORDS = new Set(['read', 'write'])
const isToolWord = (word: string) => TOOL_WORDS.has(word)
const kindsIn = (text: string) => valuesOf(text, isToolWord).map(({ kind }) => kind)

describe('values', () => {
  it.each([
    ['what does /etc/hosts say', 'file'],
    ['clear /tmp', 'file'],
    ['open ~/notes and read', 'file'],
    ['open C:\\papers\\tax.pdf', 'file'],
    ['summarise report.docx', 'file'],
    ['read "my-notes.md" to me', 'file'],
    ['fetch https://example.org/a?b=c', 'url'],
    ['open example.com', 'url'],
    ['write to anna@example.org', 'email'],
    ['stars of acme/web', 'repository'],
    ['tell #general that lunch is here', 'channel'],
    ['wake me at 6:15', 'time'],
    ['what is 17 % of 2,340', 'calculate'],
    ['12 * 7', 'calculate'],
  ])('tell by their form what they are: %s', (text, kind) => {
    expect(kindsIn(text)).toEqual([kind])
  })

  it.each([
    'ticket #42',
    'read/write access',
    'release v1.2.3',
    'in the U.S. market',
    'say "see you at the station"',
    'until 2026-11-18',
  ])('are of no kind that their form tells: %s', (text) => {
    expect(kindsIn(text)).toEqual([undefined])
  })

  it('are not found in plain words', () => {
    expect(kindsIn("what's the weather like, and don't I need a coat?")).toEqual([])
  })

  it('keep words that the text contains elsewhere, too', () => {
    const text = 'the disk <disk name>'
    expect([...valueWords(text, valuesOf(text, isToolWord))]).toEqual(['name'])
  })

  it('are found at once in hostile texts', () => {
    for (const filler of ['a', '1', '/', 'a/', 'a.', '@', '#', '1:', '1+', '"', '<', ' ', '~/'])
      expect(valuesOf(filler.repeat(2_000), isToolWord).length).toBeLessThanOrEqual(2_000)
  })
})

describe('a request with a value', () => {
  const wordsOf = (text: string) => readRequest(parseQuery(text), () => 9).words

  it('implies what tools call it, which counts half', () => {
    expect(wordsOf('what does /etc/hosts say')).toContainEqual({
      text: 'file',
      weight: 0.5,
      written: '/etc/hosts',
      isAdded: true,
    })
  })

  it('implies nothing that it says itself', () => {
    expect(wordsOf('read the file notes.md').filter(({ text }) => text === 'file')).toHaveLength(1)
  })

  it('is read without the marks if it is one quotation', () => {
    const words = wordsOf('"open a pull request for my branch and please do it today"')
    expect(words.filter(({ isAdded }) => !isAdded).every(({ weight }) => weight === 1)).toBe(true)
  })
})
