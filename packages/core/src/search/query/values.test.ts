import { describe, expect, it } from 'vitest'
import { parseQuery } from './query.ts'
import { readRequest } from './request.ts'
import { valuesOf, valueWords } from './values.ts'

const TOOL_WORDS = new Set(['read', 'write'])
const isToolWord = (word: string) => TOOL_WORDS.has(word)
const impliedBy = (text: string) => valuesOf(text, isToolWord).map(({ implies }) => implies.join(' '))

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
    ['read example.com/pricing', 'url'],
    ['see www.example.de', 'url'],
    ['print résumé.pdf', 'file'],
    ['lies Übersicht.txt', 'file'],
    ['run src/main.js', 'file'],
    ['stars of acme/web', 'repository'],
    ['tell #general that lunch is here', 'channel message'],
    ['wake me at 6:15', 'time'],
    ['what is 17 % of 2,340', 'calculate'],
    ['12 * 7', 'calculate'],
  ])('tell by their form what they are: %s', (text, kind) => {
    expect(impliedBy(text)).toEqual([kind])
  })

  it.each([
    'what happens on 12/24',
    'USD/EUR today',
    'the CI/CD of my bugs',
    'speed in km/h',
    'pros/cons of tea',
    'upgrade to react@18',
    'clone from git@github.com',
    'what is next.js',
    'read John 3:16',
    'ticket #42',
    'read/write access',
    'release v1.2.3',
    'in the U.S. market',
    'say "see you at the station"',
    'until 2026-11-18',
  ])('have no recognisable kind: %s', (text) => {
    expect(impliedBy(text)).toEqual([''])
  })

  it('keep colours apart from channels', () => {
    expect(impliedBy('set it to #fff or #ff8800')).not.toContain('channel message')
  })

  it('are not found in plain words', () => {
    expect(impliedBy("what's the weather like, and don't I need a coat?")).toEqual([])
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

  it('implies nothing by its filters', () => {
    const implied = (text: string) => wordsOf(text).filter(({ isAdded }) => isAdded)
    expect(implied('list -example.com')).toEqual([])
    expect(implied('-"#general" show')).toEqual([])
    expect(implied('server:github.com issues')).toEqual([])
    expect(implied('tasks from notes.md -example.com').map(({ text }) => text)).toEqual(['file'])
  })

  it('implies a few words at most, and shows little of a long value', () => {
    const many = 'at 6:15 read a.md, https://x.org, b@x.org, #c, 1 + 2, the code of acme/web and remember it'
    expect(wordsOf(many).filter(({ isAdded }) => isAdded)).toHaveLength(6)
    const [url] = wordsOf(`open https://x.org/${'y'.repeat(500)}`).filter(({ isAdded }) => isAdded)
    expect(url?.written?.length).toBeLessThanOrEqual(60)
  })

  it('shows no hidden characters', () => {
    const [url] = wordsOf('open https://a.org/\u202Ex\u200b').filter(({ isAdded }) => isAdded)
    expect(url?.written).toBe('https://a.org/x')
  })

  it('is read without the marks if it is one quotation', () => {
    const words = wordsOf('"open a pull request for my branch and please do it today"')
    expect(words.filter(({ isAdded }) => !isAdded).every(({ weight }) => weight === 1)).toBe(true)
  })
})
