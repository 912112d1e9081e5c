import fc from 'fast-check'
import { expect } from 'vitest'
import { fuzz } from '../../../../test/fuzz.ts'
import { htmlToMarkdown } from './html-to-markdown.ts'

const tags =
  'p div h1 h6 a img ul ol li table tr td th thead blockquote pre code em strong br hr title head body script style template span svg'
const attributes = fc.constantFrom(
  '',
  ' href="/x"',
  ' href="javascript:alert(1)"',
  ' src=y alt="z"',
  ' hidden',
  ' =',
  ' a="',
)
const pieces = fc.oneof(
  fc
    .tuple(fc.constantFrom('<', '</'), fc.constantFrom(...tags.split(' ')), attributes)
    .map((parts) => `${parts.join('')}>`),
  fc.constantFrom(
    '<',
    '>',
    '&amp;',
    '&#x26;',
    '&bogus;',
    '<!--',
    '-->',
    '<![CDATA[',
    ']]>',
    '\0',
    '\r\n',
    '|',
    '`',
    '#',
  ),
  fc.string({ maxLength: 12 }),
)
const pages = fc.array(pieces, { maxLength: 60 }).map((parts) => parts.join(''))

fuzz('any page becomes text without scripts and styles', pages, (page) => {
  const { title, markdown } = htmlToMarkdown(page, 'https://example.com/')
  expect(typeof title).toBe('string')
  expect(typeof markdown).toBe('string')
  expect(markdown).not.toMatch(/^\n|\n$/)
})

fuzz('the contents of scripts and styles are never shown', fc.tuple(pages, pages), ([before, after]) => {
  for (const tag of ['script', 'style']) {
    const page = `<p>${before.replaceAll('<', '')}<${tag}>MARKER</${tag}>${after}`
    expect(htmlToMarkdown(page, 'https://example.com/').markdown).not.toContain('MARKER')
  }
})

fuzz('no link points to a script', pages, (page) => {
  const { markdown } = htmlToMarkdown(
    `<p><a href=" JavaScript:alert(1)">x</a>${page}`,
    'https://example.com/',
  )
  expect(markdown).not.toMatch(/\]\(\s*javascript:/i)
})
