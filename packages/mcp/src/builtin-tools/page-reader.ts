import { withoutHidden } from '@toolcrib/core/internal'
import { MarkdownWriter } from './markdown-writer.ts'

/** Pages nested deeper than this are not meant for reading. The limit also keeps the parser's work linear. */
const MAX_DEPTH = 500

export interface Page {
  readonly title: string
  readonly markdown: string
}

type Attributes = { readonly [name: string]: string }

const SKIPPED =
  /^(script|style|noscript|template|svg|math|canvas|iframe|object|embed|audio|video|select|textarea|button|dialog)$/
const BLOCKS =
  /^(p|div|section|article|main|header|footer|nav|aside|address|figure|figcaption|form|fieldset|details|summary|dl|dt|dd|caption|center|body)$/
const MARKS: ReadonlyMap<string, string> = new Map([
  ['b', '**'],
  ['strong', '**'],
  ['i', '_'],
  ['em', '_'],
  ['del', '~~'],
  ['s', '~~'],
  ['code', '`'],
  ['kbd', '`'],
  ['samp', '`'],
  ['tt', '`'],
])

/**
 * Handles parser events and writes the page as Markdown. Each element's closing action is fixed when it opens, so
 * pages with missing or misplaced tags stay readable.
 */
export class PageReader {
  readonly #base: string
  readonly #writer = new MarkdownWriter()
  /** Closing actions of the open elements, innermost last. */
  readonly #endings: (() => void)[] = []
  /** Number of the next item in each open list; undefined for unordered lists. */
  readonly #lists: { next: number | undefined }[] = []
  /** Nesting depth inside an omitted element. */
  #skipped = 0
  #table: { readonly rows: string[][]; isInCell: boolean } | undefined
  #code: { text: string; language: string } | undefined
  #title: string | undefined
  #isInTitle = false
  /** True once the page exceeds the depth limit; the rest need not be parsed. */
  isTooDeep = false

  constructor(base: string) {
    this.#base = base
  }

  open(name: string, attributes: Attributes): void {
    if (this.#endings.length >= MAX_DEPTH) this.isTooDeep = true
    if (this.isTooDeep) return
    if (this.#skipped > 0 || SKIPPED.test(name) || isHidden(attributes)) {
      this.#skipped++
      this.#endings.push(() => void this.#skipped--)
      return
    }
    this.#endings.push(
      (this.#code ? this.#openInCode(name, attributes) : this.#open(name, attributes)) ?? nothing,
    )
  }

  close(): void {
    if (!this.isTooDeep) this.#endings.pop()?.()
  }

  text(text: string): void {
    if (this.#skipped > 0 || this.isTooDeep) return
    if (this.#isInTitle) this.#title = (this.#title ?? '') + text
    else if (this.#code) this.#code.text += text
    else this.#writer.text(withoutHidden(text))
  }

  page(): Page {
    if (this.isTooDeep) {
      while (this.#endings.length > 0) this.#endings.pop()?.()
      this.#writer.break(2)
      this.#writer.text('[the rest of the page is nested too deeply to read]')
    }
    const title = (this.#title ?? '').replace(/\s+/g, ' ').trim()
    return { title: withoutHidden(title), markdown: withoutHidden(this.#writer.toString()) }
  }

  /** Opens an element and returns its closing action. */
  #open(name: string, attributes: Attributes): (() => void) | undefined {
    const mark = MARKS.get(name)
    if (mark !== undefined) return this.#mark(mark)
    if (/^h[1-6]$/.test(name)) return this.#heading(Number(name[1]))
    if (BLOCKS.test(name)) return this.#block()
    switch (name) {
      case 'a':
        return this.#link(attributes)
      case 'img':
        return this.#picture(attributes)
      case 'br':
        this.#writer.break(1)
        return undefined
      case 'hr':
        return this.#rule()
      case 'ul':
      case 'ol':
      case 'menu':
        return this.#list(name === 'ol' ? attributes.start : undefined, name === 'ol')
      case 'li':
        return this.#item()
      case 'blockquote':
        return this.#quote()
      case 'pre':
        return this.#preformatted(attributes)
      case 'table':
        return this.#openTable()
      case 'tr':
        return this.#row()
      case 'td':
      case 'th':
        return this.#cell()
      case 'title':
        return this.#pageTitle()
      default:
        return undefined
    }
  }

  #block(): () => void {
    this.#writer.break(2)
    return () => this.#writer.break(2)
  }

  #mark(mark: string): () => void {
    const close = this.#writer.open(mark)
    return () => close(mark)
  }

  #heading(level: number): () => void {
    this.#writer.break(2)
    const close = this.#writer.open(this.#writer.isFlat ? '' : `${'#'.repeat(level)} `)
    const unflatten = this.#writer.flatten()
    return () => {
      unflatten()
      close('')
      this.#writer.break(2)
    }
  }

  #link({ href }: Attributes): (() => void) | undefined {
    const target = this.#absolute(href)
    if (target === undefined) return undefined
    const close = this.#writer.open('[')
    const unflatten = this.#writer.flatten()
    return () => {
      unflatten()
      close(`](${target})`)
    }
  }

  #picture({ alt, src }: Attributes): undefined {
    const description = alt?.replace(/\s+/g, ' ').trim()
    if (!description) return undefined
    const target = this.#absolute(src)
    this.#writer.text(target === undefined ? description : `![${description}](${target})`)
    return undefined
  }

  #rule(): undefined {
    this.#writer.break(2)
    this.#writer.text('---')
    this.#writer.break(2)
    return undefined
  }

  #list(start: string | undefined, isNumbered: boolean): () => void {
    const number = Number.parseInt(start ?? '1', 10)
    this.#writer.break(this.#lists.length === 0 ? 2 : 1)
    this.#lists.push({ next: isNumbered ? (Number.isNaN(number) ? 1 : number) : undefined })
    return () => {
      this.#lists.pop()
      this.#writer.break(this.#lists.length === 0 ? 2 : 1)
    }
  }

