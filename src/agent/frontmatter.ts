import { ToolcribError } from '../errors.ts'

export interface Frontmatter {
  readonly fields: ReadonlyMap<string, string | readonly string[]>
  readonly body: string
}

/**
 * Reads the head of a Markdown file: the part of YAML that such heads are written in. Keys with texts, plain or quoted,
 * `|` and `>` blocks, and lists of texts, in brackets or line by line. What is more than that is refused by its line,
 * rather than read wrongly.
 */
export function readFrontmatter(markdown: string, file: string): Frontmatter {
  const lines = markdown.replace(/^\uFEFF/, '').split(/\r?\n/)
  const end = lines.indexOf('---', 1)
  if (lines[0] !== '---' || end === -1) {
    throw new ToolcribError(
      'config-invalid',
      `${file}: there is no frontmatter; begin the file with --- and end it so`,
    )
  }
  const reader = new HeadReader(lines.slice(1, end), file)
  return { fields: reader.read(), body: lines.slice(end + 1).join('\n') }
}

class HeadReader {
  readonly #lines: readonly string[]
  readonly #file: string
  #at = 0

  constructor(lines: readonly string[], file: string) {
    this.#lines = lines
    this.#file = file
  }

  read(): Frontmatter['fields'] {
    const fields = new Map<string, string | readonly string[]>()
    while (this.#at < this.#lines.length) {
      const line = this.#lines[this.#at++] ?? ''
      if (isBlank(line)) continue
      const [, key, rest = ''] = /^([\w-]+)\s*:(?:\s+(.*))?$/.exec(line) ?? []
      if (key === undefined) throw this.#fault(`"${line.trim()}" is no key with a value`)
      if (fields.has(key)) throw this.#fault(`"${key}" stands twice`)
      fields.set(key, this.#value(rest.trim()))
    }
    return fields
  }

  #value(rest: string): string | readonly string[] {
    if (/^[|>][+-]?$/.test(rest)) return this.#block(rest.startsWith('>') ? ' ' : '\n')
    if (rest.startsWith('[')) return this.#inlineList(rest)
    if (rest.startsWith('{') || rest.startsWith('&') || rest.startsWith('*'))
      throw this.#fault(`"${rest}" is more than text or a list`)
    if (rest !== '' && !rest.startsWith('#')) return this.#text(rest)
    const items = this.#listLines()
    return items.length > 0 ? items : ''
  }

  #block(joint: string): string {
    const indented: string[] = []
    while (this.#at < this.#lines.length && /^(\s+|$)/.test(this.#lines[this.#at] ?? '')) {
      indented.push(this.#lines[this.#at++] ?? '')
    }
    const depth = Math.min(...indented.filter((line) => line.trim() !== '').map((line) => line.search(/\S/)))
    return indented
      .map((line) => line.slice(depth))
      .join(joint)
      .trim()
  }

  #inlineList(rest: string): readonly string[] {
    const inside = /^\[(.*)\]\s*(#.*)?$/.exec(rest)?.[1]
    if (inside === undefined) throw this.#fault('the list does not end on its line')
    const items = inside.match(/"(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|[^,]+/g) ?? []
    return items
      .map((item) => item.trim())
      .filter((item) => item !== '')
      .map((item) => this.#text(item))
  }

  #listLines(): readonly string[] {
    const items: string[] = []
    while (this.#at < this.#lines.length) {
      const line = this.#lines[this.#at] ?? ''
      const item = /^\s*-\s+(.*)$/.exec(line)?.[1]
      if (item === undefined && !isBlank(line)) break
      this.#at++
      if (item !== undefined) items.push(this.#text(item.trim()))
    }
    return items
  }

  #text(written: string): string {
    if (written.startsWith('"')) return this.#doubleQuoted(written)
    if (written.startsWith("'")) {
      const inside = /^'((?:[^']|'')*)'\s*(#.*)?$/.exec(written)?.[1]
      if (inside === undefined) throw this.#fault('the quotes do not end on their line')
      return inside.replaceAll("''", "'")
    }
    return written.replace(/\s+#.*$/, '')
  }

  #doubleQuoted(written: string): string {
    const quoted = /^("(?:[^"\\]|\\.)*")\s*(#.*)?$/.exec(written)?.[1]
    if (quoted === undefined) throw this.#fault('the quotes do not end on their line')
    try {
      return String(JSON.parse(quoted))
    } catch {
      throw this.#fault(`${quoted} has an escape that cannot be read`)
    }
  }

  #fault(problem: string): ToolcribError {
    // The head begins on the second line, and the reader stands one past the line it reads.
    return new ToolcribError('config-invalid', `${this.#file}:${this.#at + 1}: ${problem}`)
  }
}

function isBlank(line: string): boolean {
  return /^\s*(#.*)?$/.test(line)
}
