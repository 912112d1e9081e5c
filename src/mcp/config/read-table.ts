import { ToolcribError } from '../../errors.ts'
import { isRecord } from '../../json.ts'
import { nearestName } from '../../nearest-name.ts'
import { expandVariables, holdsVariable, type Variables } from './expand-variables.ts'

/**
 * What a key of a table may hold. `count`: a whole number; `number`: any from 0 on; `percent`: 0 to 100; `milliseconds`:
 * what a timer can wait for; `map`: texts by name; `table`: keys of its own.
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

/** The keys of a table, in camelCase, and what each may hold. */
export type Fields = Readonly<Record<string, FieldKind>>

/** Where a table stands, so that errors can point there. */
export interface Place {
  /** How a key at this place is introduced: `toolcrib.toml:7`, or what the host passed. */
  at(keys: readonly string[]): string
  /** The path of the table itself. */
  readonly keys: readonly string[]
  /** How keys are written there; both ways are read everywhere. */
  readonly style: 'snake' | 'camel'
  /** Other names of keys: they are read, and suggested to nobody. */
  readonly alsoRead?: Fields
  /** Keys that other programs keep in the same place. With it, only what looks like a slip is refused. */
  readonly foreignKeys?: readonly string[]
}

/**
 * Reads a table by its known keys, written in snake_case or camelCase, into camelCase. A key that is unknown or holds
 * something else than it should is `config-invalid`, with the place and the nearest known key. A text with a variable
 * may stand for anything that is written in one word; `fillTable()` looks at what it stands for.
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

/** What is wrong with a value, and where in it. */
export interface FieldFault {
  readonly keys: readonly string[]
  readonly reason: string
}

/** What is wrong with a value where such a field belongs; undefined when it fits, or may once it is filled in. */
export function fieldFault(value: unknown, kind: FieldKind): FieldFault | undefined {
  if (fits(value, kind) || mayStandFor(value, kind)) return undefined
  const isList = kind === 'texts' && Array.isArray(value)
  const entries = isList || (kind === 'map' && isRecord(value)) ? Object.entries(value) : []
  const bad = entries.find(([, item]) => !isScalar(item))
  const [expectation, given] = bad ? [expected('text'), bad[1]] : [expected(kind), value]
  return { keys: bad ? [bad[0]] : [], reason: `must be ${expectation}, not ${nameOf(given)}` }
}

/** A table with its variables filled in, and what is wrong with them, as texts for whoever set them. */
export interface Filled {
  readonly values: Record<string, unknown>
  readonly faults: readonly string[]
}

/**
 * Fills in the variables of a table that has been read. A text whose variable has no value stays as it is written, and
 * what is no number or flag once it is filled in is left out; both are told. A text that comes out empty is left out.
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
      // As it is written: what a variable stands for may be a secret.
      faults.push(`"${writtenIn(style, key)}" must be ${expected(kind)}, and what ${value} stands for is not`)
  }
  if (missing.size > 0) {
    const [first] = missing
    faults.unshift(`${[...missing].join(', ')} has no value; set it, or write \${${first}:-default}`)
  }
  if (unknown.size > 0) {
    // Without the braces: the value itself is masked wherever it is told.
    const names = [...unknown].map((name) => JSON.stringify(name)).join(', ')
    faults.unshift(`no variable ${names} is known here; write \${NAME}, and set that in the environment`)
  }
  return { values, faults }
}

/** What a text stands for where a number or a flag belongs; the text itself when it is neither. */
export function fromText(text: string, kind: FieldKind): unknown {
  if (isNumeric(kind)) return text.trim() === '' || Number.isNaN(Number(text)) ? text : Number(text)
  if (kind !== 'flag') return text
  if (text === 'true' || text === '1') return true
  return text === 'false' || text === '0' ? false : text
}

/** A `config-invalid` that points to a key of a table. */
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

/** A timer that is to wait for longer fires at once. */
export const MAX_MILLISECONDS = 2 ** 31 - 1

/** Some programs write null for what is not there, and numbers and flags as such. */
function plainValue(value: unknown, kind: FieldKind): unknown {
  if (kind === 'texts' && Array.isArray(value))
    return value.filter((item) => item !== null).map((item) => (isScalar(item) ? String(item) : item))
  if (kind !== 'map' || !isRecord(value)) return value
  return Object.fromEntries(Object.entries(value).filter(([, item]) => item !== null))
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
    texts: 'a list of texts',
    flag: 'true or false',
    count: 'a whole number, 0 or more',
    number: 'a number, 0 or more',
    percent: 'a number from 0 to 100',
    milliseconds: `a number of milliseconds, 0 to ${MAX_MILLISECONDS}`,
    map: 'a table of texts',
    table: 'a table of keys',
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
  return key.replace(/(?<=.)_([a-z])/g, (_, letter: string) => letter.toUpperCase())
}

function writtenIn(style: Place['style'], key: string): string {
  return style === 'camel' ? key : key.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
}
