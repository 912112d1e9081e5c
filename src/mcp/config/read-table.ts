import { nearestName } from '../../call/nearest-name.ts'
import { ToolcribError } from '../../errors.ts'
import { isRecord } from '../../json.ts'

/** What a key of a table may hold. `map`: texts by name. */
export type FieldKind = 'text' | 'texts' | 'flag' | 'count' | 'map' | { readonly oneOf: readonly string[] }

/** Where a table stands, so that errors can point there. */
export interface Place {
  /** How a key at this place is introduced: `toolcrib.toml:7`, or what the host passed. */
  at(keys: readonly string[]): string
  /** The path of the table itself. */
  readonly keys: readonly string[]
  /** How keys are written there; both ways are read everywhere. */
  readonly style: 'snake' | 'camel'
  /** Keys that other programs keep in the same place. With it, only what looks like a slip is refused. */
  readonly foreignKeys?: readonly string[]
}

/**
 * Reads a table by its known keys, written in snake_case or camelCase, into camelCase. A key that is unknown or holds
 * something else than it should is `config-invalid`, with the place and the nearest known key.
 */
export function readTable(
  table: unknown,
  fields: Readonly<Record<string, FieldKind>>,
  place: Place,
): Record<string, unknown> {
  if (!isRecord(table)) throw invalid(place, [], `must be a table of keys, not ${nameOf(table)}`)
  const read: Record<string, unknown> = {}
  for (const [key, value] of Object.entries(table)) {
    const field = toCamel(key)
    const kind = Object.hasOwn(fields, field) ? fields[field] : undefined
    if (kind !== undefined && value !== undefined && value !== null) {
      if (!fits(value, kind))
        throw invalid(place, [key], `"${key}" must be ${expected(kind)}, not ${nameOf(value)}`)
      read[field] = value
    }
    if (kind === undefined) checkUnknown(key, Object.keys(fields), place)
  }
  return read
}

export function invalid(place: Place, keys: readonly string[], reason: string): ToolcribError {
  const path = [...place.keys, ...keys]
  const table = place.keys.length > 0 ? `[${place.keys.join('.')}] ` : ''
  return new ToolcribError('config-invalid', `${place.at(path)}${table}${reason}`)
}

function checkUnknown(key: string, known: readonly string[], place: Place): void {
  if (place.foreignKeys?.includes(key)) return
  const nearest = nearestName(key, known)
  if (nearest === undefined && place.foreignKeys) return
  const written = (name: string) => (place.style === 'snake' ? toSnake(name) : name)
  const hint = nearest
    ? `did you mean "${written(nearest)}"?`
    : `known keys: ${known.map(written).sort().join(', ')}`
  throw invalid(place, [key], `unknown key "${key}"; ${hint}`)
}

function fits(value: unknown, kind: FieldKind): boolean {
  if (typeof kind === 'object') return typeof value === 'string' && kind.oneOf.includes(value)
  switch (kind) {
    case 'text':
      return typeof value === 'string' && value !== ''
    case 'texts':
      return Array.isArray(value) && value.every((item) => typeof item === 'string')
    case 'flag':
      return typeof value === 'boolean'
    case 'count':
      return typeof value === 'number' && Number.isFinite(value) && value >= 0
    case 'map':
      return isRecord(value) && Object.values(value).every(isScalar)
  }
}

function isScalar(value: unknown): boolean {
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'
}

function expected(kind: FieldKind): string {
  if (typeof kind === 'object') return `one of ${kind.oneOf.join(', ')}`
  const names = {
    text: 'a text',
    texts: 'a list of texts',
    flag: 'true or false',
    count: 'a number, 0 or more',
    map: 'a table of texts',
  }
  return names[kind]
}

function nameOf(value: unknown): string {
  if (value === '') return 'an empty text'
  if (typeof value === 'string') return JSON.stringify(value.slice(0, 60))
  if (Array.isArray(value)) return 'a list'
  if (isRecord(value)) return 'a table'
  return String(value)
}

function toCamel(key: string): string {
  return key.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())
}

function toSnake(key: string): string {
  return key.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
}
