import type { Exchange } from './exchange.ts'
import { isJson, type Json } from './json-rpc.ts'

const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/
const DECIMAL = /^-?(?:0|[1-9]\d*)(?:\.\d+)?$/
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/
const MAX_DEPTH = 16

interface Marked {
  readonly header: string
  readonly path: readonly string[]
}

/**
 * Arguments that a tool's schema marks with `x-mcp-header` are repeated in headers, for proxies. A request whose
 * headers and body disagree is refused, because a proxy would have decided on different arguments.
 */
export class ParamHeaders {
  readonly #marked = new WeakMap<object, readonly Marked[]>()

  /** Describes how the headers of a call differ from its arguments; undefined if they agree. */
  fault(schema: unknown, args: unknown, exchange: Exchange): string | undefined {
    if (!isJson(schema)) return undefined
    for (const { header, path } of this.#markedIn(schema)) {
      const value = valueAt(args, path)
      const text = toText(value)
      if (text === undefined) continue
      const name = `Mcp-Param-${header}`
      const given = exchange.header(name.toLowerCase())
      if (given === undefined) return `the body has ${path.join('.')}, but the ${name} header is absent`
      const decoded = decode(given.trim())
      if (decoded === undefined) return `the ${name} header has invalid Base64`
      const isSame =
        typeof value === 'number' && DECIMAL.test(decoded) ? Number(decoded) === value : decoded === text
      if (!isSame) return `the ${name} header and ${path.join('.')} of the body differ`
    }
    return undefined
  }

  #markedIn(schema: Json): readonly Marked[] {
    const known = this.#marked.get(schema)
    if (known) return known
    const marked = markedProperties(schema)
    const names = marked.map(({ header }) => header.toLowerCase())
    // Clients ignore the marks of a schema that uses a name twice, or an invalid header name.
    const isValid = new Set(names).size === names.length && marked.every(({ header }) => TOKEN.test(header))
    const kept = isValid ? marked : []
    this.#marked.set(schema, kept)
    return kept
  }
}

function markedProperties(schema: unknown, path: readonly string[] = []): readonly Marked[] {
  if (!isJson(schema) || path.length > MAX_DEPTH) return []
  const header = schema['x-mcp-header']
  const own = typeof header === 'string' && path.length > 0 ? [{ header, path }] : []
  const properties = isJson(schema.properties) ? Object.entries(schema.properties) : []
  return [...own, ...properties.flatMap(([name, property]) => markedProperties(property, [...path, name]))]
}

function valueAt(args: unknown, path: readonly string[]): unknown {
  let value = args
  for (const name of path) value = isJson(value) && Object.hasOwn(value, name) ? value[name] : undefined
  return value
}

function toText(value: unknown): string | undefined {
  if (typeof value === 'string' || typeof value === 'boolean') return String(value)
  return typeof value === 'number' && Number.isFinite(value) ? String(value) : undefined
}

/** The text of a header; undefined if it claims to be Base64 and is not. */
export function decode(header: string): string | undefined {
  if (!header.startsWith('=?base64?') || !header.endsWith('?=')) return header
  const encoded = header.slice('=?base64?'.length, -2)
  if (!BASE64.test(encoded)) return undefined
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.from(encoded, 'base64'))
  } catch {
    return undefined
  }
}
