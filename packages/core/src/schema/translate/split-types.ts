import { isOfType } from '../assertions.ts'
import { type SchemaNode, typesOf, without } from './schema-node.ts'

/** The keywords specific to each type; all others apply to every value. */
const KEYWORDS_OF: ReadonlyMap<string, readonly string[]> = new Map([
  [
    'object',
    [
      'properties',
      'required',
      'additionalProperties',
      'patternProperties',
      'propertyNames',
      'minProperties',
      'maxProperties',
      'dependentRequired',
      'dependentSchemas',
      'unevaluatedProperties',
    ],
  ],
  ['array', ['items', 'prefixItems', 'minItems', 'maxItems', 'uniqueItems', 'contains', 'unevaluatedItems']],
  ['string', ['minLength', 'maxLength', 'pattern', 'format']],
  ['number', ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf', 'format']],
  ['integer', ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf', 'format']],
])

const OF_ALL_VALUES = new Set(['title', 'description', 'default', 'deprecated', 'examples', '$defs'])

/** Converts a list of types to a union with one type per branch, with each keyword in its branch. */
export function splitTypes(node: SchemaNode, tell: (keyword: string, reason: string) => void): SchemaNode {
  if (!Array.isArray(node.type)) return node
  const types = [...new Set(typesOf(node))]
  const [only, ...others] = types
  if (only !== undefined && others.length === 0) return { ...node, type: only }
  if ('anyOf' in node || 'oneOf' in node || '$ref' in node) {
    // The union beside it determines the values; at worst the result accepts a little more.
    tell('type', 'a list of types beside a union is not supported')
    return without(node, 'type')
  }
  const shared = Object.entries(node).filter(([keyword]) => OF_ALL_VALUES.has(keyword))
  const branches = types.map((type) => branchOf(node, type)).filter((branch) => branch !== undefined)
  return { ...Object.fromEntries(shared), anyOf: branches }
}

function branchOf(node: SchemaNode, type: string): SchemaNode | undefined {
  const own = new Set(KEYWORDS_OF.get(type) ?? [])
  const entries = Object.entries(node).filter(([keyword]) => own.has(keyword))
  if (!Array.isArray(node.enum)) return { type, ...Object.fromEntries(entries) }
  const values = node.enum.filter((value) => isOfType(value, type))
  // `null` needs no branch here, nor does a type that none of the values has.
  if (values.length === 0) return undefined
  return { type, ...Object.fromEntries(entries), ...(type === 'null' ? {} : { enum: values }) }
}
