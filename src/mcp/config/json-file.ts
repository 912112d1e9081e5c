import { type Node, type ParseError, parseTree, printParseErrorCode } from 'jsonc-parser'
import { ToolcribError } from '../../errors.ts'
import { isRecord } from '../../json.ts'
import type { ConfigFile } from './config-file.ts'

/** Parses a JSON config with comments and trailing commas. Throws `config-invalid` with the line number for invalid syntax. */
export function readJson(text: string, path: string): ConfigFile {
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
    const property: Node | undefined = node?.children?.find(
      ({ type, children }) => type === 'property' && children?.[0]?.value === wanted,
    )
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
