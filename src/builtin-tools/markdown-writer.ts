/** Quotes and lists deeper than this are no longer indented: the indent of every line would outgrow the text. */
const MAX_INDENTS = 12

interface Indent {
  /** What the first line begins with, until it is written. */
  first: string | undefined
  readonly rest: string
}

/**
 * Writes Markdown piece by piece. Space, line breaks and opening marks wait until text follows, so that marks hug
 * their text, empty elements leave nothing, and blank lines never pile up.
 */
export class MarkdownWriter {
  #written: string[] = []
  #indents: Indent[] = []
  #marks: string[] = []
  #breaks = 0
  #hasSpace = false
  /** Above 0, breaks are spaces: in a link, a heading, a cell. */
  #flat = 0

  /** Running text: white space collapses. */
  text(text: string): void {
    const words = text.split(/[ \t\r\n\f]+/)
    if (words.length > 1 && words[0] === '') this.#hasSpace = true
    const joined = words.filter((word) => word !== '').join(' ')
    if (joined === '') return
    this.#write(joined)
    this.#hasSpace = words.at(-1) === ''
  }

  /** Text that is kept as it is, line by line. */
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
    // Nothing separates a bullet from its first paragraph.
    const isAtBullet = this.#indents.at(-1)?.first !== undefined
    this.#breaks = Math.max(this.#breaks, isAtBullet ? 1 : breaks)
  }

  /** An opening mark, such as `**`. The function it returns closes it, and takes it back if nothing was written. */
  open(mark: string): (closing: string) => void {
    const waiting = this.#marks
    const depth = waiting.push(mark)
    return (closing) => {
      if (waiting.length >= depth) waiting.length = depth - 1
      else this.#written.push(closing)
    }
  }

  /** Indents all lines from here on; the function it returns ends that. */
  indent(first: string, rest: string): () => void {
    if (this.#indents.length >= MAX_INDENTS) return () => undefined
    const indents = this.#indents
    indents.push({ first, rest })
    return () => void indents.pop()
  }

  /** Whether everything stays on one line for now. */
  get isFlat(): boolean {
    return this.#flat > 0
  }

  /** Keeps everything on one line until the function it returns is called. */
  flatten(): () => void {
    this.#flat++
    return () => void this.#flat--
  }

  /** Writes aside until the function it returns is called, which returns what was written. */
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
    // A list item that has not begun yet is not part of the blank line before it.
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
