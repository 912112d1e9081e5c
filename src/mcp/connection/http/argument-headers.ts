import { isRecord } from '../../../json.ts'
import type { JsonSchema } from '../../../tool.ts'

/**
 * The headers in which a modern server requires arguments to be repeated: one per property that its schema marks with
 * `x-mcp-header`. Undefined when there are none, or when a header name is not a valid token or is used twice.
 */
export function argumentHeaders(
  inputSchema: JsonSchema | undefined,
  args: Readonly<Record<string, unknown>>,
): Record<string, string> | undefined {
  const marked = markedProperties(inputSchema)
  const names = marked.map(({ header }) => header.toLowerCase())
  if (new Set(names).size < names.length || marked.some(({ header }) => !TOKEN.test(header))) return undefined
  const headers = marked.flatMap(({ header, path }) => {
    const text = toText(valueAt(args, path))
    return text === undefined ? [] : [[`Mcp-Param-${header}`, encode(text)]]
  })
  return headers.length > 0 ? Object.fromEntries(headers) : undefined
}

const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/
const MAX_DEPTH = 16

interface Marked {
  readonly header: string
  readonly path: readonly string[]
}

function markedProperties(schema: unknown, path: readonly string[] = []): Marked[] {
  if (!isRecord(schema) || path.length > MAX_DEPTH) return []
  const header = schema['x-mcp-header']
  const own = typeof header === 'string' && path.length > 0 ? [{ header, path }] : []
  const { properties } = schema
  if (!isRecord(properties)) return own
  return [
    ...own,
    ...Object.entries(properties).flatMap(([name, property]) => markedProperties(property, [...path, name])),
  ]
}

function valueAt(args: unknown, path: readonly string[]): unknown {
  let value = args
  for (const name of path) value = isRecord(value) && Object.hasOwn(value, name) ? value[name] : undefined
  return value
}

/** Only strings, booleans and safe numbers have a header form. */
function toText(value: unknown): string | undefined {
  if (typeof value === 'string') return value
  if (typeof value === 'boolean') return String(value)
  if (typeof value !== 'number' || !Number.isFinite(value)) return undefined
  return Number.isInteger(value) && !Number.isSafeInteger(value) ? undefined : String(value)
}

const PLAIN = /^[\t\x20-\x7e]+$/
const ENCODED = /^=\?base64\?.*\?=$/

/** Encodes text that a header cannot carry as Base64, in the form that the protocol defines. */
function encode(text: string): string {
  const isPlain = PLAIN.test(text) && text.trim() === text && !ENCODED.test(text)
  return isPlain ? text : `=?base64?${Buffer.from(text, 'utf8').toString('base64')}?=`
}
