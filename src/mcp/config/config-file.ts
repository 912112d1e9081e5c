import { type Node, type ParseError, parseTree, printParseErrorCode } from 'jsonc-parser'
import { parse as parseToml, TomlError } from 'smol-toml'
import { describeError, ToolcribError } from '../../errors.ts'
import { isRecord } from '../../json.ts'

/** The data of a config file, and the lines it came from. */
export interface ConfigFile {
  readonly path: string
  readonly format: 'toml' | 'json'
  readonly data: Record<string, unknown>
  /** The line of a key, counted from 1, or of the nearest enclosing table. */
  lineOf(keys: readonly string[]): number
}

/** The maximum size of a config: parsing takes time and many times the size in memory. */
export const MAX_CONFIG_BYTES = 2 * 1024 * 1024

/**
 * Parses TOML when the name ends in `.toml`, otherwise JSON with comments and trailing commas. Throws
 * `config-invalid` with the line number for invalid syntax, and for text over 2 MiB.
 */
export function parseConfigFile(text: string, path: string): ConfigFile {
  if (text.length > MAX_CONFIG_BYTES) throw tooLarge(path)
  const source = text.replace(/^\uFEFF/, '')
  return path.endsWith('.toml') ? readToml(source, path) : readJson(source, path)
}

/** Returns the `config-invalid` error for a file over the limit. */
export function tooLarge(path: string): ToolcribError {
  const limit = `${MAX_CONFIG_BYTES / 1024 / 1024} MiB`
  return new ToolcribError('config-invalid', `${path} is larger than ${limit}; keep only the config in it`)
}

function readToml(text: string, path: string): ConfigFile {
  try {
    const data: Record<string, unknown> = parseToml(text)
    let index: ReadonlyMap<string, number> | undefined
    const lineOf = (keys: readonly string[]) => {
      index ??= indexToml(text)
      return nearestLine(index, keys)
    }
    return { path, format: 'toml', data, lineOf }
  } catch (thrown) {
    const place = thrown instanceof TomlError ? `${path}:${thrown.line}:${thrown.column}` : path
    const reason = describeError(thrown).split('\n')[0]
    throw new ToolcribError('config-invalid', `${place}: ${reason}; correct the TOML there`, {
      cause: thrown,
    })
  }
}

/**
 * Maps the path of each table and key to its line. The parser keeps no positions, so this scans the text a second
 * time; it may mistake a line within a multi-line string for a key.
 */
function indexToml(text: string): ReadonlyMap<string, number> {
  const lines = new Map<string, number>()
  let table = ''
  for (const [at, line] of text.split('\n').entries()) {
    const header = headerOf(line)
    const key = header === undefined ? keyOf(line) : undefined
    if (header !== undefined) table = header
    if (header === undefined && key === undefined) continue
    const path = pathOf(splitKeys(key === undefined ? table : table === '' ? key : `${table}.${key}`))
    if (!lines.has(path)) lines.set(path, at + 1)
  }
  return lines
}

function nearestLine(lines: ReadonlyMap<string, number>, keys: readonly string[]): number {
  for (let depth = keys.length; depth > 0; depth--) {
    const line = lines.get(pathOf(keys.slice(0, depth)))
    if (line !== undefined) return line
  }
  return 1
}

function pathOf(keys: readonly string[]): string {
  return JSON.stringify(keys)
}

function headerOf(line: string): string | undefined {
  const written = line.trim()
  if (!written.startsWith('[')) return undefined
  const name = written.replace(/^\[+/, '')
  const end = name.indexOf(']')
  return end < 0 ? undefined : name.slice(0, end).trim()
}

function keyOf(line: string): string | undefined {
  const key = line.slice(0, Math.max(0, line.indexOf('='))).trim()
  return /^[\w\-."']+$/.test(key) ? key : undefined
}

function splitKeys(dotted: string): string[] {
  const parts = dotted.match(/"[^"]*"|'[^']*'|[^.\s]+/g) ?? []
  return parts.map((part) => part.replace(/^["']|["']$/g, ''))
}

function readJson(text: string, path: string): ConfigFile {
  try {
    return readTree(text, path)
  } catch (cause) {
    if (!(cause instanceof RangeError)) throw cause
    const reason = 'is nested too deeply; keep only the config in it'
    throw new ToolcribError('config-invalid', `${path}: ${reason}`, { cause })
  }
}

function readTree(text: string, path: string): ConfigFile {
  const errors: ParseError[] = []
  const lineAt = lineFinder(text)
  const root = parseTree(text, errors, { allowTrailingComma: true })
  const [error] = errors
  if (error) {
    const reason = printParseErrorCode(error.error).replace(/(?<=[a-z])(?=[A-Z])/g, ' ')
    const column = error.offset - text.lastIndexOf('\n', error.offset - 1)
    const place = `${path}:${lineAt(error.offset)}:${column}`
    throw new ToolcribError('config-invalid', `${place}: ${reason.toLowerCase()}; correct the JSON there`)
  }
  const data =
    root &&
    toValue(root, (key, first) => {
      const reason = `duplicate key ${JSON.stringify(key.value)}, first defined on line ${lineAt(first.offset)}`
      const place = `${path}:${lineAt(key.offset)}`
      throw new ToolcribError('config-invalid', `${place}: ${reason}; rename or remove one of them`)
    })
  if (!root || !isRecord(data)) throw new ToolcribError('config-invalid', `${path}:1: must be a JSON object`)
  return { path, format: 'json', data, lineOf: (keys) => lineAt(offsetOf(root, keys)) }
}

/** Converts a node to its value. Objects have no prototype, so that `__proto__` is an ordinary key. */
function toValue(node: Node, onTwice: (key: Node, first: Node) => void): unknown {
  if (node.type === 'array') return (node.children ?? []).map((item) => toValue(item, onTwice))
  if (node.type !== 'object') return node.value
  const record: Record<string, unknown> = Object.create(null)
  const keys = new Map<string, Node>()
  for (const { children: [key, value] = [] } of node.children ?? []) {
    if (!key || !value) continue
    const name = String(key.value)
    const first = keys.get(name)
    if (first) onTwice(key, first)
    keys.set(name, key)
    record[name] = toValue(value, onTwice)
  }
  return record
}

function offsetOf(root: Node, keys: readonly string[]): number {
  let node: Node | undefined = root
  let offset = root.offset
  for (const wanted of keys) {
    const property: Node | undefined = node?.children?.find((child) => child.children?.[0]?.value === wanted)
    if (!property) return offset
    offset = property.offset
    node = property.children?.[1]
  }
  return offset
}

/** Returns a function from offset to line. Line starts are indexed on first use. */
function lineFinder(text: string): (offset: number) => number {
  let starts: number[] | undefined
  return (offset) => {
    starts ??= lineStarts(text)
    let low = 0
    let high = starts.length
    while (low < high) {
      const middle = (low + high) >> 1
      if ((starts[middle] ?? 0) <= offset) low = middle + 1
      else high = middle
    }
    return low
  }
}

function lineStarts(text: string): number[] {
  const starts = [0]
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) starts.push(at + 1)
  return starts
}
