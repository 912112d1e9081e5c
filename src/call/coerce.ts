import { isRecord } from '../json.ts'
import type { CompiledSchema } from './compiled-schema.ts'

/** Deep enough for any real arguments; a recursive schema ends here. */
const MAX_DEPTH = 64

/**
 * The value with the slips that models make put right, where that loses nothing: `"3"` for a number, `"true"` for a
 * boolean, JSON in a string for an object or array, one value for a list of such, null for an optional property left
 * out. What a schema accepts as it is stays as it is.
 */
export function coerce(value: unknown, part: unknown, schema: CompiledSchema, depth = 0): unknown {
  const node = schema.resolve(part)
  if (!isRecord(node) || depth > MAX_DEPTH) return value
  const alternatives = node.anyOf ?? node.oneOf
  let current = value
  if (Array.isArray(alternatives)) current = coerceToOneOf(current, alternatives, schema, depth)
  if (Array.isArray(node.allOf)) {
    for (const branch of node.allOf) current = coerce(current, branch, schema, depth + 1)
  }
  const types = typesOf(node)
  if (types.length > 0 && !types.some((type) => isOfType(current, type))) {
    current = convert(current, types, node, schema, depth)
  }
  if (Array.isArray(current)) return coerceItems(current, node, schema, depth)
  return isRecord(current) ? coerceProperties(current, node, schema, depth) : current
}

function coerceToOneOf(
  value: unknown,
  alternatives: readonly unknown[],
  schema: CompiledSchema,
  depth: number,
): unknown {
  if (alternatives.some((branch) => schema.accepts(branch, value))) return value
  for (const branch of alternatives) {
    const coerced = coerce(value, branch, schema, depth + 1)
    if (coerced !== value && schema.accepts(branch, coerced)) return coerced
  }
  return value
}

function typesOf(node: Record<string, unknown>): readonly string[] {
  if (typeof node.type === 'string') return [node.type]
  return Array.isArray(node.type) ? node.type : []
}

function isOfType(value: unknown, type: string): boolean {
  if (type === 'null') return value === null
  if (type === 'array') return Array.isArray(value)
  if (type === 'object') return isRecord(value)
  if (type === 'integer') return Number.isInteger(value)
  return typeof value === type
}

function convert(
  value: unknown,
  types: readonly string[],
  node: Record<string, unknown>,
  schema: CompiledSchema,
  depth: number,
): unknown {
  if (typeof value === 'string') {
    for (const type of types) {
      const read = readText(value, type)
      if (read !== undefined) return read
    }
  }
  if (!types.includes('array') || value === null) return value
  const item = coerce(value, node.items, schema, depth + 1)
  return node.items === undefined || schema.accepts(node.items, item) ? [item] : value
}

function readText(text: string, type: string): unknown {
  if (type === 'boolean') return readBoolean(text)
  if (type === 'number' || type === 'integer') {
    const number = readNumber(text)
    return type === 'integer' && !Number.isInteger(number) ? undefined : number
  }
  if (type === 'null') return text === 'null' ? null : undefined
  if (type !== 'object' && type !== 'array') return undefined
  const parsed = parseJson(text)
  return isOfType(parsed, type) ? parsed : undefined
}

function readBoolean(text: string): boolean | undefined {
  const lower = text.toLowerCase()
  if (lower === 'true') return true
  return lower === 'false' ? false : undefined
}

// JSON's own grammar: "0x10", "", " ", "007" and "1_000" are texts, whatever Number() makes of them.
const JSON_NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/

function readNumber(text: string): number | undefined {
  if (text.length > 32 || !JSON_NUMBER.test(text)) return undefined
  const number = Number(text)
  const digits = text
    .replace(/[eE].*$/, '')
    .replace(/\D/g, '')
    .replace(/^0+/, '')
  // More digits than a double holds would be lost.
  const isExact = Number.isInteger(number) ? Number.isSafeInteger(number) : digits.length <= 15
  return Number.isFinite(number) && isExact ? number : undefined
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function coerceItems(
  items: readonly unknown[],
  node: Record<string, unknown>,
  schema: CompiledSchema,
  depth: number,
): unknown[] {
  const tuple = Array.isArray(node.prefixItems)
    ? node.prefixItems
    : Array.isArray(node.items)
      ? node.items
      : []
  const rest = Array.isArray(node.items) ? node.additionalItems : node.items
  return items.map((item, index) => coerce(item, tuple[index] ?? rest, schema, depth + 1))
}

function coerceProperties(
  record: Record<string, unknown>,
  node: Record<string, unknown>,
  schema: CompiledSchema,
  depth: number,
): Record<string, unknown> {
  const properties = isRecord(node.properties) ? node.properties : {}
  const required: readonly unknown[] = Array.isArray(node.required) ? node.required : []
  const entries: [string, unknown][] = []
  for (const [key, value] of Object.entries(record)) {
    const part = Object.hasOwn(properties, key) ? properties[key] : node.additionalProperties
    if (part === undefined) {
      entries.push([key, value])
      continue
    }
    if (value === null && !required.includes(key) && part !== false && !schema.accepts(part, null)) continue
    entries.push([key, coerce(value, part, schema, depth + 1)])
  }
  return Object.fromEntries(entries)
}
