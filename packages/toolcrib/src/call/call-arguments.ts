import { text } from 'node:stream/consumers'
import type { JsonSchema } from '@toolcrib/core'
import { nearestName } from '@toolcrib/core/internal'
import type { Terminal } from '../terminal/terminal.ts'
import { UsageError } from '../terminal/usage-error.ts'

/** The arguments of a call as they were typed: a JSON object, and pairs that add to it. */
export interface TypedArguments {
  readonly given: Readonly<Record<string, unknown>>
  readonly pairs: readonly (readonly [key: string, value: string])[]
}

/**
 * Reads what is written as `key=value`, and the one argument that is not; `-` is stdin. Throws `UsageError` for a second
 * such argument, and for one that is not a JSON object.
 */
export async function readArguments(
  terminal: Terminal,
  args: readonly string[],
  flags: readonly string[],
): Promise<TypedArguments> {
  const isPair = (arg: string) => !/^\s*[{[]/.test(arg) && arg.indexOf('=') > 0
  const [json, second] = args.filter((arg) => !isPair(arg))
  if (second !== undefined) throw new UsageError(`"${second}" is one argument too many; ${FORM}`)
  const pairs = [...args.filter(isPair), ...flags].map(readPair)
  return { given: await readObject(terminal, json), pairs }
}

/** The arguments for a tool: a value is text where its schema expects text, and JSON elsewhere. */
export function forSchema(
  { given, pairs }: TypedArguments,
  parameters: JsonSchema | undefined,
): Record<string, unknown> {
  const properties: unknown = typeof parameters === 'object' ? parameters.properties : undefined
  const typed = pairs.map(
    ([key, value]) => [key, wantsText(properties, key) ? value : asJson(value)] as const,
  )
  return { ...given, ...Object.fromEntries(typed) }
}

/**
 * Says which arguments a tool does not have, and what they may mean: most tools ignore them silently. Undefined when it has all of
 * them, or may take others; a schema that forbids others refuses them itself.
 */
export function unknownArguments(
  args: Readonly<Record<string, unknown>>,
  parameters: JsonSchema | undefined,
): string | undefined {
  if (typeof parameters !== 'object' || MORE_ARGUMENTS.some((keyword) => keyword in parameters))
    return undefined
  const known = Object.keys(parameters.properties ?? {})
  const unknown = Object.keys(args).filter((key) => !known.includes(key))
  if (unknown.length === 0) return undefined
  const named = unknown.slice(0, MAX_NAMED).map((key) => {
    const nearest = nearestName(key, known)
    return nearest === undefined ? `"${key}"` : `"${key}" (did you mean "${nearest}"?)`
  })
  const takes = known.length === 0 ? 'it takes none' : `it takes ${known.slice(0, MAX_NAMED).join(', ')}`
  return `has no argument ${named.join(' or ')}; ${takes}${known.length > MAX_NAMED ? ', …' : ''}`
}

/** Arguments to name in one line. */
const MAX_NAMED = 8

/** Keywords of a schema that say which arguments there may be besides its properties. */
const MORE_ARGUMENTS = ['additionalProperties', 'patternProperties', 'anyOf', 'oneOf', 'allOf', 'if', '$ref']

const FORM = `write them as key=value, or as '{"key": "value"}'`

function readPair(pair: string): [key: string, value: string] {
  const at = pair.indexOf('=')
  if (at > 0) return [pair.slice(0, at), pair.slice(at + 1)]
  throw new UsageError(`--arg ${pair} must be key=value`)
}

async function readObject({ input }: Terminal, json: string | undefined): Promise<Record<string, unknown>> {
  if (json === undefined) return {}
  const source = json === '-' ? await text(input) : json
  let data: unknown
  try {
    data = JSON.parse(source)
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause)
    throw new UsageError(`the arguments are not JSON: ${reason}; ${FORM}`, { cause })
  }
  if (typeof data === 'object' && data !== null && !Array.isArray(data))
    return data as Record<string, unknown>
  throw new UsageError(`the arguments must be a JSON object; ${FORM}`)
}

function wantsText(properties: unknown, key: string): boolean {
  if (typeof properties !== 'object' || properties === null || !Object.hasOwn(properties, key)) return false
  const property: unknown = Reflect.get(properties, key)
  return typeof property === 'object' && property !== null && 'type' in property && property.type === 'string'
}

function asJson(value: string): unknown {
  try {
    return JSON.parse(value)
  } catch {
    return value
  }
}
