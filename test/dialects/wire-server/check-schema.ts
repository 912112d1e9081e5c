/** What is wrong with a tool's schema in the eyes of a provider; undefined when it would be accepted. */
export type SchemaCheck = (schema: unknown) => string | undefined

type Node = Record<string, unknown>

const TYPES = ['object', 'array', 'string', 'number', 'integer', 'boolean', 'null']
const COUNTS = ['minLength', 'maxLength', 'minItems', 'maxItems', 'minProperties', 'maxProperties']
const NUMBERS = ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf']

/** Anthropic: valid 2020-12, an object without a union at the root, keys of a plain form. */
export const checkAnthropicSchema: SchemaCheck = (schema) => {
  if (!isNode(schema)) return 'input_schema: Input should be an object'
  if (schema.type !== 'object') return 'input_schema.type: Field required'
  for (const keyword of ['oneOf', 'allOf', 'anyOf']) {
    if (keyword in schema) return 'input_schema does not support oneOf, allOf, or anyOf at the top level'
  }
  for (const key of Object.keys(isNode(schema.properties) ? schema.properties : {})) {
    if (!/^[a-zA-Z0-9_.-]{1,64}$/.test(key)) return `input_schema.properties: bad property key ${key}`
  }
  return faultOf(schema, schema, '', checkDraft2020)
}

/** OpenAI without strict mode: an object at the root, items for every array. */
export const checkOpenAiSchema: SchemaCheck = (schema) => {
  if (!isNode(schema) || schema.type !== 'object') return `schema must be a JSON Schema of 'type: "object"'`
  for (const keyword of ['oneOf', 'anyOf', 'allOf', 'enum', 'not']) {
    if (keyword in schema) return `schema must not have '${keyword}' at the top level`
  }
  return faultOf(schema, schema, '', (node, root) => {
    if (node.type === 'array' && !('items' in node) && !('prefixItems' in node))
      return 'array schema missing items'
    if (Array.isArray(node.enum) && node.enum.length > 1_000) return 'enum has too many values'
    return checkDraft2020(node, root)
  })
}

/** The poorest of the servers that speak OpenAI's dialect: one type a schema, no oneOf, allOf or const. */
export const checkCompatibleSchema: SchemaCheck = (schema) => {
  const fault = checkOpenAiSchema(schema)
  if (fault !== undefined || !isNode(schema)) return fault
  return faultOf(schema, schema, '', (node) => {
    if (Array.isArray(node.type)) return 'type must be a string'
    for (const keyword of ['oneOf', 'allOf', 'not', 'const', 'if', 'prefixItems', 'patternProperties']) {
      if (keyword in node) return `unsupported keyword ${keyword}`
    }
    return undefined
  })
}

const GEMINI_KEYWORDS = new Set(
  '$id $defs $ref $anchor type format title description enum items prefixItems minItems maxItems minimum maximum anyOf oneOf properties additionalProperties required propertyOrdering'.split(
    ' ',
  ),
)

/** Gemini: a short list of keywords, nothing beside a reference, no required recursion. */
export const checkGeminiSchema: SchemaCheck = (schema) => {
  if (!isNode(schema) || schema.type !== 'object') return 'parametersJsonSchema should be of type object'
  return faultOf(schema, schema, '', (node, root) => {
    for (const [keyword, value] of Object.entries(node)) {
      if (!GEMINI_KEYWORDS.has(keyword)) return `Unknown name "${keyword}"`
      if (keyword === '$ref' && Object.keys(node).some((key) => !key.startsWith('$')))
        return 'no other properties may be set beside $ref'
      if (
        keyword === 'enum' &&
        Array.isArray(value) &&
        value.some((item) => !/string|number/.test(typeof item))
      )
        return 'enum: only strings and numbers'
    }
    if (Array.isArray(node.type)) return 'type must be a string'
    const properties = isNode(node.properties) ? node.properties : {}
    for (const name of Array.isArray(node.required) ? node.required : []) {
      if (!Object.hasOwn(properties, String(name))) return `required: property ${name} is not defined`
    }
    if (typeof node.$ref === 'string' && mustRecur(root, node.$ref.slice(8), [], new Set()))
      return 'required recursion'
    return checkDraft2020(node, root)
  })
}

