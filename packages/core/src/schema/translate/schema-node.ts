import { isRecord } from '../../json.ts'
import { LISTS, MAPS, SCHEMAS, type SchemaNode } from '../keywords.ts'

export type { SchemaNode } from '../keywords.ts'

/** Something a translation could not express: its path, the keyword, and the reason. */
export interface SchemaLoss {
  /** A JSON pointer into the original schema; `''` is the root. */
  readonly path: string
  readonly keyword: string
  readonly reason: string
}

export type TellLoss = (path: string, keyword: string, reason: string) => void

/** Replaces every schema directly inside the node. */
export function mapSchemas(
  node: SchemaNode,
  path: string,
  map: (schema: unknown, path: string) => unknown,
): SchemaNode {
  const entries = Object.entries(node).map(([keyword, value]): [string, unknown] => {
    const at = `${path}/${escapePointer(keyword)}`
    if (SCHEMAS.has(keyword)) return [keyword, map(value, at)]
    if (LISTS.has(keyword) && Array.isArray(value)) {
      return [keyword, value.map((schema, index) => map(schema, `${at}/${index}`))]
    }
    if (MAPS.has(keyword) && isRecord(value)) {
      return [keyword, mapValues(value, (schema, name) => map(schema, `${at}/${escapePointer(name)}`))]
    }
    return [keyword, value]
  })
  return Object.fromEntries(entries)
}

/** Replaces each value of a record; a key named `__proto__` stays an ordinary key. */
export function mapValues(
  record: Record<string, unknown>,
  map: (value: unknown, key: string) => unknown,
): SchemaNode {
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key, map(value, key)]))
}

/** The node without the given keywords. */
export function without(node: SchemaNode, ...keywords: readonly string[]): SchemaNode {
  return Object.fromEntries(Object.entries(node).filter(([keyword]) => !keywords.includes(keyword)))
}

/** The node's `type` as a list; empty if absent. */
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
