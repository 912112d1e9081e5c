import { isRecord } from '../../json.ts'
import type { JsonSchema } from '../../tool.ts'
import { LISTS, MAPS, SCHEMAS, SHAPES } from '../keywords.ts'
import { byPointer } from '../resolve-refs.ts'
import { escapePointer, mapValues, type SchemaNode, type TellLoss, typesOf } from './schema-node.ts'

/** The largest real schema, with everything it refers to, has about 10,000. */
const MAX_NODES = 200_000

/**
 * Converts a schema of any draft to plain 2020-12: object schemas throughout, every `$ref` pointing into `$defs`,
 * tuples as `prefixItems`, `nullable` as a type, and no malformed keywords. `$defs` contains only referenced
 * definitions.
 */
export function normaliseSchema(schema: JsonSchema, tellLoss: TellLoss): SchemaNode {
  const root = isRecord(schema) ? schema : {}
  /** The key of each referenced target, however the reference is written. */
  const keys = new Map<unknown, string>()
  let nodes = 0
  const definitions = new Map<string, SchemaNode>()
  const node = normalise(schema, '')
  return definitions.size === 0 ? node : { ...node, $defs: Object.fromEntries(definitions) }

  function normalise(value: unknown, path: string): SchemaNode {
    nodes++
    if (value === true) return {}
    if (value === false) return { not: {} }
    if (!isRecord(value)) {
      tellLoss(path, '', 'not a schema')
      return {}
    }
    const modern = modernise(value)
    const entries: [string, unknown][] = []
    for (const [keyword, given] of Object.entries(modern)) {
      if (keyword === '$ref' || keyword === '$dynamicRef' || keyword === '$recursiveRef') {
        const reference = refer(given, path)
        if (reference === undefined)
          tellLoss(path, keyword, `${JSON.stringify(given)} has no target in this schema`)
        else entries.push(['$ref', reference])
        continue
      }
      const kept = normaliseKeyword(keyword, given, `${path}/${escapePointer(keyword)}`)
      if (kept !== undefined) entries.push([keyword, kept])
      else if (!SILENTLY_DROPPED.has(keyword)) tellLoss(path, keyword, 'its value is invalid')
    }
    return Object.fromEntries(entries)
  }

  function normaliseKeyword(keyword: string, value: unknown, path: string): unknown {
    if (SILENTLY_DROPPED.has(keyword)) return undefined
    if (KEEP_BOOLEAN.has(keyword) && typeof value === 'boolean') return value
    if (SCHEMAS.has(keyword)) return isSchema(value) ? normalise(value, path) : undefined
    if (LISTS.has(keyword)) {
      if (!Array.isArray(value) || value.length === 0) return undefined
      return value.map((schema, index) => normalise(schema, `${path}/${index}`))
    }
    if (MAPS.has(keyword)) {
      if (!isRecord(value)) return undefined
      return mapValues(value, (schema, name) => normalise(schema, `${path}/${escapePointer(name)}`))
    }
    return hasRightShape(keyword, value) ? value : undefined
  }

  /** Returns `#/$defs/<key>` for a reference. Each target is normalised once, so recursion terminates. */
  function refer(reference: unknown, path: string): string | undefined {
    const target = typeof reference === 'string' ? findTarget(root, reference) : undefined
    if (typeof reference !== 'string' || target === undefined) return undefined
    const known = isRecord(target) ? keys.get(target) : undefined
    if (known !== undefined) return `#/$defs/${known}`
    // References into each other's parts would copy them over and over.
    if (nodes > MAX_NODES) return undefined
    const key = freeKey(reference)
    keys.set(isRecord(target) ? target : reference, key)
    // Reserves the position, so that definitions keep the order of their first reference.
    definitions.set(key, {})
    definitions.set(key, normalise(target, pointerOf(reference) ?? path))
    return `#/$defs/${key}`
  }

  function freeKey(reference: string): string {
    const last =
      reference
        .split('/')
        .at(-1)
        ?.replace(/[^A-Za-z0-9_-]+/g, '_') ?? ''
    const wanted = reference === '#' ? 'root' : last === '' ? 'definition' : last
    if (!definitions.has(wanted)) return wanted
    let count = 2
    while (definitions.has(`${wanted}_${count}`)) count++
    return `${wanted}_${count}`
  }
}

const SILENTLY_DROPPED = new Set([
  '$schema',
  '$id',
  'id',
  '$comment',
  '$anchor',
  '$dynamicAnchor',
  '$recursiveAnchor',
  '$vocabulary',
  '$defs',
  'definitions',
])

const KEEP_BOOLEAN = new Set(['additionalProperties', 'unevaluatedProperties', 'unevaluatedItems'])

