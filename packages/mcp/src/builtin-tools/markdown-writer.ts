/** Quotes and lists nested deeper than this are not indented further: the indentation would outgrow the text. */
const MAX_INDENTS = 12

interface Indent {
  /** Prefix of the first line, until that line is written. */
  first: string | undefined
  readonly rest: string
}

/**
 * Writes Markdown piece by piece. Spaces, line breaks and opening marks are held back until text follows, so marks
 * touch their text, empty elements produce nothing, and blank lines do not accumulate.
 */
export class MarkdownWriter {
  #written: string[] = []
  #indents: Indent[] = []
  #marks: string[] = []
  #breaks = 0
  #hasSpace = false
  /** Above 0, line breaks become spaces: inside a link, a heading or a table cell. */
  #flat = 0

  /** Writes running text, with whitespace collapsed. */
  text(text: string): void {
    const words = text.split(/[ \t\r\n\f]+/)
    if (words.length > 1 && words[0] === '') this.#hasSpace = true
    const joined = words.filter((word) => word !== '').join(' ')
    if (joined === '') return
    this.#write(joined)
    this.#hasSpace = words.at(-1) === ''
  }

  /** Writes preformatted lines unchanged. */
  lines(lines: readonly string[]): void {
    for (const line of lines) {
      this.break(1)
      this.#write(line)
    }
  }

  /** Ends the line (1) or the paragraph (2). */
  break(breaks: 1 | 2): void {
    this.#hasSpace = this.#flat > 0
    if (this.#flat > 0) return
    // No break between a bullet and its first paragraph.
    const isAtBullet = this.#indents.at(-1)?.first !== undefined
    this.#breaks = Math.max(this.#breaks, isAtBullet ? 1 : breaks)
  }

  /**
   * Writes an opening mark such as `**`. Returns a function that closes it, or removes it if nothing was written
   * since.
   */
  open(mark: string): (closing: string) => void {
    const waiting = this.#marks
    const depth = waiting.push(mark)
    return (closing) => {
      if (waiting.length >= depth) waiting.length = depth - 1
      else this.#written.push(closing)
    }
  }

  /** Indents all following lines. Returns a function that ends the indentation. */
  indent(first: string, rest: string): () => void {
    if (this.#indents.length >= MAX_INDENTS) return () => undefined
    const indents = this.#indents
    indents.push({ first, rest })
    return () => void indents.pop()
  }

  /** True while all output stays on one line. */
  get isFlat(): boolean {
    return this.#flat > 0
  }

  /** Keeps all output on one line until the returned function is called. */
  flatten(): () => void {
    this.#flat++
    return () => void this.#flat--
  }

  /** Captures output until the returned function is called, which returns the captured text. */
  capture(): () => string {
    const outer = { written: this.#written, indents: this.#indents, marks: this.#marks, breaks: this.#breaks }
    this.#written = []
    this.#indents = []
    this.#marks = []
    this.#breaks = 0
    this.#hasSpace = false
    return () => {
      const captured = this.toString()
      this.#written = outer.written
      this.#indents = outer.indents
      this.#marks = outer.marks
      this.#breaks = outer.breaks
      this.#hasSpace = true
      return captured
    }
  }

  toString(): string {
    return this.#written.join('')
  }

  #write(text: string): void {
    if (this.#written.length === 0) this.#written.push(this.#startOfLine())
    else if (this.#breaks > 0) this.#written.push(this.#blankLine(), '\n', this.#startOfLine())
    else if (this.#hasSpace) this.#written.push(' ')
    this.#written.push(...this.#marks, text)
    this.#marks.length = 0
    this.#breaks = 0
    this.#hasSpace = false
  }

  #blankLine(): string {
    if (this.#breaks < 2) return ''
    // A list item that has not started yet does not indent the blank line before it.
    const begun = this.#indents.filter((indent) => indent.first === undefined)
    return `\n${begun
      .map((indent) => indent.rest)
      .join('')
      .trimEnd()}`
  }

  #startOfLine(): string {
    return this.#indents
      .map((indent) => {
        const start = indent.first ?? indent.rest
        indent.first = undefined
        return start
      })
      .join('')
  }
}