  #item(): () => void {
    const list = this.#lists.at(-1)
    const bullet = list?.next === undefined ? '- ' : `${list.next++}. `
    this.#writer.break(1)
    const unindent = this.#writer.indent(bullet, ' '.repeat(bullet.length))
    return () => {
      unindent()
      this.#writer.break(1)
    }
  }

  #quote(): () => void {
    this.#writer.break(2)
    const unindent = this.#writer.indent('> ', '> ')
    return () => {
      unindent()
      this.#writer.break(2)
    }
  }

  #preformatted(attributes: Attributes): () => void {
    const code = { text: '', language: languageOf(attributes) }
    this.#code = code
    return () => {
      this.#code = undefined
      const text = code.text.replace(/^\r?\n/, '').trimEnd()
      if (text === '') return
      const fence = '`'.repeat(Math.max(3, longestRun(text) + 1))
      this.#writer.break(2)
      this.#writer.lines([fence + code.language, ...text.split(/\r?\n/), fence])
      this.#writer.break(2)
    }
  }

  #openInCode(name: string, attributes: Attributes): undefined {
    if (this.#code === undefined) return undefined
    if (name === 'br') this.#code.text += '\n'
    if (name === 'code') this.#code.language ||= languageOf(attributes)
    return undefined
  }

  /** A table inside a cell becomes running text: Markdown has no nested tables. */
  #openTable(): () => void {
    if (this.#table !== undefined) return this.#block()
    const rows: string[][] = []
    this.#table = { rows, isInCell: false }
    this.#writer.break(2)
    return () => {
      this.#table = undefined
      this.#writeTable(rows.filter((row) => row.length > 0))
    }
  }

  #row(): () => void {
    if (this.#table === undefined || this.#table.isInCell) return this.#block()
    this.#table.rows.push([])
    return nothing
  }

  #cell(): () => void {
    const table = this.#table
    const row = table?.rows.at(-1)
    if (table === undefined || table.isInCell || row === undefined) return this.#block()
    table.isInCell = true
    const unflatten = this.#writer.flatten()
    const captured = this.#writer.capture()
    return () => {
      row.push(captured().replaceAll('|', '\\|'))
      unflatten()
      table.isInCell = false
    }
  }

  #writeTable(rows: readonly string[][]): void {
    const width = rows.reduce((widest, row) => Math.max(widest, row.length), 0)
    this.#writer.break(2)
    // A table with one column is only used for layout.
    if (width <= 1) {
      for (const [cell = ''] of rows) {
        if (cell !== '') this.#writer.lines([cell.replaceAll('\\|', '|')])
        this.#writer.break(2)
      }
      return
    }
    // Short rows are not padded: one very wide row would add thousands of empty cells.
    const lines = rows.map((row) => `| ${row.join(' | ')} |`)
    const separator = `|${' --- |'.repeat(rows[0]?.length ?? width)}`
    this.#writer.lines([...lines.slice(0, 1), separator, ...lines.slice(1)])
    this.#writer.break(2)
  }

  #pageTitle(): (() => void) | undefined {
    if (this.#title !== undefined) return undefined
    this.#isInTitle = true
    return () => {
      this.#isInTitle = false
    }
  }

  /** Returns web and mail addresses; ignores others (scripts, embedded data). */
  #absolute(href: string | undefined): string | undefined {
    if (href === undefined || href.startsWith('#') || !URL.canParse(href, this.#base)) return undefined
    const url = new URL(href, this.#base)
    return /^(https?|mailto):$/.test(url.protocol) ? url.href.replace(/[()]/g, encodeURIComponent) : undefined
  }
}

function nothing(): void {}

function isHidden(attributes: Attributes): boolean {
  if ('hidden' in attributes || attributes['aria-hidden'] === 'true') return true
  return /display\s*:\s*none|visibility\s*:\s*hidden/i.test(attributes.style ?? '')
}

function languageOf(attributes: Attributes): string {
  return /(?:^|\s)lang(?:uage)?-([\w+#.-]{1,30})/.exec(attributes.class ?? '')?.[1] ?? ''
}

function longestRun(text: string): number {
  return (text.match(/`+/g) ?? []).reduce((longest, run) => Math.max(longest, run.length), 0)
}
