import { isRecord } from '../../json.ts'
import type { ConfigFile } from './config-file.ts'

/**
 * Reads a JSON config without comments, trailing commas and mistakes, which most are: loading the full parser takes
 * longer than everything else. Returns undefined for any other text.
 */
export function readPlainJson(text: string, path: string): ConfigFile | undefined {
  try {
    const data = withoutPrototypes(JSON.parse(text))
    // A key that is written twice is read once.
    if (!isRecord(data) || countKeys(data) !== countWrittenKeys(text)) return undefined
    return { path, format: 'json', data, lineOf: (keys) => lineAt(text, offsetOf(text, keys)) }
  } catch {
    return undefined
  }
}

/** Objects without prototype, so that `__proto__` is an ordinary key. */
function withoutPrototypes(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutPrototypes)
  if (!isRecord(value)) return value
  const record: Record<string, unknown> = Object.create(null)
  for (const key of Object.keys(value)) record[key] = withoutPrototypes(value[key])
  return record
}

function countKeys(value: unknown): number {
  if (Array.isArray(value)) return value.reduce<number>((sum, item) => sum + countKeys(item), 0)
  if (!isRecord(value)) return 0
  const keys = Object.keys(value)
  return keys.reduce((sum, key) => sum + countKeys(value[key]), keys.length)
}

function countWrittenKeys(text: string): number {
  let count = 0
  for (const { kind } of marksIn(text)) if (kind === ':') count++
  return count
}

/** The offset of the last of these nested keys, or of the nearest one that exists; of the root object if none does. */
function offsetOf(text: string, keys: readonly string[]): number {
  let found = 0
  let depth = 0
  let offset = text.indexOf('{')
  let string = { start: 0, end: 0 }
  for (const { kind, start, end } of marksIn(text)) {
    if (kind === '"') string = { start, end }
    else if (kind === '{' || kind === '[') depth++
    else if (kind !== ':') {
      depth--
      // The value of the last key found is complete.
      if (depth <= found) return offset
    } else if (depth === found + 1 && JSON.parse(text.slice(string.start, string.end)) === keys[found]) {
      offset = string.start
      found++
      if (found === keys.length || !/^\s*\{/.test(text.slice(end, end + MAX_SPACE))) return offset
    }
  }
  return offset
}

/** How many spaces may be between a key and its value; after more, the line of the key is close enough. */
const MAX_SPACE = 1_000

interface Mark {
  readonly kind: string
  readonly start: number
  readonly end: number
}

/** Yields the strings, brackets and colons of a valid JSON text. */
function* marksIn(text: string): Generator<Mark> {
  for (let at = 0; at < text.length; at++) {
    const kind = text[at] ?? ''
    if (!'"{}[]:'.includes(kind)) continue
    const end = kind === '"' ? endOfString(text, at) : at + 1
    yield { kind, start: at, end }
    at = end - 1
  }
}

function endOfString(text: string, start: number): number {
  let at = start + 1
  while (text[at] !== '"') at += text[at] === '\\' ? 2 : 1
  return at + 1
}

function lineAt(text: string, offset: number): number {
  return text.slice(0, offset).split('\n').length
}
