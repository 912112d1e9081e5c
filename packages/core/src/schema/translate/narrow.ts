import { canonicalJson, isRecord } from '../../json.ts'
import { mergeSchemas } from './merge-schemas.ts'
import {
  mapSchemas,
  propertiesOf,
  type SchemaNode,
  stringsOf,
  type TellLoss,
  typesOf,
  without,
} from './schema-node.ts'
import type { SchemaRules } from './schema-rules.ts'
import { splitTypes } from './split-types.ts'

/** Rewrites a normalised schema in a provider's subset. Unsupported constraints are added to the description. */
export function narrowSchema(root: SchemaNode, rules: SchemaRules, tellLoss: TellLoss): SchemaNode {
  const definitions = isRecord(root.$defs) ? root.$defs : {}
  let inlinings = 0
  const { $defs, ...rest } = narrow(root, '', new Set())
  return $defs === undefined ? rest : { ...rest, $defs }

  /** `inlined`: definitions already inlined above this point; none is inlined into itself. */
  function narrow(schema: unknown, path: string, inlined: ReadonlySet<string>): SchemaNode {
    let node: SchemaNode = isRecord(schema) ? schema : {}
    const inlining = new Set(inlined)
    const tell = (keyword: string, reason: string) => tellLoss(path, keyword, reason)
    const hints: string[] = []
    if (!rules.allOf) node = joinAllOf(node, path, inlining)
    if (!rules.oneOf && Array.isArray(node.oneOf)) node = oneOfAsAnyOf(node, tell)
    if (!rules.const && 'const' in node) node = constAsEnum(node)
    if (!rules.tuples && Array.isArray(node.prefixItems)) node = tupleAsItems(node, tell)
    if (!rules.typeLists) node = splitTypes(node, tell)
    node = dropImpossible(node, rules, tell)
    node = keepEnum(node, rules, tell, hints)
    node = keepKeywords(node, rules, tell, hints)
    if (rules.needsItems && typesOf(node).includes('array') && !('items' in node) && !('prefixItems' in node))
      node = { ...node, items: {} }
    if (rules.declaresRequired) node = declareRequired(node)
    if (Array.isArray(node.required)) node = withRequired(node)
    node = describe(node, hints)
    if (!rules.refSiblings && typeof node.$ref === 'string') node = refAlone(node, tell)
    return mapSchemas(node, path, (nested, at) =>
      typeof nested === 'boolean' ? nested : narrow(nested, at, inlining),
    )
  }

  function joinAllOf(node: SchemaNode, path: string, inlining: Set<string>): SchemaNode {
    if (!Array.isArray(node.allOf)) return node
    const { allOf, ...rest } = node
    const parts = allOf.filter(isRecord)
    const [only] = parts
    // Before 2019-09, `allOf: [{ $ref }]` was the way to add a description to a reference.
    const isJustReference = parts.length === 1 && only?.$ref !== undefined && rest.$ref === undefined
    if (isJustReference) return { ...only, ...rest }
    let joined: SchemaNode = rest
    for (const part of parts) joined = mergeSchemas(joined, resolved(part, path, inlining), path, tellLoss)
    return joinAllOf(joined, path, inlining)
  }

  /**
   * The part itself or the target of its reference. A recursive definition, or one over the limit, becomes
   * unconstrained.
   */
  function resolved(part: SchemaNode, path: string, inlining: Set<string>): SchemaNode {
    if (typeof part.$ref !== 'string') return part
    const { $ref, ...siblings } = part
    const key = $ref.slice('#/$defs/'.length)
    const target = definitions[key]
    if (!isRecord(target)) return siblings
    if (inlining.has(key) || ++inlinings > MAX_INLININGS) {
      tellLoss(path, '$ref', 'recursion inside an allOf is not supported')
      return siblings
    }
    inlining.add(key)
    return mergeSchemas(siblings, resolved(target, path, inlining), path, tellLoss)
  }
}

/** More than any real schema needs; definitions that each refer to the next one twice would grow exponentially. */
const MAX_INLININGS = 300

type Tell = (keyword: string, reason: string) => void

function oneOfAsAnyOf(node: SchemaNode, tell: Tell): SchemaNode {
  const { oneOf, ...rest } = node
  if ('anyOf' in rest) {
    tell('oneOf', 'only one of oneOf and anyOf can be expressed; anyOf is kept')
    return rest
  }
  // Branches that differ by a constant are mutually exclusive, so anyOf loses nothing.
  if (!isTagged(oneOf)) tell('oneOf', 'becomes anyOf, so more than one branch may match')
  return { ...rest, anyOf: oneOf }
}

