import { isRecord } from '../../json.ts'
import {
  mapSchemas,
  mapValues,
  type SchemaNode,
  stringsOf,
  type TellLoss,
  typesOf,
  without,
} from './schema-node.ts'

/**
 * Breaks cycles of required references. A recursive reference below an optional property stays (the provider expands
 * it there); elsewhere it becomes a plain value of the right type.
 */
export function cutCycles(root: SchemaNode, tellLoss: TellLoss): SchemaNode {
  if (!isRecord(root.$defs)) return root
  const definitions = root.$defs
  const targets = new Map(
    Object.entries(definitions).map(([key, schema]) => [key, new Set(requiredTargets(schema))]),
  )
  const cut = Object.fromEntries(
    Object.entries(definitions).map(([key, schema]) => [
      key,
      visit(schema, { path: `/$defs/${key}`, from: key, isOptional: false }),
    ]),
  )
  return { ...root, $defs: cut }

  function visit(schema: unknown, place: SchemaPosition): unknown {
    if (!isRecord(schema)) return schema
    const target = keyOf(schema.$ref)
    if (target !== undefined && !place.isOptional && reaches(target, place.from, new Set())) {
      tellLoss(place.path, '$ref', 'recursion through a required value is not supported')
      const [type] = typesOf(isRecord(definitions[target]) ? definitions[target] : {})
      return { ...without(schema, '$ref'), ...(type === undefined ? {} : plain(type)) }
    }
    const required = stringsOf(schema.required)
    const { properties, ...rest } = schema
    const visited = mapSchemas(rest, place.path, (nested, path) => visit(nested, { ...place, path }))
    if (!isRecord(properties)) return visited
    const kept = mapValues(properties, (nested, name) => {
      const isOptional = place.isOptional || !required.includes(name)
      return visit(nested, { ...place, path: `${place.path}/properties/${name}`, isOptional })
    })
    // Keeps the keyword order.
    return mapValues(schema, (_, keyword) => (keyword === 'properties' ? kept : visited[keyword]))
  }

  /** Whether required references lead from one definition to another. */
  function reaches(from: string, to: string, seen: Set<string>): boolean {
    if (from === to) return true
    if (seen.has(from)) return false
    seen.add(from)
    return [...(targets.get(from) ?? [])].some((target) => reaches(target, to, seen))
  }
}

interface SchemaPosition {
  readonly path: string
  readonly from: string
  readonly isOptional: boolean
}

function plain(type: string): SchemaNode {
  return type === 'array' ? { type, items: {} } : { type }
}

function requiredTargets(schema: unknown): string[] {
  if (!isRecord(schema)) return []
  const own = keyOf(schema.$ref)
  const targets = own === undefined ? [] : [own]
  const required = stringsOf(schema.required)
  const { properties, $defs: _, ...rest } = schema
  mapSchemas(rest, '', (nested) => targets.push(...requiredTargets(nested)))
  if (isRecord(properties)) {
    for (const [name, nested] of Object.entries(properties))
      if (required.includes(name)) targets.push(...requiredTargets(nested))
  }
  return targets
}

function keyOf(reference: unknown): string | undefined {
  return typeof reference === 'string' ? reference.slice('#/$defs/'.length) : undefined
}
