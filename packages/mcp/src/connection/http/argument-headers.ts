import type { JsonSchema } from '@toolcrib/core'
import { argumentAt, headerMarks } from '@toolcrib/core/internal'

/**
 * The headers in which a modern server requires arguments to be repeated: one per property that its schema marks with
 * `x-mcp-header`. Undefined when there are none, or when a header name is not a valid token or is used twice.
 */
export function argumentHeaders(
  inputSchema: JsonSchema | undefined,
  args: Readonly<Record<string, unknown>>,
): Record<string, string> | undefined {
  const headers = headerMarks(inputSchema).flatMap(({ header, path }) => {
    const text = toText(argumentAt(args, path))
    return text === undefined ? [] : [[`Mcp-Param-${header}`, encode(text)]]
  })
  return headers.length > 0 ? Object.fromEntries(headers) : undefined
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