/** Rewrites keywords of older drafts and of OpenAPI in 2020-12. */
function modernise(schema: Record<string, unknown>): Record<string, unknown> {
  let modern = schema
  if (Array.isArray(schema.items)) {
    const { items, additionalItems, ...rest } = modern
    modern = {
      ...rest,
      prefixItems: items,
      ...(additionalItems === undefined ? {} : { items: additionalItems }),
    }
  } else if ('additionalItems' in modern) {
    const { additionalItems: _, ...rest } = modern
    modern = rest
  }
  for (const [flag, bound] of [
    ['exclusiveMinimum', 'minimum'],
    ['exclusiveMaximum', 'maximum'],
  ] as const) {
    if (typeof modern[flag] !== 'boolean') continue
    const { [flag]: isExclusive, [bound]: limit, ...rest } = modern
    modern = typeof limit === 'number' ? { ...rest, [isExclusive ? flag : bound]: limit } : rest
  }
  if (isRecord(modern.dependencies)) modern = splitDependencies(modern, modern.dependencies)
  if (typeof modern.nullable === 'boolean') modern = withoutNullable(modern)
  if (typeof modern.required === 'boolean') {
    const { required: _, ...rest } = modern
    modern = rest
  }
  return modern
}

function splitDependencies(schema: Record<string, unknown>, dependencies: Record<string, unknown>) {
  const { dependencies: _, ...rest } = schema
  const lists = Object.entries(dependencies).filter(([, needed]) => Array.isArray(needed))
  const schemas = Object.entries(dependencies).filter(([, needed]) => isSchema(needed))
  return {
    ...rest,
    ...(lists.length > 0 ? { dependentRequired: Object.fromEntries(lists) } : {}),
    ...(schemas.length > 0 ? { dependentSchemas: Object.fromEntries(schemas) } : {}),
  }
}

function withoutNullable(schema: Record<string, unknown>): Record<string, unknown> {
  const { nullable, ...rest } = schema
  const types = typesOf(rest)
  if (nullable !== true) return rest
  if (types.length === 0) return typeof rest.$ref === 'string' ? { anyOf: [rest, { type: 'null' }] } : rest
  return {
    ...rest,
    type: [...new Set([...types, 'null'])],
    ...(Array.isArray(rest.enum) && !rest.enum.includes(null) ? { enum: [...rest.enum, null] } : {}),
  }
}

/** Providers reject more than a validator does. */
function hasRightShape(keyword: string, value: unknown): boolean {
  if (typeof value === 'number' && !Number.isFinite(value)) return false
  if (COUNTS.test(keyword) && !Number.isInteger(value)) return false
  const isRight = STRICTER.get(keyword) ?? SHAPES[keyword]
  return isRight === undefined || isRight(value)
}

const COUNTS = /^(?:min|max)(?:Length|Items|Properties)$/
const isText = (value: unknown) => typeof value === 'string'

const STRICTER: ReadonlyMap<string, (value: unknown) => boolean> = new Map<
  string,
  (value: unknown) => boolean
>([
  // Keywords that modernise() could not convert.
  ['nullable', () => false],
  ['dependencies', () => false],
  ['description', isText],
  ['title', isText],
  ['pattern', (value) => typeof value === 'string' && isPattern(value)],
])

function isPattern(text: string): boolean {
  try {
    new RegExp(text, 'u')
    return true
  } catch {
    return false
  }
}

function isSchema(value: unknown): boolean {
  return typeof value === 'boolean' || isRecord(value)
}

function pointerOf(reference: string): string | undefined {
  return reference.startsWith('#/') ? reference.slice(1) : reference === '#' ? '' : undefined
}

/** The target of a local reference (`#`, `#/a/b`, `#anchor`); undefined for any other. Nothing is ever fetched. */
function findTarget(root: Record<string, unknown>, reference: string): unknown {
  const fragment = fragmentOf(root, reference)
  if (fragment === undefined) return undefined
  if (fragment === '') return root
  const target = fragment.startsWith('/') ? byPointer(root, fragment) : byAnchor(root, fragment, 0)
  return isRecord(target) || typeof target === 'boolean' ? target : undefined
}

function fragmentOf(root: Record<string, unknown>, reference: string): string | undefined {
  const hash = reference.indexOf('#')
  const base = hash < 0 ? reference : reference.slice(0, hash)
  if (base !== '' && base !== root.$id && base !== root.id) return undefined
  try {
    return hash < 0 ? '' : decodeURIComponent(reference.slice(hash + 1))
  } catch {
    return undefined
  }
}

const MAX_DEPTH = 200

function byAnchor(value: unknown, anchor: string, depth: number): unknown {
  if (depth > MAX_DEPTH || typeof value !== 'object' || value === null) return undefined
  if (isRecord(value) && (value.$anchor === anchor || value.$dynamicAnchor === anchor)) return value
  for (const nested of Object.values(value)) {
    const found = byAnchor(nested, anchor, depth + 1)
    if (found !== undefined) return found
  }
  return undefined
}
