import { Parser } from 'htmlparser2'
import { type Page, PageReader } from './page-reader.ts'

/** How much is parsed between two looks at how deep the page goes. */
const CHUNK = 16_384

/**
 * A web page as Markdown: headings, paragraphs, lists, quotes, code, tables, links made absolute and pictures by
 * their description. Scripts, styles, forms and what a visitor would not see are left out. Time is linear in the
 * length of the page, however it is built.
 */
export function htmlToMarkdown(html: string, base: string): Page {
  const reader = new PageReader(base)
  const parser = new Parser(
    {
      onopentag: (name, attributes) => reader.open(name, attributes),
      onclosetag: () => reader.close(),
      ontext: (text) => reader.text(text),
    },
    { decodeEntities: true },
  )
  for (let start = 0; start < html.length && !reader.isTooDeep; start += CHUNK) {
    parser.write(html.slice(start, start + CHUNK))
  }
  if (!reader.isTooDeep) parser.end()
  return reader.page()
}
