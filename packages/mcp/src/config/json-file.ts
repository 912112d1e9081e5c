import { createRequire } from 'node:module'
import { ToolcribError } from '@toolcrib/core'
import { isRecord, onFirstUse } from '@toolcrib/core/internal'
import type { Node, ParseError } from 'jsonc-parser'

/** The data of a config file, and the lines it came from. */
export interface ReadFile {
  readonly data: Record<string, unknown>
  /** The line of a key, counted from 1, or of the nearest enclosing table. */
  lineOf(keys: readonly string[]): number
}

/** Most configs have no comments, and loading this parser takes longer than everything else that reads a config. */
const jsonc = onFirstUse((): typeof import('jsonc-parser') => createRequire(import.meta.url)('jsonc-parser'))

/** Parses a JSON config with comments and trailing commas. Throws `config-invalid` with the line number for invalid syntax. */
export function readJson(text: string, path: string): ReadFile {
  const data = readPlain(text)
  return isRecord(data) ? { data, lineOf: (keys) => readTree(text, path).lineOf(keys) } : readTree(text, path)
}

/** The data of JSON without comments, trailing commas, mistakes and repeated keys; undefined for any other text. */
function readPlain(text: string): unknown {
  let keys = 0
  const withoutPrototype = (_: string, value: unknown) => {
    if (!isRecord(value)) return value
    keys += Object.keys(value).length
    return Object.assign(Object.create(null), value)
  }
  try {
    const data: unknown = JSON.parse(text, withoutPrototype)
    // A key that is written twice is read once.
    return keys === (text.match(/"\s*:/g)?.length ?? 0) ? data : undefined
  } catch {
    return undefined
  }
}

function readTree(text: string, path: string): ReadFile {
  const { parseTree, printParseErrorCode } = jsonc()
  const errors: ParseError[] = []
  const lineAt = (offset: number) => text.slice(0, offset).split('\n').length
  try {
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
    if (!root || !isRecord(data))
      throw new ToolcribError('config-invalid', `${path}:1: must be a JSON object`)
    return { data, lineOf: (keys) => lineAt(offsetOf(root, keys)) }
  } catch (cause) {
    if (!(cause instanceof RangeError)) throw cause
    const reason = 'is nested too deeply; keep only the config in it'
    throw new ToolcribError('config-invalid', `${path}: ${reason}`, { cause })
  }
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
