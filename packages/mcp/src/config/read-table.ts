import { ToolcribError } from '@toolcrib/core'
import { isRecord, nearestName } from '@toolcrib/core/internal'
import { expandVariables, type Variables } from './expand-variables.ts'

/**
 * The type of a key's value. `count`: a whole number; `number`: any number from 0; `percent`: 0 to 100;
 * `milliseconds`: a delay that a timer supports; `map`: strings by name; `table`: a nested table.
 */
export type FieldKind =
  | 'text'
  | 'texts'
  | 'flag'
  | 'count'
  | 'number'
  | 'percent'
  | 'milliseconds'
  | 'map'
  | 'table'
  | { readonly oneOf: readonly string[] }

/** The keys of a table, in camelCase, and their types. */
export type Fields = Readonly<Record<string, FieldKind>>

/** Where a table is, so that errors can point to it. */
export interface Place {
  /** The prefix of errors about a key: `toolcrib.toml:7`, or the name of the option that the host passed. */
  at(keys: readonly string[]): string
  /** The path of the table itself. */
  readonly keys: readonly string[]
  /** The style of keys in suggestions; both styles are accepted everywhere. */
  readonly style: 'snake' | 'camel'
  /** Aliases of keys: accepted, but never suggested. */
  readonly alsoRead?: Fields
  /** Keys that other programs store in the same place. When present, only a key that looks like a typo is an error. */
  readonly foreignKeys?: readonly string[]
}

/**
 * Reads the known keys of a table, in snake_case or camelCase, into camelCase. Throws `config-invalid` for an unknown
 * key or a wrong type, with the place and the nearest known key. A string that contains a variable is accepted for
 * any scalar type; `fillTable()` checks the expanded value.
 */
export function readTable(table: unknown, fields: Fields, place: Place): Record<string, unknown> {
  if (!isRecord(table)) throw invalid(place, [], `must be a table of keys, not ${nameOf(table)}`)
  const known: Fields = { ...fields, ...place.alsoRead }
  const read: Record<string, unknown> = {}
  for (const [key, value] of Object.entries(table)) {
    const field = toCamel(key)
    const kind = Object.hasOwn(known, field) ? known[field] : undefined
    if (kind === undefined) checkUnknown(key, Object.keys(fields), place)
    else if (value !== undefined && value !== null) {
      const plain = plainValue(value, kind)
      const fault = fieldFault(plain, kind)
      if (fault)
        throw invalid(place, [key, ...fault.keys], `"${[key, ...fault.keys].join('.')}" ${fault.reason}`)
      read[field] = plain
    }
  }
  return read
}

/** What is wrong with a value, and at which key inside it. */
export interface FieldFault {
  readonly keys: readonly string[]
  readonly reason: string
}

/**
 * Checks a value against the type of its field; undefined when it is valid, or may become valid once its variables
 * are expanded.
 */
export function fieldFault(value: unknown, kind: FieldKind): FieldFault | undefined {
  if (fits(value, kind) || mayStandFor(value, kind)) return undefined
  const isList = kind === 'texts' && Array.isArray(value)
  const entries = isList || (kind === 'map' && isRecord(value)) ? Object.entries(value) : []
  const bad = entries.find(([, item]) => !isScalar(item))
  const [expectation, given] = bad ? [expected('text'), bad[1]] : [expected(kind), value]
  return { keys: bad ? [bad[0]] : [], reason: `must be ${expectation}, not ${nameOf(given)}` }
}

/** A table with its variables expanded, and the errors found, worded for the user. */
export interface Filled {
  readonly values: Record<string, unknown>
  readonly faults: readonly string[]
}

/**
 * Expands the variables of a table that has been read. A string whose variable has no value is kept as written, and a
 * value of the wrong type is left out; both are reported. Empty strings are left out.
 */
export function fillTable(
  read: Record<string, unknown>,
  fields: Fields,
  { style }: Place,
  variables: Variables,
): Filled {
  const values: Record<string, unknown> = {}
  const missing = new Set<string>()
  const unknown = new Set<string>()
  const faults: string[] = []
  for (const [key, value] of Object.entries(read)) {
    const kind = fields[key] ?? 'text'
    let isUnfilled = false
    const filled = fillValue(value, (text) => {
      if (!holdsVariable(text)) return text
      const expanded = expandVariables(text, variables)
      if ('text' in expanded) return expanded.text
      isUnfilled = true
      if ('missing' in expanded) missing.add(expanded.missing)
      else unknown.add(expanded.unknown)
      return text
    })
    const meant = typeof filled === 'string' ? fromText(filled, kind) : filled
    if (typeof filled !== 'string' || fits(meant, kind)) values[key] = meant
    else if (!isUnfilled && kind !== 'text')
      // Show the variable, not its value: the value may be a secret.
      faults.push(`"${writtenIn(style, key)}" must be ${expected(kind)}, but the value of ${value} is not`)
  }
  if (missing.size > 0) {
    const [first] = missing
    faults.unshift(`${[...missing].join(', ')} has no value; set it, or write \${${first}:-default}`)
  }
  if (unknown.size > 0) {
    // Without the braces, because values are masked wherever they are shown.
    const names = [...unknown].map((name) => JSON.stringify(name)).join(', ')
    faults.unshift(`unknown variable ${names}; write \${NAME}, and set it in the environment`)
  }
  return { values, faults }
}

