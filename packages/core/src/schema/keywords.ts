import { isRecord } from '../json.ts'

export type SchemaPart = boolean | SchemaNode

/** A schema that is an object. */
export type SchemaNode = Record<string, unknown>

/** Longer than any real `$id` or `$ref`; each reference is resolved against its schema's address. */
export const MAX_ADDRESS_CHARS = 2_000

/** The values of `type`. */
export const TYPES = new Set<unknown>(['array', 'boolean', 'integer', 'null', 'number', 'object', 'string'])
const isNumber = (value: unknown) => typeof value === 'number'
const isCount = (value: unknown) => typeof value === 'number' && value >= 0
const isText = (value: unknown) => typeof value === 'string'
export const isTexts = (value: unknown) => Array.isArray(value) && value.every(isText)
const isFlag = (value: unknown) => typeof value === 'boolean'
const isBound = (value: unknown) => isNumber(value) || isFlag(value)
const isAnchor = (value: unknown) =>
  typeof value === 'string' &&
  value.length <= MAX_ADDRESS_CHARS &&
  URL.canParse(value, 'https://schema.invalid/')

/** Keywords with plain values, and tests for those values. */
export const SHAPES: { readonly [keyword: string]: (value: unknown) => boolean } = {
  __proto__: null as never,
  $ref: isAnchor,
  $id: isAnchor,
  $anchor: isText,
  $dynamicRef: isAnchor,
  $dynamicAnchor: isText,
  $recursiveRef: (value) => value === '#',
  $recursiveAnchor: isFlag,
  type: (value) =>
    TYPES.has(value) || (Array.isArray(value) && value.length > 0 && value.every((t) => TYPES.has(t))),
  const: () => true,
  enum: (value) => Array.isArray(value) && value.length > 0,
  required: isTexts,
  dependentRequired: (value) => isRecord(value) && Object.values(value).every(isTexts),
  minimum: isNumber,
  maximum: isNumber,
  exclusiveMinimum: isBound,
  exclusiveMaximum: isBound,
  multipleOf: (value) => typeof value === 'number' && value > 0,
  minLength: isCount,
  maxLength: isCount,
  minItems: isCount,
  maxItems: isCount,
  minContains: isCount,
  maxContains: isCount,
  minProperties: isCount,
  maxProperties: isCount,
  uniqueItems: isFlag,
  pattern: isText,
  format: isText,
}
/** Keywords whose value is an object of schemas, a list of schemas, or a schema. */
export const MAPS = new Set(['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas'])
export const LISTS = new Set(['allOf', 'anyOf', 'oneOf', 'prefixItems'])
export const SCHEMAS = new Set([
  'not',
  'if',
  'then',
  'else',
  'items',
  'contains',
  'additionalItems',
  'unevaluatedItems',
  'additionalProperties',
  'unevaluatedProperties',
  'propertyNames',
])

/** Whether a schema refers to another one. */
export function isRef(node: Readonly<Record<string, unknown>>): boolean {
  return '$ref' in node || '$dynamicRef' in node || '$recursiveRef' in node
}
