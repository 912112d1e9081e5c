import { ToolcribError } from '@toolcrib/core'
import { describeError } from '@toolcrib/core/internal'
import { parse as parseToml, TomlError } from 'smol-toml'
import type { ReadFile } from './json-file.ts'

/** Parses a TOML config. Throws `config-invalid` with the line number for invalid syntax. */
export function readToml(text: string, path: string): ReadFile {
  try {
    const data: Record<string, unknown> = parseToml(text)
    let index: ReadonlyMap<string, number> | undefined
    const lineOf = (keys: readonly string[]) => {
      index ??= indexToml(text)
      return nearestLine(index, keys)
    }
    return { data, lineOf }
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