function checkDraft2020(node: Node, root: Node): string | undefined {
  const { type } = node
  if (type !== undefined) {
    const types = Array.isArray(type) ? type : [type]
    if (types.length === 0 || !types.every((item) => TYPES.includes(String(item)))) return `bad type ${type}`
  }
  if ('enum' in node && (!Array.isArray(node.enum) || node.enum.length === 0)) return 'enum must have values'
  if ('required' in node && !isListOfText(node.required)) return 'required must be a list of names'
  for (const keyword of COUNTS) {
    if (keyword in node && !(Number.isInteger(node[keyword]) && Number(node[keyword]) >= 0))
      return `bad ${keyword}`
  }
  for (const keyword of NUMBERS) {
    if (keyword in node && typeof node[keyword] !== 'number') return `bad ${keyword}`
  }
  if ('$schema' in node && node.$schema !== 'https://json-schema.org/draft/2020-12/schema')
    return 'bad $schema'
  if ('nullable' in node || 'definitions' in node || 'dependencies' in node) return 'not draft 2020-12'
  if ('$ref' in node) {
    const key = /^#\/\$defs\/(.+)$/.exec(String(node.$ref))?.[1]
    if (key === undefined || !isNode(root.$defs) || !(key in root.$defs))
      return `unresolved $ref ${node.$ref}`
  }
  return undefined
}

function mustRecur(root: Node, key: string, trail: readonly string[], safe: Set<string>): boolean {
  if (trail.includes(key)) return true
  if (safe.has(key)) return false
  const definition = isNode(root.$defs) ? root.$defs[key] : undefined
  const next = new Set(requiredReferences(definition))
  const recurs = [...next].some((target) => mustRecur(root, target, [...trail, key], safe))
  if (!recurs) safe.add(key)
  return recurs
}

function requiredReferences(value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap(requiredReferences)
  if (!isNode(value)) return []
  const own = typeof value.$ref === 'string' ? [value.$ref.slice(8)] : []
  const required = Array.isArray(value.required) ? value.required : []
  const nested = Object.entries(value).flatMap(([keyword, inner]) => {
    if (keyword === 'properties' && isNode(inner))
      return Object.entries(inner).flatMap(([name, schema]) =>
        required.includes(name) ? requiredReferences(schema) : [],
      )
    return keyword === 'enum' || keyword === '$defs' ? [] : requiredReferences(inner)
  })
  return [...own, ...nested]
}

function faultOf(
  value: unknown,
  root: Node,
  path: string,
  check: (node: Node, root: Node) => string | undefined,
): string | undefined {
  if (typeof value === 'boolean') return undefined
  if (!isNode(value)) return `${path}: a schema must be an object or a boolean`
  const fault = check(value, root)
  if (fault !== undefined) return `${path || '#'}: ${fault}`
  for (const [keyword, inner] of Object.entries(value)) {
    const nested = nestedSchemas(keyword, inner)
    if (nested === 'bad') return `${path}/${keyword}: bad shape`
    for (const [name, schema] of nested) {
      const found = faultOf(schema, root, `${path}/${keyword}/${name}`, check)
      if (found !== undefined) return found
    }
  }
  return undefined
}

const ONE = ['items', 'additionalProperties', 'not', 'if', 'then', 'else', 'contains', 'propertyNames']
const LISTS = ['anyOf', 'oneOf', 'allOf', 'prefixItems']
const MAPS = ['properties', 'patternProperties', '$defs', 'dependentSchemas']

function nestedSchemas(keyword: string, value: unknown): readonly (readonly [string, unknown])[] | 'bad' {
  if (ONE.includes(keyword)) return [['', value]]
  if (LISTS.includes(keyword)) return Array.isArray(value) && value.length > 0 ? Object.entries(value) : 'bad'
  if (MAPS.includes(keyword)) return isNode(value) ? Object.entries(value) : 'bad'
  return []
}

function isListOfText(value: unknown): boolean {
  return Array.isArray(value) && value.every((item) => typeof item === 'string')
}

function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
