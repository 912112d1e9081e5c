import { record, resolve } from '../views/tools/schema-rows.ts'

/** A schema with its references resolved. */
export type Schema = Readonly<Record<string, unknown>>

/** Which control fits a schema. `json` fits them all. */
export type FieldKind = 'text' | 'number' | 'flag' | 'choice' | 'variants' | 'list' | 'object' | 'json'

/** Deeper levels are edited as JSON. */
export const MAX_DEPTH = 6

export function fieldKind(schema: Schema, depth: number): FieldKind {
  if (Array.isArray(schema.enum) && schema.enum.length <= 200) return 'choice'
  if (variantsOf(schema).length > 0) return depth < MAX_DEPTH ? 'variants' : 'json'
  switch (mainType(schema)) {
    case 'string':
      return 'text'
    case 'number':
    case 'integer':
      return 'number'
    case 'boolean':
      return 'flag'
    case 'array':
      return depth < MAX_DEPTH && typeof schema.items === 'object' && !Array.isArray(schema.items)
        ? 'list'
        : 'json'
    case 'object':
      return depth < MAX_DEPTH && Object.keys(record(schema.properties)).length > 0 ? 'object' : 'json'
    default:
      return 'json'
  }
}

/** The alternatives of a schema, without null: an empty field means the same. */
export function variantsOf(schema: Schema): readonly unknown[] {
  const given = Array.isArray(schema.oneOf) ? schema.oneOf : Array.isArray(schema.anyOf) ? schema.anyOf : []
  return given.filter((each) => record(each).type !== 'null').slice(0, 30)
}

/** A schema as the form uses it: references followed, and a single alternative in place of the choice. */
export function openSchema(schema: unknown, root: unknown): Schema {
  let opened = record(resolve(schema, root))
  for (let step = 0; step < 8; step++) {
    const variants = variantsOf(opened)
    const next = '$ref' in opened ? resolve(opened, root) : variants.length === 1 ? variants[0] : undefined
    if (next === undefined || next === opened) return opened
    const { oneOf: _one, anyOf: _any, $ref: _ref, ...outer } = opened
    opened = { ...record(resolve(next, root)), ...outer }
  }
  return opened
}

export function mainType(schema: Schema): string | undefined {
  const { type, properties, items } = schema
  if (Array.isArray(type)) return type.find((each) => each !== 'null')
  if (typeof type === 'string') return type
  if (properties !== undefined) return 'object'
  return items === undefined ? undefined : 'array'
}

/** The initial value of a form: defaults, and required parts. Undefined values are left out of the call. */
export function initialValue(given: unknown, root: unknown, isRequired: boolean, depth = 0): unknown {
  const schema = openSchema(given, root)
  if (schema.default !== undefined) return schema.default
  if ('const' in schema) return schema.const
  if (!isRequired) return undefined
  const kind = fieldKind(schema, depth)
  if (kind === 'object') return initialObject(schema, root, depth)
  if (kind === 'list') return []
  if (kind === 'flag') return false
  if (kind === 'variants') return initialValue(variantsOf(schema)[0], root, true, depth + 1)
  return kind === 'json' && mainType(schema) === 'object' ? {} : undefined
}

function initialObject(schema: Schema, root: unknown, depth: number): Record<string, unknown> {
  const needed = Array.isArray(schema.required) ? schema.required : []
  const entries = Object.entries(record(schema.properties)).map(([name, each]) => [
    name,
    initialValue(each, root, needed.includes(name), depth + 1),
  ])
  return Object.fromEntries(entries.filter(([, value]) => value !== undefined))
}

/** One value of a form. Undefined means that it is left out. */
export interface FieldProps {
  readonly schema: Schema
  /** The whole schema, for references. */
  readonly root: unknown
  readonly value: unknown
  readonly onChange: (value: unknown) => void
  readonly depth: number
  readonly id: string
  readonly isRequired: boolean
  /** The accessible name of the field if no label is beside it. */
  readonly label: string
}