function isTagged(branches: unknown): boolean {
  if (!Array.isArray(branches)) return false
  const tags = branches.map((branch) => {
    if (!isRecord(branch)) return undefined
    if (Object.keys(propertiesOf(branch)).length === 0)
      return branch.const ?? branch.enum ?? (typeof branch.type === 'string' ? branch.type : undefined)
    const constants = Object.entries(propertiesOf(branch)).filter(([, schema]) => isConstant(schema))
    return constants.length > 0 ? constants : undefined
  })
  return (
    tags.every((tag) => tag !== undefined) &&
    new Set(tags.map((tag) => canonicalJson(tag))).size === branches.length
  )
}

function isConstant(schema: unknown): boolean {
  return isRecord(schema) && ('const' in schema || (Array.isArray(schema.enum) && schema.enum.length === 1))
}

function constAsEnum(node: SchemaNode): SchemaNode {
  const { const: constant, ...rest } = node
  return { ...rest, enum: [constant] }
}

function tupleAsItems(node: SchemaNode, tell: Tell): SchemaNode {
  const { prefixItems, items, ...rest } = node
  tell('prefixItems', 'item positions cannot be expressed, only the item types')
  const kinds: unknown[] = []
  for (const schema of [
    ...(Array.isArray(prefixItems) ? prefixItems : []),
    ...(isOpen(items) ? [items] : []),
  ]) {
    if (!kinds.some((kind) => canonicalJson(kind) === canonicalJson(schema))) kinds.push(schema)
  }
  const isClosed = isRecord(items) && !isOpen(items)
  const length = Array.isArray(prefixItems) ? prefixItems.length : 0
  return {
    ...rest,
    items: kinds.length === 1 ? kinds[0] : { anyOf: kinds },
    ...(isClosed && rest.maxItems === undefined ? { maxItems: length } : {}),
  }
}

/** Whether a schema accepts anything; `false` was normalised to `{ not: {} }`. */
function isOpen(schema: unknown): boolean {
  return isRecord(schema) && !isImpossible(schema)
}

function isImpossible(schema: unknown): boolean {
  return isRecord(schema) && isRecord(schema.not) && Object.keys(schema.not).length === 0
}

function keepEnum(node: SchemaNode, rules: SchemaRules, tell: Tell, hints: string[]): SchemaNode {
  if (!Array.isArray(node.enum)) return node
  const values = [...new Map(node.enum.map((value) => [canonicalJson(value), value])).values()]
  const allowed =
    rules.enumValues === 'all'
      ? values
      : values.filter((value) => typeof value === 'string' || typeof value === 'number')
  if (values.length > rules.maxEnumValues) {
    tell('enum', `${values.length} values exceed the maximum of ${rules.maxEnumValues}`)
    hints.push(`one of ${values.length} values such as ${values.slice(0, 5).map(show).join(', ')}`)
    return without(node, 'enum')
  }
  const toEnum = rules.const ? withEnum : typedEnum
  if (allowed.length === values.length) return toEnum(node, values)
  const isJustNull = values.every((value) => value === null || allowed.includes(value))
  const types = typesOf(node)
  if (allowed.length > 0 && isJustNull && types.length > 0 && !types.includes('null'))
    return { ...node, enum: allowed }
  if (allowed.length > 0 && isJustNull && !('anyOf' in node) && !('$ref' in node))
    return { ...without(node, 'enum', 'type'), anyOf: [toEnum({}, allowed), { type: 'null' }] }
  tell('enum', 'only strings and numbers are supported')
  hints.push(`one of ${values.slice(0, 10).map(show).join(', ')}`)
  return without(node, 'enum')
}

/** Keywords that already determine a value's type. */
const TYPED_BY = ['type', '$ref', 'anyOf', 'oneOf', 'allOf']

/** Some servers reject an enum without a type; it is inferred if all values have the same one. */
function typedEnum(node: SchemaNode, values: readonly unknown[]): SchemaNode {
  const type = TYPED_BY.some((keyword) => keyword in node) ? undefined : typeOfValues(values)
  return withEnum(type === undefined ? node : { ...node, type }, values)
}

function withEnum(node: SchemaNode, values: readonly unknown[]): SchemaNode {
  return { ...node, enum: values }
}

function typeOfValues(values: readonly unknown[]): string | undefined {
  const types = new Set(values.map((value) => (value === null ? 'null' : typeof value)))
  const [only] = types
  if (types.size !== 1 || only === 'object') return undefined
  if (only !== 'number') return only
  return values.every(Number.isInteger) ? 'integer' : 'number'
}

