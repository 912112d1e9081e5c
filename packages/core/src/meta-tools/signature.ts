import { isRecord } from '../json.ts'
import { clipText } from '../text.ts'
import type { JsonSchema } from '../tool.ts'

/** The size limit of a signature, in characters. */
export interface SignatureLimit {
  readonly maxChars: number
}

/** How many allowed values are shown, and how deep objects are. */
const MAX_VALUES = 12
const MAX_DEPTH = 3
/** Where parameters may be, other than in `properties`. */
const COMBINED = ['oneOf', 'anyOf', 'allOf', '$ref', 'patternProperties']
/** The words of a description that tell what a text is: a syntax or a sentence, a selector or an id. */
const MAX_COMMENT = 40

/**
 * The parameters of a tool as a TypeScript-like signature, such as `(owner: string, state?: "open" | "closed")`. Every
 * parameter is named, the required ones first: comments go before types, types of optional ones before those of required ones. What is left out is `…`.
 */
export function signatureOf(parameters: JsonSchema, { maxChars }: SignatureLimit): string {
  if (
    isRecord(parameters) &&
    parameters.properties === undefined &&
    COMBINED.some((key) => key in parameters)
  )
    return '(…)'
  const forms = [
    () => argumentsOf(parameters, { depth: MAX_DEPTH, hasComments: true }),
    () => argumentsOf(parameters, { depth: MAX_DEPTH, hasComments: false }),
    () => argumentsOf(parameters, { depth: 1, hasComments: false }),
    () => argumentsOf(parameters, { depth: 1, hasComments: false, namesOnly: true }),
    () => namesOf(parameters),
  ]
  for (const form of forms) {
    const text = `(${form()})`
    if (text.length <= maxChars) return text
  }
  return `(${clipText(namesOf(parameters), maxChars - 2)})`
}

/** A schema as a TypeScript-like type. */
export function typeText(schema: JsonSchema): string {
  // One deeper than parameters: what a result's list contains is what a program works on.
  return typeOf(schema, { depth: MAX_DEPTH + 1, hasComments: false, root: isRecord(schema) ? schema : {} })
}

interface Form {
  readonly depth: number
  readonly hasComments: boolean
  /** Optional parameters have no type. */
  readonly namesOnly?: boolean
}

function argumentsOf(schema: JsonSchema, form: Form): string {
  const root = isRecord(schema) ? schema : {}
  return fieldsOf(root, { ...form, root }).join(', ')
}

function namesOf(schema: JsonSchema): string {
  const { properties, required } = shapeOf(schema)
  return ordered(properties, required)
    .map(([name]) => (required.has(name) ? name : `${name}?`))
    .join(', ')
}

interface Writer extends Form {
  /** The whole schema, in which references are resolved. */
  readonly root: Readonly<Record<string, unknown>>
}

function fieldsOf(schema: unknown, writer: Writer): string[] {
  const { properties, required } = shapeOf(schema)
  return ordered(properties, required).map(([name, property]) => {
    const mark = required.has(name) ? '' : '?'
    const key = /^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name)
    if (writer.namesOnly && mark === '?') return `${key}?`
    return `${key}${mark}: ${typeOf(property, writer)}${writer.hasComments ? commentOf(property) : ''}`
  })
}

function shapeOf(schema: unknown) {
  const { properties, required } = isRecord(schema) ? schema : {}
  return {
    properties: isRecord(properties) ? properties : {},
    required: new Set(Array.isArray(required) ? required.filter((name) => typeof name === 'string') : []),
  }
}

function ordered(properties: Readonly<Record<string, unknown>>, required: ReadonlySet<string>) {
  const all = Object.entries(properties)
  return [...all.filter(([name]) => required.has(name)), ...all.filter(([name]) => !required.has(name))]
}

function typeOf(given: unknown, writer: Writer): string {
  const schema = resolved(given, writer)
  if (!isRecord(schema)) return 'any'
  const { const: only, enum: values, anyOf, oneOf, type } = schema
  if (only !== undefined) return JSON.stringify(only)
  if (Array.isArray(values)) {
    const shown = values.slice(0, MAX_VALUES).map((value) => JSON.stringify(value))
    return [...shown, ...(values.length > MAX_VALUES ? ['…'] : [])].join(' | ')
  }
  const choices = Array.isArray(anyOf) ? anyOf : Array.isArray(oneOf) ? oneOf : undefined
  if (choices) {
    const shown = [...new Set(choices.slice(0, MAX_VALUES).map((choice) => typeOf(choice, deeper(writer))))]
    return [...shown, ...(choices.length > MAX_VALUES ? ['…'] : [])].join(' | ')
  }
  if (Array.isArray(type))
    return [...new Set(type.map((each) => typeOf({ ...schema, type: each }, writer)))].join(' | ')
  if (type === 'array' || schema.items !== undefined) {
    const item = typeOf(schema.items, deeper(writer))
    return item.includes(' | ') ? `(${item})[]` : `${item}[]`
  }
  if (type === 'object' || schema.properties !== undefined) {
    if (Object.keys(shapeOf(schema).properties).length === 0) return 'object'
    return writer.depth <= 1 ? '{…}' : `{ ${fieldsOf(schema, deeper(writer)).join(', ')} }`
  }
  if (type === 'integer') return 'number'
  return typeof type === 'string' ? type : 'any'
}

function deeper(writer: Writer): Writer {
  return { ...writer, depth: writer.depth - 1, hasComments: false }
}

/** The schema that a local reference means; one level, so that a cycle ends. */
function resolved(schema: unknown, { root, depth }: Writer): unknown {
  if (!isRecord(schema) || typeof schema.$ref !== 'string') return schema
  if (depth <= 0 || !schema.$ref.startsWith('#/')) return true
  let target: unknown = root
  for (const part of schema.$ref.slice(2).split('/'))
    target = isRecord(target) ? target[part.replaceAll('~1', '/').replaceAll('~0', '~')] : undefined
  return isRecord(target) && typeof target.$ref === 'string' ? true : target
}

/** What a text parameter means, where its type does not tell. */
function commentOf(property: unknown): string {
  if (!isRecord(property) || property.enum !== undefined || property.const !== undefined) return ''
  const { description, format, type } = property
  if (typeof format === 'string') return ` /* ${clipText(format, MAX_COMMENT)} */`
  if (typeof description !== 'string' || (type !== 'string' && type !== undefined && type !== 'array'))
    return ''
  const words = clipText(description.replace(/\s+/g, ' ').replaceAll('*/', '').trim(), MAX_COMMENT)
  return words === '' ? '' : ` /* ${words} */`
}
