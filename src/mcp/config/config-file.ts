import { type Node, type ParseError, parseTree, printParseErrorCode } from 'jsonc-parser'
import { parse as parseToml, TomlError } from 'smol-toml'
import { describeError, ToolcribError } from '../../errors.ts'
import { isRecord } from '../../json.ts'

/** A config file's data, with the way back to its lines. */
export interface ConfigFile {
  readonly path: string
  readonly format: 'toml' | 'json'
  readonly data: Record<string, unknown>
  /** The line, from 1, where a key stands, or the nearest table around it. */
  lineOf(keys: readonly string[]): number
}

/** Reads TOML by the name's end, JSON with comments and trailing commas otherwise; `config-invalid` names the line. */
export function parseConfigFile(text: string, path: string): ConfigFile {
  const source = text.replace(/^\uFEFF/, '')
  return path.endsWith('.toml') ? readToml(source, path) : readJson(source, path)
}

function readToml(text: string, path: string): ConfigFile {
  try {
    const data: Record<string, unknown> = parseToml(text)
    return { path, format: 'toml', data, lineOf: (keys) => tomlLine(text, keys) }
  } catch (thrown) {
    const place = thrown instanceof TomlError ? `${path}:${thrown.line}` : path
    const reason = describeError(thrown).split('\n')[0]
    throw new ToolcribError('config-invalid', `${place}: ${reason}`, { cause: thrown })
  }
}

/** The parser keeps no positions, so the text is looked through for the header and the key. */
function tomlLine(text: string, keys: readonly string[]): number {
  let table = ''
  let nearest = { line: 1, depth: 0 }
  for (const [index, line] of text.split(/\r?\n/).entries()) {
    const header = /^\s*\[+\s*([^\]]+?)\s*\]+/.exec(line)?.[1]
    const key = header === undefined ? /^\s*([\w\-."']+?)\s*=/.exec(line)?.[1] : undefined
    if (header !== undefined) table = header
    const found = splitKeys(key === undefined ? table : table === '' ? key : `${table}.${key}`)
    const depth = found.length
    const isOnTheWay = depth <= keys.length && found.every((part, at) => part === keys[at])
    if (isOnTheWay && depth > nearest.depth) nearest = { line: index + 1, depth }
  }
  return nearest.line
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
    const reason = 'is nested too deeply; take out what is no config'
    throw new ToolcribError('config-invalid', `${path}: ${reason}`, { cause })
  }
}

function readTree(text: string, path: string): ConfigFile {
  const errors: ParseError[] = []
  const root = parseTree(text, errors, { allowTrailingComma: true })
  const [error] = errors
  if (error) {
    const reason = printParseErrorCode(error.error).replace(/(?<=[a-z])(?=[A-Z])/g, ' ')
    throw new ToolcribError(
      'config-invalid',
      `${path}:${lineAt(text, error.offset)}: ${reason.toLowerCase()}`,
    )
  }
  const data =
    root &&
    toValue(root, (key, first) => {
      const reason = `the key ${JSON.stringify(key.value)} is in line ${lineAt(text, first.offset)} already`
      const place = `${path}:${lineAt(text, key.offset)}`
      throw new ToolcribError('config-invalid', `${place}: ${reason}; rename or remove one of them`)
    })
  if (!root || !isRecord(data))
    throw new ToolcribError('config-invalid', `${path}:1: must hold a JSON object`)
  return { path, format: 'json', data, lineOf: (keys) => lineAt(text, offsetOf(root, keys)) }
}

/** The value of a node. Objects have no prototype, so that `__proto__` is a key like any other. */
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

function lineAt(text: string, offset: number): number {
  return text.slice(0, offset).split('\n').length
}
