import { Parser } from 'htmlparser2'
import { type Page, PageReader } from './page-reader.ts'

/** How much to parse between checks of the nesting depth. */
const CHUNK = 16_384

/**
 * Converts a web page to Markdown: headings, paragraphs, lists, quotes, code, tables, absolute links, and images by
 * their alt text. Omits scripts, styles, forms and hidden elements. Runs in time linear in the page's length,
 * whatever its structure.
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
