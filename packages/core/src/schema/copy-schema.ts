import { ToolcribError } from '../errors.ts'
import { isRecord, setOwn } from '../json.ts'
import { withoutHidden, withoutHiding } from '../names.ts'
import type { JsonSchema } from '../tool.ts'

/** Deeper than any real schema, and shallow enough for every recursive reader downstream. */
const MAX_DEPTH = 200
/** The largest real schema seen has about 9,000 values. */
const MAX_VALUES = 200_000

/**
 * Returns a frozen copy of a schema without hidden characters, since a model reads all of it. They are stripped from
 * text and escaped in patterns. Property names and enum values must match exactly, so hidden characters there cannot
 * be stripped: such a schema throws `config-invalid`, as does one that is not JSON, too deep or cyclic. Characters
 * that writing requires (line breaks, joiners in emoji and in scripts that connect letters) hide nothing and stay in
 * names and values.
 */
export function copySchema(schema: unknown, owner: string): JsonSchema {
  if (typeof schema === 'boolean') return schema
  if (!isRecord(schema)) throw refuse(owner, 'must be a JSON Schema: an object or a boolean')
  if ('~standard' in schema) throw refuse(owner, 'is a Standard Schema; wrap the tool with defineTool()')
  const copy = copyValue(schema, { owner, values: 0 }, 0, 'schema')
  return isRecord(copy) ? copy : true
}

interface Walk {
  readonly owner: string
  values: number
}

/**
 * A value's role in its schema. names: schemas by property name; exact: matched exactly; value: an example or
 * default.
 */
type Role = 'schema' | 'names' | 'exact' | 'value' | 'pattern'

const ROLES: ReadonlyMap<string, Role> = new Map([
  ['properties', 'names'],
  ['patternProperties', 'names'],
  ['dependentSchemas', 'names'],
  ['dependencies', 'names'],
  ['$defs', 'names'],
  ['definitions', 'names'],
  ['enum', 'exact'],
  ['const', 'exact'],
  ['required', 'exact'],
  ['dependentRequired', 'exact'],
  ['$ref', 'exact'],
  ['default', 'value'],
  ['examples', 'value'],
  ['pattern', 'pattern'],
])

function copyValue(value: unknown, walk: Walk, depth: number, role: Role): unknown {
  if (depth > MAX_DEPTH) throw refuse(walk.owner, `is cyclic or more than ${MAX_DEPTH} levels deep`)
  if (++walk.values > MAX_VALUES) throw refuse(walk.owner, `has more than ${MAX_VALUES} values`)
  if (typeof value === 'string') return copyText(value, walk, role)
  if (value === null || typeof value === 'number' || typeof value === 'boolean') return value
  if (Array.isArray(value)) {
    return Object.freeze(value.map((item) => copyValue(item, walk, depth + 1, role) ?? null))
  }
  if (!isRecord(value)) throw refuse(walk.owner, `contains a ${typeof value}, which is not JSON`)
  return copyRecord(value, walk, depth, role)
}

function copyRecord(
  record: Readonly<Record<string, unknown>>,
  walk: Walk,
  depth: number,
  role: Role,
): Readonly<Record<string, unknown>> {
  const copy: Record<string, unknown> = {}
  for (const name of Object.keys(record)) {
    const nested = record[name]
    if (nested === undefined) continue
    if (withoutHiding(name) !== name) throw refuseHidden(walk.owner, 'the name', name)
    const copied = copyValue(nested, walk, depth + 1, innerRole(role, name))
    if (name === '__proto__') setOwn(copy, name, copied)
    else copy[name] = copied
  }
  return Object.freeze(copy)
}

function innerRole(role: Role, key: string): Role {
  if (role === 'exact' || role === 'value') return role
  return role === 'names' ? 'schema' : (ROLES.get(key) ?? 'schema')
}

function copyText(text: string, { owner }: Walk, role: Role): string {
  if (role === 'pattern') return escapeHidden(text)
  if (role === 'value') return withoutHiding(text)
  if (role !== 'exact') return withoutHidden(text)
  if (withoutHiding(text) !== text) throw refuseHidden(owner, 'the value', text)
  return text
}

/** The same pattern with its hidden characters escaped. */
function escapeHidden(pattern: string): string {
  if (withoutHidden(pattern) === pattern) return pattern
  return pattern.replace(/(\\?)(.)/gsu, (whole, _backslash, character: string) => {
    return withoutHidden(character) === '' ? escaped(character) : whole
  })
}

function escaped(character: string): string {
  const code = (character.codePointAt(0) ?? 0).toString(16)
  return code.length > 4 ? `\\u{${code}}` : `\\u${code.padStart(4, '0')}`
}

const MAX_SHOWN = 80

function refuseHidden(owner: string, what: string, text: string): ToolcribError {
  const shown = escapeHidden(JSON.stringify(text.slice(0, MAX_SHOWN)))
  return refuse(owner, `contains control or invisible characters in ${what} ${shown}; remove them`)
}

function refuse(owner: string, reason: string): ToolcribError {
  return new ToolcribError('config-invalid', `the schema of "${owner}" ${reason}`)
}
