import { isRecord } from '@toolcrib/core/internal'
import { parse, stringify, TomlError } from 'smol-toml'
import { checked, invalid, type TextFormat } from './text-format.ts'

export const TOML: TextFormat = {
  name: 'toml',
  parse: parseToml,
  set: (text, path, value) => checked(TOML, { text, changed: setInToml(text, path, value), path, value }),
}

function parseToml(text: string): unknown {
  try {
    return parse(text.replace(/^\uFEFF/, ''))
  } catch (error) {
    if (error instanceof TomlError)
      throw invalid(`line ${error.line}, column ${error.column}: ${error.message.split('\n')[0]}`, error)
    throw invalid('nested too deeply', error)
  }
}

/**
 * Sets the value at a path of keys in a TOML text, and leaves every other line, with its comments, unchanged; undefined
 * removes the value. A table replaces the existing table, or is appended. The result is correct only if values are
 * written in their own tables (`[server.name]`): the caller checks what it parses to.
 */
function setInToml(text: string, path: readonly string[], value: unknown): string {
  const tables = findTables(text)
  const own = tables.filter(({ keys }) => startsWith(keys, path))
  if (isRecord(value) || (value === undefined && own.length > 0)) return replaceTables(text, own, path, value)
  const parent = tables.find(({ keys }) => isSame(keys, path.slice(0, -1)))
  return parent === undefined ? text : setKey(text, parent, path.at(-1) ?? '', value)
}

/** A `[header]` with its lines, up to the next header. Lines count from 0; `end` is not part of it. */
interface Table {
  readonly keys: readonly string[]
  readonly start: number
  readonly end: number
  /** The lines on which its keys begin. */
  readonly entries: readonly { readonly key: string; readonly start: number; readonly end: number }[]
}

function replaceTables(
  text: string,
  own: readonly Table[],
  path: readonly string[],
  value: Readonly<Record<string, unknown>> | undefined,
): string {
  const eol = text.includes('\r\n') ? '\r\n' : '\n'
  const lines = text.split('\n')
  const added = value === undefined ? [] : tableLines(path, value, eol)
  const [first] = own
  if (first === undefined) return append(text, added, eol)
  const doomed = new Set<number>()
  for (const { start, end } of own) {
    const from = value === undefined ? aboveComments(lines, start) : start
    for (let at = from; at < end; at++) doomed.add(at)
  }
  const kept = lines.flatMap((line, at) => {
    if (at === first.start && added.length > 0) return [...added, ...(first.end < lines.length ? [''] : [])]
    return doomed.has(at) ? [] : [line]
  })
  // What ended the last table now ends another.
  return kept.join('\n')
}

function tableLines(path: readonly string[], value: unknown, eol: string): string[] {
  const nested = path.reduceRight<unknown>((inner, key) => ({ [key]: inner }), value)
  const text = stringify(nested as Record<string, unknown>).trimEnd()
  return text.split('\n').map((line) => (eol === '\r\n' ? `${line}\r` : line))
}

function append(text: string, added: readonly string[], eol: string): string {
  if (added.length === 0) return text
  const before = text.trim() === '' ? '' : `${text.trimEnd()}${eol}${eol}`
  return `${before}${added.join('\n').replace(/\r$/, '')}${eol}`
}

function setKey(text: string, table: Table, key: string, value: unknown): string {
  const lines = text.split('\n')
  const entry = table.entries.find((each) => each.key === key)
  const end = text.includes('\r\n') ? '\r' : ''
  const written = value === undefined ? [] : [stringify({ [key]: value }).trimEnd() + end]
  if (entry) lines.splice(entry.start, entry.end - entry.start, ...written)
  else lines.splice(table.start + 1, 0, ...written)
  return lines.join('\n')
}

/** Finds the headers, skipping multi-line strings and lists that look like headers. */
function findTables(text: string): Table[] {
  const starts: { keys: string[]; start: number }[] = []
  const entries: { key: string; start: number }[] = []
  const lines = text.split('\n')
  const scan = new ValueScan()
  for (const [at, line] of lines.entries()) {
    if (scan.isInside) {
      scan.read(line)
      continue
    }
    const header = /^\s*\[(?!\[)(.*)\]\s*(?:#.*)?\r?$/.exec(line)?.[1]
    const isList = /^\s*\[\[/.test(line)
    if (header !== undefined || isList) {
      starts.push({ keys: isList ? [] : splitKeys(header ?? ''), start: at })
      continue
    }
    const key = /^\s*((?:"[^"]*"|'[^']*'|[\w-]+))\s*=/.exec(line)?.[1]
    if (key !== undefined) entries.push({ key: splitKeys(key)[0] ?? '', start: at })
    scan.read(line)
  }
  return starts.map(({ keys, start }, index) => {
    const next = starts[index + 1]?.start
    const end = next === undefined ? lines.length - (lines.at(-1) === '' ? 1 : 0) : aboveComments(lines, next)
    const own = entries.filter((entry) => entry.start > start && entry.start < end)
    return {
      keys,
      start,
      end,
      entries: own.map((entry, at) => ({
        ...entry,
        end: endOf(lines, entry.start, own[at + 1]?.start ?? end),
      })),
    }
  })
}

/** Comments right above a header belong to it, if there is an empty line above them. */
function aboveComments(lines: readonly string[], header: number): number {
  let at = header
  while (at > 0 && /^\s*#/.test(lines[at - 1] ?? '')) at--
  return /^\s*$/.test(lines[at - 1] ?? '') ? at : header
}

/** A value ends before the comments and empty lines that follow it. */
function endOf(lines: readonly string[], start: number, limit: number): number {
  let end = limit
  while (end > start + 1 && /^\s*(?:#.*)?$/.test(lines[end - 1] ?? '')) end--
  return end
}

/** Follows a value over several lines: which string or list is still open. */
class ValueScan {
  #string: '"""' | "'''" | undefined
  #depth = 0

  get isInside(): boolean {
    return this.#string !== undefined || this.#depth > 0
  }

  read(line: string): void {
    const rest = this.#string === undefined ? line : this.#closeString(line)
    if (rest === undefined) return
    for (const [token] of rest.matchAll(TOKENS)) {
      if (token.startsWith('#')) return
      if (token === '"""' || token === "'''") {
        this.#string = token
        const after = rest.slice(rest.indexOf(token) + 3)
        if (after.includes(token)) this.#string = undefined
        return
      }
      if (token === '[' || token === '{') this.#depth++
      if (token === ']' || token === '}') this.#depth = Math.max(0, this.#depth - 1)
    }
  }

  #closeString(line: string): string | undefined {
    const end = line.indexOf(this.#string ?? '')
    if (end < 0) return undefined
    this.#string = undefined
    return line.slice(end + 3)
  }
}

const TOKENS = /"""|'''|"(?:[^"\\]|\\.)*"|'[^']*'|#.*|[[\]{}]/g

function splitKeys(dotted: string): string[] {
  const parts = dotted.match(/"(?:[^"\\]|\\.)*"|'[^']*'|[^.\s]+/g) ?? []
  return parts.map((part) => {
    if (part.startsWith('"')) return String(parse(`k = ${part}`).k)
    return part.replace(/^'|'$/g, '')
  })
}

function startsWith(keys: readonly string[], path: readonly string[]): boolean {
  return keys.length >= path.length && path.every((key, at) => keys[at] === key)
}

function isSame(keys: readonly string[], path: readonly string[]): boolean {
  return keys.length === path.length && startsWith(keys, path)
}