/** Converts text to the number or boolean that a field requires; returns the text itself when it is neither. */
export function fromText(text: string, kind: FieldKind): unknown {
  if (isNumeric(kind)) return text.trim() === '' || Number.isNaN(Number(text)) ? text : Number(text)
  if (kind !== 'flag') return text
  if (text === 'true' || text === '1') return true
  return text === 'false' || text === '0' ? false : text
}

/** Returns a `config-invalid` error that points to a key of a table. */
export function invalid(place: Place, keys: readonly string[], reason: string): ToolcribError {
  const path = [...place.keys, ...keys]
  const table = place.keys.length > 0 ? `[${place.keys.join('.')}] ` : ''
  return new ToolcribError('config-invalid', `${place.at(path)}${table}${reason}`)
}

function checkUnknown(key: string, known: readonly string[], place: Place): void {
  if (place.foreignKeys?.includes(toCamel(key))) return
  const nearest = nearestName(key, known)
  if (nearest === undefined && place.foreignKeys) return
  const hint = nearest
    ? `did you mean "${writtenIn(place.style, nearest)}"?`
    : `known keys: ${known
        .map((name) => writtenIn(place.style, name))
        .sort()
        .join(', ')}`
  throw invalid(place, [key], `unknown key "${key}"; ${hint}`)
}

function fits(value: unknown, kind: FieldKind): boolean {
  if (typeof kind === 'object') return typeof value === 'string' && kind.oneOf.includes(value)
  switch (kind) {
    case 'text':
      return typeof value === 'string' && value !== ''
    case 'texts':
      return Array.isArray(value) && value.every(isScalar)
    case 'flag':
      return typeof value === 'boolean'
    case 'count':
      return Number.isSafeInteger(value) && Number(value) >= 0
    case 'number':
      return typeof value === 'number' && Number.isFinite(value) && value >= 0
    case 'percent':
      return typeof value === 'number' && value >= 0 && value <= 100
    case 'milliseconds':
      return typeof value === 'number' && value >= 0 && value <= MAX_MILLISECONDS
    case 'map':
      return isRecord(value) && Object.values(value).every(isScalar)
    case 'table':
      return isRecord(value)
  }
}

/** A timer with a longer delay fires immediately. */
export const MAX_MILLISECONDS = 2 ** 31 - 1

/** Some programs write null for absent values, and numbers and booleans as strings. */
function plainValue(value: unknown, kind: FieldKind): unknown {
  if (kind === 'texts' && Array.isArray(value))
    return value.filter((item) => item !== null).map((item) => (isScalar(item) ? String(item) : item))
  if (kind !== 'map' || !isRecord(value)) return value
  return Object.fromEntries(Object.entries(value).filter(([, item]) => item !== null))
}

/** Whether a text contains a variable, known or not. */
export function holdsVariable(text: string): boolean {
  const start = text.indexOf('${')
  return start >= 0 && text.includes('}', start)
}

function mayStandFor(value: unknown, kind: FieldKind): boolean {
  const isOneWord = kind === 'flag' || isNumeric(kind) || typeof kind === 'object'
  return isOneWord && typeof value === 'string' && holdsVariable(value)
}

function isNumeric(kind: FieldKind): boolean {
  return kind === 'count' || kind === 'number' || kind === 'percent' || kind === 'milliseconds'
}

function fillValue(value: unknown, fill: (text: string) => string): unknown {
  if (typeof value === 'string') return fill(value)
  if (Array.isArray(value)) return value.map((item) => fill(String(item)))
  if (!isRecord(value)) return value
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, fill(String(item))]))
}

function isScalar(value: unknown): boolean {
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'
}

function expected(kind: FieldKind): string {
  if (typeof kind === 'object') return `one of ${kind.oneOf.join(', ')}`
  const names = {
    text: 'a text',
    texts: 'a list of strings',
    flag: 'true or false',
    count: 'a whole number, 0 or more',
    number: 'a number, 0 or more',
    percent: 'a number from 0 to 100',
    milliseconds: `a number of milliseconds, 0 to ${MAX_MILLISECONDS}`,
    map: 'a table of strings',
    table: 'a table of keys',
  }
  return names[kind]
}

function nameOf(value: unknown): string {
  if (value === '') return 'an empty string'
  if (typeof value === 'string') return JSON.stringify(value.slice(0, 60))
  if (Array.isArray(value)) return 'a list'
  if (isRecord(value)) return 'a table'
  return String(value)
}

function toCamel(key: string): string {
  return key.replace(/(?<=.)_([a-z])/g, (_, letter: string) => letter.toUpperCase())
}

function writtenIn(style: Place['style'], key: string): string {
  return style === 'camel' ? key : key.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
}
