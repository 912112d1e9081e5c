import { isJson, type Json } from '../json-rpc.ts'

type Check = (value: unknown) => boolean

const isText: Check = (value) => typeof value === 'string'
const isFlag: Check = (value) => typeof value === 'boolean'
const isNumber: Check = (value) => typeof value === 'number'
const listOf =
  (check: Check): Check =>
  (value) =>
    Array.isArray(value) && value.every(check)
const oneOf =
  (...words: readonly unknown[]): Check =>
  (value) =>
    words.includes(value)
/** An object whose fields fit, as far as it has them; that one must be there. */
const withFields =
  (fields: Readonly<Record<string, Check>>, needed?: string): Check =>
  (value) =>
    isJson(value) &&
    (needed === undefined || value[needed] !== undefined) &&
    Object.entries(fields).every(([key, check]) => value[key] === undefined || check(value[key]))

const isArgument = withFields({ name: isText, title: isText, description: isText, required: isFlag }, 'name')
const isIcon = withFields(
  { src: isText, mimeType: isText, sizes: listOf(isText), theme: oneOf('light', 'dark') },
  'src',
)

/** The fields of tools, prompts, resources and templates besides what identifies them. */
const FIELDS: Readonly<Record<string, Check>> = {
  title: isText,
  description: isText,
  mimeType: isText,
  size: isNumber,
  icons: listOf(isIcon),
  arguments: listOf(isArgument),
  execution: withFields({ taskSupport: oneOf('required', 'optional', 'forbidden') }),
  annotations: isJson,
  outputSchema: withFields({ $schema: isText }),
  _meta: isJson,
}

const ANNOTATIONS: Readonly<Record<string, Check>> = {
  title: isText,
  readOnlyHint: isFlag,
  destructiveHint: isFlag,
  idempotentHint: isFlag,
  openWorldHint: isFlag,
  audience: listOf(oneOf('user', 'assistant')),
  priority: (value) => typeof value === 'number' && value >= 0 && value <= 1,
  lastModified: isTime,
}

/**
 * What a server lists, without fields that the protocol does not permit: clients refuse a list as a whole, with the
 * tools of all other servers, for one such field. Unknown fields stay, except in annotations: no approval covers them.
 * Returns the same object if all is well.
 */
export function wellFormed(item: Json): Json {
  const { annotations } = item
  const known = isJson(annotations) ? fitting(annotations, ANNOTATIONS, () => false) : annotations
  const checked = known === annotations ? item : { ...item, annotations: known }
  const shown = fitting(checked, FIELDS, () => true)
  const address = shown.uri ?? shown.uriTemplate
  return address === undefined || isText(shown.name) ? shown : { ...shown, name: address }
}

function fitting(item: Json, fields: Readonly<Record<string, Check>>, other: Check): Json {
  const entries = Object.entries(item)
  const kept = entries.filter(([key, value]) => (Object.hasOwn(fields, key) ? fields[key] : other)?.(value))
  return kept.length === entries.length ? item : Object.fromEntries(kept)
}

/** A date and time of RFC 3339. */
function isTime(value: unknown): boolean {
  if (typeof value !== 'string' || !TIME.test(value)) return false
  const day = new Date(`${value.slice(0, 10)}T00:00:00Z`)
  return !Number.isNaN(day.getTime()) && day.toISOString().startsWith(value.slice(0, 10))
}

const TIME =
  /^\d{4}-\d\d-\d\dT(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d+)?(?:Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/

/**
 * A schema as older clients accept it: its properties are objects, and `required` has only names. The meaning is the
 * same.
 */
export function withPlainProperties(schema: Json): Json {
  const { properties, required, ...rest } = schema
  const isPlain = properties === undefined || (isJson(properties) && Object.values(properties).every(isJson))
  if (isPlain && (required === undefined || listOf(isText)(required))) return schema
  const plain = Object.entries(isJson(properties) ? properties : {}).map(([name, property]) => [
    name,
    isJson(property) ? property : property === false ? { not: {} } : {},
  ])
  return {
    ...rest,
    ...(isJson(properties) ? { properties: Object.fromEntries(plain) } : {}),
    ...(Array.isArray(required) ? { required: required.filter(isText) } : {}),
  }
}
