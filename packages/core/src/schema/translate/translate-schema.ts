import { isRecord } from '../../json.ts'
import { toWireName } from '../../names.ts'
import type { JsonSchema } from '../../tool.ts'
import { cutCycles } from './cut-cycles.ts'
import { narrowSchema } from './narrow.ts'
import { normaliseSchema } from './normalise.ts'
import { toRootObject } from './root-object.ts'
import {
  mapSchemas,
  propertiesOf,
  type SchemaLoss,
  type SchemaNode,
  stringsOf,
  type TellLoss,
} from './schema-node.ts'
import type { SchemaRules } from './schema-rules.ts'

/** An object schema in a provider's format. */
export interface ObjectSchema {
  type: 'object'
  properties: Record<string, unknown>
  required?: string[]
  [keyword: string]: unknown
}

/** A translated schema, what it could not express, and the renamed keys. */
export interface TranslatedSchema {
  readonly schema: ObjectSchema
  /** Constraints that the provider does not see. The registry still validates arguments against the original. */
  readonly lost: readonly SchemaLoss[]
  /** Renamed argument keys: the key that the provider sees → the tool's own. */
  readonly renamedKeys: ReadonlyMap<string, string>
}

/** Translates a tool's schema to a provider's subset. Equal schemas give equal bytes. */
export function translateSchema(schema: JsonSchema, rules: SchemaRules): TranslatedSchema {
  const losses = new Map<string, SchemaLoss>()
  const tellLoss: TellLoss = (path, keyword, reason) => {
    const key = `${path} ${keyword}`
    if (!losses.has(key)) losses.set(key, { path, keyword, reason })
  }
  const root = toRootObject(normaliseSchema(schema, tellLoss), tellLoss)
  const narrowed = narrowSchema(root, rules, tellLoss)
  // Last, since merging an allOf may make an optional property required.
  const acyclic = rules.recursion === 'anywhere' ? narrowed : cutCycles(narrowed, tellLoss)
  const { node, renamedKeys } = renameKeys(withoutUnused(acyclic), rules.propertyKeys)
  return { schema: asObject(node), lost: [...losses.values()], renamedKeys }
}

/** Removes unused definitions; the rest keep the order of their first reference. */
function withoutUnused(root: SchemaNode): SchemaNode {
  const { $defs, ...rest } = root
  if (!isRecord($defs)) return root
  const used = new Set<string>()
  const follow = (schema: unknown) => {
    for (const key of referredKeys(schema)) {
      if (used.has(key)) continue
      used.add(key)
      follow($defs[key])
    }
  }
  follow(rest)
  const kept = [...used].filter((key) => Object.hasOwn($defs, key)).map((key) => [key, $defs[key]])
  return kept.length === 0 ? rest : { ...rest, $defs: Object.fromEntries(kept) }
}

function referredKeys(schema: unknown): string[] {
  if (!isRecord(schema)) return []
  return Object.entries(schema).flatMap(([keyword, value]) => {
    if (keyword === '$ref' && typeof value === 'string') return [value.slice('#/$defs/'.length)]
    const nested: string[] = []
    mapSchemas({ [keyword]: value }, '', (inner) => nested.push(...referredKeys(inner)))
    return nested
  })
}

function renameKeys(node: SchemaNode, pattern: RegExp | undefined) {
  const keys = Object.keys(propertiesOf(node))
  const isBad = (key: string) => pattern !== undefined && !pattern.test(key)
  const renamedKeys = new Map<string, string>()
  if (!keys.some(isBad)) return { node, renamedKeys }
  const taken = new Set(keys.filter((key) => !isBad(key)))
  const wireKeys = new Map<string, string>()
  for (const key of keys.filter(isBad)) {
    let wireKey = toWireName(key)
    while (taken.has(wireKey)) wireKey = toWireName(`${wireKey} ${key}`)
    taken.add(wireKey)
    wireKeys.set(key, wireKey)
    renamedKeys.set(wireKey, key)
  }
  const rename = (key: string) => wireKeys.get(key) ?? key
  const renamed: SchemaNode = {
    ...node,
    properties: Object.fromEntries(
      Object.entries(propertiesOf(node)).map(([key, schema]) => [rename(key), schema]),
    ),
    ...(node.required === undefined ? {} : { required: stringsOf(node.required).map(rename) }),
  }
  return { node: renamed, renamedKeys }
}

function asObject(node: SchemaNode): ObjectSchema {
  const { type: _, properties, required, ...rest } = node
  return {
    type: 'object',
    properties: propertiesOf({ properties }),
    ...(required === undefined ? {} : { required: [...stringsOf(required)] }),
    ...rest,
  }
}
