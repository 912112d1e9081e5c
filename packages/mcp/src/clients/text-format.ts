import { isDeepStrictEqual } from 'node:util'
import { ToolcribError } from '@toolcrib/core'
import { isRecord } from '@toolcrib/core/internal'

/** Reads and changes one kind of config file. */
export interface TextFormat {
  readonly name: 'json' | 'toml' | 'yaml'
  /** Throws `config-invalid`, with the line, for invalid syntax. */
  parse(text: string): unknown
  /**
   * Returns the text with a value set at a path of keys; undefined removes it. Comments and everything else do not
   * change. Throws `config-invalid` if that is not possible.
   */
  set(text: string, path: readonly string[], value: unknown): string
  /** Breaks long lines, for people who read a diff. Absent for formats that are not written on one line. */
  layOut?(text: string): string
}

/** Returns the changed text if its data is as expected: the same as before, except for the one value. */
export function checked(
  format: TextFormat,
  change: {
    readonly text: string
    readonly changed: string
    readonly path: readonly string[]
    readonly value: unknown
  },
): string {
  const expected = withValue(format.parse(change.text), change.path, change.value)
  let found: unknown
  try {
    found = format.parse(change.changed)
  } catch {
    found = undefined
  }
  if (isDeepStrictEqual(plainData(found), plainData(expected))) return change.changed
  const step = 'change it by hand'
  throw invalid(`${change.path.join('.')} is written in a way that cannot be changed automatically; ${step}`)
}

/** A copy of the data with a value at a path of keys; undefined removes it. */
function withValue(data: unknown, [key, ...rest]: readonly string[], value: unknown): unknown {
  if (key === undefined) return value
  const record = isRecord(data) ? data : {}
  const inner = withValue(Object.hasOwn(record, key) ? record[key] : undefined, rest, value)
  if (inner !== undefined) return { ...record, [key]: inner }
  const { [key]: _, ...others } = record
  return others
}

/** Ignores prototypes and the order of keys; an empty table counts as absent. */
function plainData(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(plainData)
  if (!isRecord(value) || value instanceof Date) return value
  const entries = Object.entries(value).map(([key, each]) => [key, plainData(each)] as const)
  const filled = entries.filter(([, each]) => !(isRecord(each) && Object.keys(each).length === 0))
  return Object.fromEntries(filled.sort(([a], [b]) => (a < b ? -1 : 1)))
}

export function invalid(message: string, cause?: unknown): ToolcribError {
  return new ToolcribError('config-invalid', message, cause === undefined ? {} : { cause })
}
