import { isRecord } from '../json.ts'

/** An argument that is repeated in a header, `Mcp-Param-<header>`. */
export interface HeaderMark {
  readonly header: string
  readonly path: readonly string[]
}

/**
 * The properties that a schema marks with `x-mcp-header`. None of them counts if a name is not a valid token or is used
 * twice.
 */
export function headerMarks(schema: unknown): readonly HeaderMark[] {
  const marks = marksIn(schema, [])
  const names = marks.map(({ header }) => header.toLowerCase())
  const isValid = new Set(names).size === names.length && marks.every(({ header }) => TOKEN.test(header))
  return isValid ? marks : []
}

const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/
const MAX_DEPTH = 16

function marksIn(schema: unknown, path: readonly string[]): HeaderMark[] {
  if (!isRecord(schema) || path.length > MAX_DEPTH) return []
  const header = schema['x-mcp-header']
  const own = typeof header === 'string' && path.length > 0 ? [{ header, path }] : []
  const properties = isRecord(schema.properties) ? Object.entries(schema.properties) : []
  return [...own, ...properties.flatMap(([name, property]) => marksIn(property, [...path, name]))]
}

export function argumentAt(args: unknown, path: readonly string[]): unknown {
  let value = args
  for (const name of path) value = isRecord(value) && Object.hasOwn(value, name) ? value[name] : undefined
  return value
}
