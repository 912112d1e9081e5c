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

/** A normalised schema in the words a provider knows. A constraint it cannot state is added to the description. */
export function narrowSchema(root: SchemaNode, rules: SchemaRules, tellLoss: TellLoss): SchemaNode {
  const definitions = isRecord(root.$defs) ? root.$defs : {}
  let inlinings = 0
  const { $defs, ...rest } = narrow(root, '', new Set())
  return $defs === undefined ? rest : { ...rest, $defs }

  /** `inlined`: the definitions that were put in place of a reference above; none is put inside itself. */
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
    // `allOf: [{ $ref }]` with a description is how a described reference is written before 2019.
    const isJustReference = parts.length === 1 && only?.$ref !== undefined && rest.$ref === undefined
    if (isJustReference) return { ...only, ...rest }
    let joined: SchemaNode = rest
    for (const part of parts) joined = mergeSchemas(joined, resolved(part, path, inlining), path, tellLoss)
    return joinAllOf(joined, path, inlining)
  }

  /** The part itself, or what it refers to. A definition inside itself, or one too many, constrains nothing more. */
  function resolved(part: SchemaNode, path: string, inlining: Set<string>): SchemaNode {
    if (typeof part.$ref !== 'string') return part
    const { $ref, ...siblings } = part
    const key = $ref.slice('#/$defs/'.length)
    const target = definitions[key]
    if (!isRecord(target)) return siblings
    if (inlining.has(key) || ++inlinings > MAX_INLININGS) {
      tellLoss(path, '$ref', 'it recurs inside an allOf')
      return siblings
    }
    inlining.add(key)
    return mergeSchemas(siblings, resolved(target, path, inlining), path, tellLoss)
  }
}

/** More than any real schema needs; definitions that each name the next twice would double with every step. */
const MAX_INLININGS = 300

type Tell = (keyword: string, reason: string) => void

function oneOfAsAnyOf(node: SchemaNode, tell: Tell): SchemaNode {
  const { oneOf, ...rest } = node
  if ('anyOf' in rest) {
    tell('oneOf', 'it stands beside an anyOf, and only one of them can be said')
    return rest
  }
  // A union whose branches differ by a constant is exclusive anyway, so nothing is lost by saying anyOf.
  if (!isTagged(oneOf)) tell('oneOf', 'more than one branch may fit, as with anyOf')
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
  tell('prefixItems', 'which item stands where cannot be said, only what the items are')
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

/** Whether a schema accepts anything at all; `false` was normalised to `{ not: {} }`. */
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
    tell('enum', `${values.length} values are more than the ${rules.maxEnumValues} that fit`)
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
  tell('enum', 'only strings and numbers can be its values')
  hints.push(`one of ${values.slice(0, 10).map(show).join(', ')}`)
  return without(node, 'enum')
}

/** What already says of which type a value is. */
const TYPED_BY = ['type', '$ref', 'anyOf', 'oneOf', 'allOf']

/** Some servers refuse an enum without a type; values of one kind say what it is. */
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
      tell('format', `the format ${value} is not known`)
      hints.push(`format ${value}`)
      return false
    }
    if (!rules.keywords || rules.keywords.has(keyword)) return true
    tell(keyword, 'the keyword is not known')
    if (TOLD.has(keyword)) hints.push(`${TOLD.get(keyword)} ${show(value)}`)
    return false
  })
  return Object.fromEntries(kept)
}

/** Constraints short enough to be put in words. */
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

/** A described reference becomes a union of one, which may be described. */
function refAlone(node: SchemaNode, tell: Tell): SchemaNode {
  const { $ref, $defs, ...siblings } = node
  const definitions = $defs === undefined ? {} : { $defs }
  if (Object.keys(siblings).length === 0) return node
  const { title, description, ...others } = siblings
  for (const keyword of Object.keys(others)) tell(keyword, 'nothing may stand beside a $ref')
  return {
    ...(title === undefined ? {} : { title }),
    ...(description === undefined ? {} : { description }),
    anyOf: [{ $ref }],
    ...definitions,
  }
}

/** Properties and branches that accept nothing are left out where `not` cannot be said. */
function dropImpossible(node: SchemaNode, rules: SchemaRules, tell: Tell): SchemaNode {
  if (!rules.keywords || rules.keywords.has('not')) return node
  let kept = isImpossible(node) ? without(node, 'not') : node
  if (isRecord(kept.properties)) {
    const possible = Object.entries(kept.properties).filter(([, schema]) => !isImpossible(schema))
    if (possible.length < Object.keys(kept.properties).length) {
      tell('properties', 'a property that accepts nothing is left out')
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
    // No items beyond those of the tuple, if there is one.
    const length = Array.isArray(kept.prefixItems) ? kept.prefixItems.length : 0
    kept = { ...kept, items: {}, maxItems: Math.min(Number(kept.maxItems ?? length), length) }
  }
  return kept
}

function show(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}
