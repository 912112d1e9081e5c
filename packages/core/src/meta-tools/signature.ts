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
  if (isRecord(parameters) && parameters.properties === undefined && isCombined(parameters)) return '(…)'
  const forms = [
    () => argumentsOf(parameters, { ...SHORT, maxComment: MAX_COMMENT }),
    () => argumentsOf(parameters, SHORT),
    () => argumentsOf(parameters, { ...SHORT, depth: 1 }),
    () => argumentsOf(parameters, { ...SHORT, depth: 1, namesOnly: true }),
    () => namesOf(parameters),
  ]
  for (const form of forms) {
    const text = `(${form()})`
    if (text.length <= maxChars) return text
  }
  return `(${clipText(namesOf(parameters), maxChars - 2)})`
}

export function isCombined(schema: object): boolean {
  return COMBINED.some((key) => key in schema)
}

/** A schema as a TypeScript-like type. */
export function typeText(schema: JsonSchema): string {
  // One deeper than parameters: what a result's list contains is what a program works on.
  return typeOf(schema, { ...SHORT, depth: MAX_DEPTH + 1, root: isRecord(schema) ? schema : {} })
}

interface Form {
  readonly depth: number
  readonly maxValues: number
  /** Characters of each comment; 0 for none. */
  readonly maxComment: number
  /** Optional parameters have no type. */
  readonly namesOnly?: boolean
}

const SHORT: Form = { depth: MAX_DEPTH, maxValues: MAX_VALUES, maxComment: 0 }

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

export interface Writer extends Form {
  /** The whole schema, in which references are resolved. */
  readonly root: Readonly<Record<string, unknown>>
  /** What is written differently where the whole schema is. */
  readonly whole?: {
    /** The name of a type that is referred to. */
    readonly nameOf: (schema: unknown, writer: Writer) => string | undefined
    readonly commentOf: (property: Readonly<Record<string, unknown>>) => string
  }
}

function fieldsOf(schema: unknown, writer: Writer): string[] {
  const { properties, required } = shapeOf(schema)
  return ordered(properties, required).map(([name, property]) => {
    const mark = required.has(name) ? '' : '?'
    const key = /^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name)
    if (writer.namesOnly && mark === '?') return `${key}?`
    return `${key}${mark}: ${typeOf(property, writer)}${commentOf(property, writer)}`
  })
}

export function shapeOf(schema: unknown) {
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

export function typeOf(given: unknown, writer: Writer): string {
  const name = writer.whole?.nameOf(given, writer)
  if (name !== undefined) return name
  const schema = resolved(given, writer)
  if (!isRecord(schema)) return 'any'
  const { const: only, enum: values, anyOf, oneOf, type } = schema
  if (only !== undefined) return JSON.stringify(only)
  if (Array.isArray(values)) {
    const shown = values.slice(0, writer.maxValues).map((value) => JSON.stringify(value))
    return [...shown, ...(values.length > writer.maxValues ? ['…'] : [])].join(' | ')
  }
  const choices = Array.isArray(anyOf) ? anyOf : Array.isArray(oneOf) ? oneOf : undefined
  if (choices) {
    const shown = [
      ...new Set(choices.slice(0, writer.maxValues).map((choice) => typeOf(choice, deeper(writer)))),
    ]
    return [...shown, ...(choices.length > writer.maxValues ? ['…'] : [])].join(' | ')
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
  return { ...writer, depth: writer.depth - 1, maxComment: writer.whole ? writer.maxComment : 0 }
}

/** The schema that a local reference means; one level, so that a cycle ends. */
export function resolved(schema: unknown, { root, depth }: Writer): unknown {
  if (!isRecord(schema) || typeof schema.$ref !== 'string') return schema
  if (depth <= 0 || !schema.$ref.startsWith('#/')) return true
  let target: unknown = root
  for (const part of schema.$ref.slice(2).split('/'))
    target = isRecord(target) ? target[part.replaceAll('~1', '/').replaceAll('~0', '~')] : undefined
  return isRecord(target) && typeof target.$ref === 'string' ? true : target
}

/** What a parameter means, where its type does not tell. */
function commentOf(property: unknown, { maxComment, whole }: Writer): string {
  if (maxComment === 0 || !isRecord(property)) return ''
  const text = whole ? whole.commentOf(property) : shortComment(property)
  return text === '' ? '' : ` /* ${text} */`
}

function shortComment(property: Readonly<Record<string, unknown>>): string {
  if (property.enum !== undefined || property.const !== undefined) return ''
  const { format, type } = property
  if (typeof format === 'string') return clipText(format, MAX_COMMENT)
  const isText = type === 'string' || type === undefined || type === 'array'
  return isText ? wordsOf(property, MAX_COMMENT) : ''
}

export function wordsOf({ description }: Readonly<Record<string, unknown>>, maxChars: number): string {
  if (typeof description !== 'string') return ''
  return clipText(description.replace(/\s+/g, ' ').replaceAll('*/', '').trim(), maxChars)
}
