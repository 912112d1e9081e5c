import { isRecord } from '../../json.ts'

/** An object schema under construction. */
export type SchemaNode = Record<string, unknown>

/** What a translation could not carry over: where it stood, which keyword, and why. */
export interface SchemaLoss {
  /** A JSON pointer into the original schema; `''` is the root. */
  readonly path: string
  readonly keyword: string
  readonly reason: string
}

export type TellLoss = (path: string, keyword: string, reason: string) => void

/** Keywords that hold one schema. */
export const ONE_SCHEMA: ReadonlySet<string> = new Set([
  'additionalProperties',
  'unevaluatedProperties',
  'propertyNames',
  'items',
  'unevaluatedItems',
  'contains',
  'not',
  'if',
  'then',
  'else',
])

/** Keywords that hold a list of schemas. */
export const MANY_SCHEMAS: ReadonlySet<string> = new Set(['anyOf', 'oneOf', 'allOf', 'prefixItems'])

/** Keywords that hold schemas by name. */
export const NAMED_SCHEMAS: ReadonlySet<string> = new Set([
  'properties',
  'patternProperties',
  'dependentSchemas',
  '$defs',
])

/** The node with every schema directly inside it replaced. */
export function mapSchemas(
  node: SchemaNode,
  path: string,
  map: (schema: unknown, path: string) => unknown,
): SchemaNode {
  const entries = Object.entries(node).map(([keyword, value]): [string, unknown] => {
    const at = `${path}/${escapePointer(keyword)}`
    if (ONE_SCHEMA.has(keyword)) return [keyword, map(value, at)]
    if (MANY_SCHEMAS.has(keyword) && Array.isArray(value)) {
      return [keyword, value.map((schema, index) => map(schema, `${at}/${index}`))]
    }
    if (NAMED_SCHEMAS.has(keyword) && isRecord(value)) {
      return [keyword, mapValues(value, (schema, name) => map(schema, `${at}/${escapePointer(name)}`))]
    }
    return [keyword, value]
  })
  return Object.fromEntries(entries)
}

/** The record with each value replaced; a key named `__proto__` stays a key. */
export function mapValues(
  record: Record<string, unknown>,
  map: (value: unknown, key: string) => unknown,
): SchemaNode {
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key, map(value, key)]))
}

/** The node without some of its keywords. */
export function without(node: SchemaNode, ...keywords: readonly string[]): SchemaNode {
  return Object.fromEntries(Object.entries(node).filter(([keyword]) => !keywords.includes(keyword)))
}

/** The node's `type` as a list; empty when there is none. */
export function typesOf(node: SchemaNode): readonly string[] {
  if (typeof node.type === 'string') return [node.type]
  return Array.isArray(node.type) ? node.type.filter((type) => typeof type === 'string') : []
}

export function stringsOf(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter((item) => typeof item === 'string') : []
}

export function propertiesOf(node: SchemaNode): Record<string, unknown> {
  return isRecord(node.properties) ? node.properties : {}
}

export function escapePointer(key: string): string {
  return /[~/]/.test(key) ? key.replaceAll('~', '~0').replaceAll('/', '~1') : key
}
