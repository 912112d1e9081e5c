import { canonicalJson, isRecord } from '../../json.ts'
import { propertiesOf, type SchemaNode, stringsOf, type TellLoss, typesOf } from './schema-node.ts'

/**
 * Merges two schemas into one that accepts what both accept. Properties in both become an `allOf`; if two keywords
 * cannot be merged, the first stays and the other is reported as lost.
 */
export function mergeSchemas(
  first: SchemaNode,
  second: SchemaNode,
  path: string,
  tellLoss: TellLoss,
): SchemaNode {
  const merged = new Map(Object.entries(first))
  for (const [keyword, value] of Object.entries(second)) {
    if (!merged.has(keyword) || canonicalJson(merged.get(keyword)) === canonicalJson(value)) {
      merged.set(keyword, value)
      continue
    }
    const joined = join(keyword, merged.get(keyword), value)
    if (joined !== undefined) merged.set(keyword, joined)
    else if (!ANNOTATIONS.has(keyword))
      tellLoss(path, keyword, 'two parts of an allOf conflict; the first is kept')
  }
  return Object.fromEntries(merged)
}

/** Merges schemas into one that accepts what any of them accepts, as far as properties can express that. */
export function uniteObjects(branches: readonly SchemaNode[]): {
  properties: SchemaNode
  required: string[]
} {
  const schemas = new Map<string, unknown[]>()
  for (const branch of branches) {
    for (const [name, schema] of Object.entries(propertiesOf(branch))) {
      const known = schemas.get(name) ?? []
      if (!known.some((other) => canonicalJson(other) === canonicalJson(schema))) known.push(schema)
      schemas.set(name, known)
    }
  }
  const properties = Object.fromEntries(
    [...schemas].map(([name, known]) => [name, known.length === 1 ? known[0] : { anyOf: known }]),
  )
  const [firstBranch, ...others] = branches.map((branch) => stringsOf(branch.required))
  const required = (firstBranch ?? []).filter((name) => others.every((names) => names.includes(name)))
  return { properties, required }
}

const ANNOTATIONS = new Set(['description', 'title', 'default', 'examples', 'deprecated'])
const LARGER = new Set(['minimum', 'exclusiveMinimum', 'minLength', 'minItems', 'minProperties'])
const SMALLER = new Set(['maximum', 'exclusiveMaximum', 'maxLength', 'maxItems', 'maxProperties'])

function join(keyword: string, first: unknown, second: unknown): unknown {
  if (keyword === 'properties' && isRecord(first) && isRecord(second)) return joinProperties(first, second)
  if (keyword === 'required') return [...new Set([...stringsOf(first), ...stringsOf(second)])]
  if (keyword === 'type') return joinTypes(typesOf({ type: first }), typesOf({ type: second }))
  if (keyword === 'enum' && Array.isArray(first) && Array.isArray(second)) return joinEnums(first, second)
  if (keyword === 'allOf' && Array.isArray(first) && Array.isArray(second)) return [...first, ...second]
  if (keyword === 'items' && isRecord(first) && isRecord(second)) return { allOf: [first, second] }
  if (keyword === 'additionalProperties' && (first === false || second === false)) return false
  if (LARGER.has(keyword)) return Math.max(Number(first), Number(second))
  if (SMALLER.has(keyword)) return Math.min(Number(first), Number(second))
  return undefined
}

function joinProperties(first: Record<string, unknown>, second: Record<string, unknown>): SchemaNode {
  const joined = new Map(Object.entries(first))
  for (const [name, schema] of Object.entries(second)) {
    const known = joined.get(name)
    const isNew = known === undefined || canonicalJson(known) === canonicalJson(schema)
    joined.set(name, isNew ? schema : { allOf: [known, schema] })
  }
  return Object.fromEntries(joined)
}

function joinTypes(first: readonly string[], second: readonly string[]): string | string[] | undefined {
  const both = first.filter(
    (type) => second.includes(type) || (type === 'integer' && second.includes('number')),
  )
  const narrowed = second.filter((type) => type === 'integer' && first.includes('number'))
  const types = [...new Set([...both, ...narrowed])]
  return types.length === 1 ? types[0] : types.length === 0 ? undefined : types
}

function joinEnums(first: readonly unknown[], second: readonly unknown[]): unknown[] | undefined {
  const allowed = new Set(second.map(canonicalJson))
  const both = first.filter((value) => allowed.has(canonicalJson(value)))
  return both.length === 0 ? undefined : both
}