function keepKeywords(node: SchemaNode, rules: SchemaRules, tell: Tell, hints: string[]): SchemaNode {
  const kept = Object.entries(node).filter(([keyword, value]) => {
    if (keyword === 'format' && typeof value === 'string' && rules.formats && !rules.formats.has(value)) {
      tell('format', `the format ${value} is not supported`)
      hints.push(`format ${value}`)
      return false
    }
    if (!rules.keywords || rules.keywords.has(keyword)) return true
    tell(keyword, 'the keyword is not supported')
    if (TOLD.has(keyword)) hints.push(`${TOLD.get(keyword)} ${show(value)}`)
    return false
  })
  return Object.fromEntries(kept)
}

/** Constraints that are short enough for the description. */
const TOLD: ReadonlyMap<string, string> = new Map([
  ['pattern', 'pattern'],
  ['minLength', 'min length'],
  ['maxLength', 'max length'],
  ['exclusiveMinimum', 'greater than'],
  ['exclusiveMaximum', 'less than'],
  ['multipleOf', 'multiple of'],
  ['uniqueItems', 'unique items'],
  ['minProperties', 'min properties'],
  ['maxProperties', 'max properties'],
  ['default', 'default'],
])

const MAX_HINT_CHARS = 200

function describe(node: SchemaNode, hints: readonly string[]): SchemaNode {
  const fitting = hints.filter((hint) => hint.length <= MAX_HINT_CHARS)
  if (fitting.length === 0) return node
  const hint = `(${fitting.join('; ')})`
  const description = typeof node.description === 'string' && node.description !== '' ? node.description : ''
  return { ...node, description: description === '' ? hint : `${description} ${hint}` }
}

function declareRequired(node: SchemaNode): SchemaNode {
  const declared = propertiesOf(node)
  const missing = stringsOf(node.required).filter((name) => !Object.hasOwn(declared, name))
  if (missing.length === 0) return node
  return {
    ...node,
    properties: Object.fromEntries([
      ...Object.entries(declared),
      ...missing.map((name) => [name, {}] as const),
    ]),
  }
}

function withRequired(node: SchemaNode): SchemaNode {
  const required = [...new Set(stringsOf(node.required))]
  return required.length > 0 ? { ...node, required } : without(node, 'required')
}

/** Wraps a reference with siblings in a one-branch union, which may have a description. */
function refAlone(node: SchemaNode, tell: Tell): SchemaNode {
  const { $ref, $defs, ...siblings } = node
  const definitions = $defs === undefined ? {} : { $defs }
  if (Object.keys(siblings).length === 0) return node
  const { title, description, ...others } = siblings
  for (const keyword of Object.keys(others)) tell(keyword, 'siblings of a $ref are not supported')
  return {
    ...(title === undefined ? {} : { title }),
    ...(description === undefined ? {} : { description }),
    anyOf: [{ $ref }],
    ...definitions,
  }
}

/** Removes properties and branches that accept nothing, where `not` is not supported. */
function dropImpossible(node: SchemaNode, rules: SchemaRules, tell: Tell): SchemaNode {
  if (!rules.keywords || rules.keywords.has('not')) return node
  let kept = isImpossible(node) ? without(node, 'not') : node
  if (isRecord(kept.properties)) {
    const possible = Object.entries(kept.properties).filter(([, schema]) => !isImpossible(schema))
    if (possible.length < Object.keys(kept.properties).length) {
      tell('properties', 'a property that accepts nothing was removed')
      const names = new Set(possible.map(([name]) => name))
      const required = stringsOf(kept.required).filter((name) => names.has(name))
      kept = { ...kept, properties: Object.fromEntries(possible), required }
      kept = withRequired(kept)
    }
  }
  if (Array.isArray(kept.anyOf)) {
    const possible = kept.anyOf.filter((schema) => !isImpossible(schema))
    kept = possible.length > 0 ? { ...kept, anyOf: possible } : without(kept, 'anyOf')
  }
  if (isImpossible(kept.additionalProperties)) kept = { ...kept, additionalProperties: false }
  if (isImpossible(kept.items)) {
    // No items beyond those of a tuple.
    const length = Array.isArray(kept.prefixItems) ? kept.prefixItems.length : 0
    kept = { ...kept, items: {}, maxItems: Math.min(Number(kept.maxItems ?? length), length) }
  }
  return kept
}

function show(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}
