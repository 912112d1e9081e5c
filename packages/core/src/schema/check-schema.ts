import { ToolcribError } from '../errors.ts'
import { isRecord } from '../json.ts'
import { LISTS, MAPS, SCHEMAS, SHAPES, TYPES } from './keywords.ts'

/**
 * Throws `config-invalid` for a schema with a malformed keyword, such as an unknown `type`. A validator ignores such a
 * keyword, so it would accept arguments that the author meant to refuse. Valid keywords that cannot be evaluated here,
 * such as a pattern with a back reference, do not make a schema invalid, and neither do unknown keywords.
 */
export function checkSchema(schema: unknown, owner: string, field: 'inputSchema' | 'outputSchema'): void {
  const fault = faultIn(schema, '#', new Set())
  if (fault !== undefined)
    throw new ToolcribError('config-invalid', `the ${field} of "${owner}" is not a JSON Schema: ${fault}`)
}

/** The first malformed keyword; each object is visited once, so that a cyclic schema ends. */
function faultIn(schema: unknown, at: string, seen: Set<unknown>): string | undefined {
  if (typeof schema === 'boolean' || seen.has(schema)) return undefined
  if (!isRecord(schema)) return `${at} is ${show(schema)}; expected a schema (an object or a boolean)`
  seen.add(schema)
  for (const [keyword, value] of Object.entries(schema)) {
    const fault = value === undefined ? undefined : faultOf(keyword, value, `${at}/${keyword}`, seen)
    if (fault !== undefined) return fault
  }
  return undefined
}

function faultOf(keyword: string, value: unknown, at: string, seen: Set<unknown>): string | undefined {
  if (MAPS.has(keyword)) {
    if (!isRecord(value)) return `${at} is ${show(value)}; expected an object of schemas`
    return firstFault(Object.entries(value), at, seen)
  }
  if (LISTS.has(keyword) || (keyword === 'items' && Array.isArray(value))) {
    if (!Array.isArray(value)) return `${at} is ${show(value)}; expected a list of schemas`
    return firstFault(Object.entries(value), at, seen)
  }
  if (SCHEMAS.has(keyword)) return faultIn(value, at, seen)
  // An empty list accepts nothing, which is unusual and valid.
  if (keyword === 'enum' && Array.isArray(value)) return undefined
  if (SHAPES[keyword]?.(value) !== false) return undefined
  const expected =
    keyword === 'type' ? `expected ${[...TYPES].join(', ')}, or a list of them` : EXPECTED[keyword]
  return `${at} is ${show(value)}${expected === undefined ? ', which is not a valid value' : `; ${expected}`}`
}

const EXPECTED: Readonly<Record<string, string>> = {
  required: 'expected a list of property names, beside "properties"',
  enum: 'expected a list of values',
}

function firstFault(
  schemas: readonly (readonly [string, unknown])[],
  at: string,
  seen: Set<unknown>,
): string | undefined {
  for (const [name, schema] of schemas) {
    const fault = schema === undefined ? undefined : faultIn(schema, `${at}/${name}`, seen)
    if (fault !== undefined) return fault
  }
  return undefined
}

function show(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value.slice(0, 80))
  if (Array.isArray(value)) return 'a list'
  return typeof value === 'object' && value !== null ? 'an object' : String(value)
}
