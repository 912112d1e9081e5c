import { ToolcribError } from '../errors.ts'
import { nearestName } from '../nearest-name.ts'

export interface Frontmatter {
  readonly fields: FrontmatterFields
  readonly body: string
}

/**
 * Reads the frontmatter of a Markdown file: the part of YAML that such files use. Keys with texts, plain or quoted, `|`
 * and `>` blocks, and lists of texts, in brackets or line by line. Anything else throws with its line when the key is
 * read, instead of being misread; the values of unused keys may be anything.
 */
export function readFrontmatter(markdown: string, file: string): Frontmatter {
  const lines = markdown.replace(/^\uFEFF/, '').split(/\r?\n/)
  const end = lines.findIndex((line, index) => index > 0 && isFence(line))
  if (!isFence(lines[0] ?? '') || end === -1) {
    throw new ToolcribError(
      'config-invalid',
      `${file}: there is no frontmatter; begin the file with a line --- and end the frontmatter with another`,
    )
  }
  const fields = new FrontmatterFields(lines.slice(1, end), file)
  return { fields, body: lines.slice(end + 1).join('\n') }
}

function isFence(line: string): boolean {
  return /^---\s*$/.test(line)
}

/** A value as written: the text beside its key, and the lines below that belong to it. */
interface Written {
  readonly beside: string
  readonly below: readonly string[]
  /** The line of the key in the file. */
  readonly line: number
}

/** The keys of the frontmatter. Values are parsed when they are read. */
class FrontmatterFields {
  readonly #file: string
  readonly #written = new Map<string, Written>()

  constructor(lines: readonly string[], file: string) {
    this.#file = file
    let at = 0
    while (at < lines.length) {
      const line = lines[at] ?? ''
      // The frontmatter begins on the second line of the file.
      const place = ++at + 1
      if (isBlank(line)) continue
      const [, key, rest = ''] = /^([\w-]+)\s*:(?:\s+(.*))?$/.exec(line) ?? []
      if (key === undefined) throw this.#fault(place, `"${line.trim()}" is not a key with a value`)
      if (this.#written.has(key)) throw this.#fault(place, `"${key}" is given twice`)
      const start = at
      while (at < lines.length && belongsAbove(lines[at] ?? '')) at++
      this.#written.set(key, { beside: rest.trim(), below: lines.slice(start, at), line: place })
    }
  }

  /**
   * Returns the value of a key: a text, a list of texts, or `''` for empty and null; undefined if the key is absent.
   */
  get(key: string): string | readonly string[] | undefined {
    const written = this.#written.get(key)
    return written && this.#read(written)
  }

  /** Throws for a key that is close but not equal to one of these: misspelt keys must not be ignored. */
  refuseMisspelt(known: readonly string[]): void {
    for (const [key, { line }] of this.#written) {
      const nearest = known.includes(key) ? undefined : nearestName(key, known)
      if (nearest !== undefined)
        throw this.#fault(line, `the key "${key}" is unknown; did you mean "${nearest}"?`)
    }
  }

  #read(written: Written): string | readonly string[] {
    const { beside, below, line } = written
    if (/^[|>][+-]?$/.test(beside)) {
      const lines = unindent(below)
      return (beside.startsWith('>') ? fold(lines) : lines.join('\n')).trim()
    }
    if (beside.startsWith('[')) return this.#inlineList(written)
    if (/^[{&*!]/.test(beside)) throw this.#fault(line, `"${beside}" is more than text or a list`)
    if (beside === '' || beside.startsWith('#')) return this.#listLines(written)
    const stray = below.findIndex((text) => !isBlank(text))
    if (stray !== -1)
      throw this.#fault(line + stray + 1, `"${below[stray]?.trim()}" is not a key with a value`)
    const text = this.#text(beside, line)
    return /^(null|~)(\s+#.*)?$/i.test(beside) ? '' : text
  }

  #inlineList({ beside, below, line }: Written): readonly string[] {
    const lines = [beside, ...below.filter((text) => !isBlank(text))]
    const whole = lines.map((text) => text.replace(/\s+#[^"'\]]*$/, '').trim()).join(' ')
    const inside = /^\[(.*)\]\s*(#.*)?$/.exec(whole)?.[1]
    if (inside === undefined) throw this.#fault(line, 'the list does not end with ]')
    const items = inside.match(/\s*(?:"(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|[^,]+)/g) ?? []
    return items
      .map((item) => item.trim())
      .filter((item) => item !== '')
      .map((item) => this.#text(item, line))
  }

  #listLines({ below, line }: Written): string | readonly string[] {
    const items = below.flatMap((text, index) => {
      if (isBlank(text)) return []
      const item = /^\s*-\s+(.*)$/.exec(text)?.[1]
      if (item === undefined)
        throw this.#fault(line + index + 1, `"${text.trim()}" is more than text or a list`)
      return [this.#text(item.trim(), line + index + 1)]
    })
    return items.length > 0 ? items : ''
  }

  #text(written: string, line: number): string {
    if (written.startsWith('"')) return this.#doubleQuoted(written, line)
    if (written.startsWith("'")) {
      const inside = /^'((?:[^']|'')*)'\s*(#.*)?$/.exec(written)?.[1]
      if (inside === undefined) throw this.#fault(line, 'the quotes do not end on their line')
      return inside.replaceAll("''", "'")
    }
    return written.replace(/\s+#.*$/, '')
  }

  #doubleQuoted(written: string, line: number): string {
    const quoted = /^("(?:[^"\\]|\\.)*")\s*(#.*)?$/.exec(written)?.[1]
    if (quoted === undefined) throw this.#fault(line, 'the quotes do not end on their line')
    try {
      return String(JSON.parse(quoted))
    } catch {
      throw this.#fault(line, `${quoted} has an escape that cannot be read`)
    }
  }

  #fault(line: number, problem: string): ToolcribError {
    return new ToolcribError('config-invalid', `${this.#file}:${line}: ${problem}`)
  }
}

/** Whether a line continues the value of the key above: indented, an item of its list, or the end of its brackets. */
function belongsAbove(line: string): boolean {
  return isBlank(line) || /^(\s|-\s|[\]}])/.test(line)
}

function isBlank(line: string): boolean {
  return /^\s*(#.*)?$/.test(line)
}

function unindent(lines: readonly string[]): readonly string[] {
  const text = lines.filter((line) => /^(\s|$)/.test(line))
  const depth = Math.min(...text.filter((line) => line.trim() !== '').map((line) => line.search(/\S/)))
  return text.map((line) => line.slice(depth))
}

/** Joins lines as YAML's `>` does: an empty line ends a paragraph, and lines that are indented further are kept. */
function fold(lines: readonly string[]): string {
  let folded = ''
  let emptyLines = 0
  let wasIndented = false
  for (const line of lines) {
    if (line.trim() === '') {
      emptyLines++
      continue
    }
    const isIndented = /^\s/.test(line)
    const breaks = emptyLines + (isIndented || wasIndented ? 1 : 0)
    if (folded !== '') folded += breaks > 0 ? '\n'.repeat(breaks) : ' '
    folded += line
    emptyLines = 0
    wasIndented = isIndented
  }
  return folded
}
