import { argumentAt, type HeaderMark, headerMarks } from '@toolcrib/core/internal'
import type { Exchange } from '../http/exchange.ts'
import { isJson, type Json } from '../json-rpc.ts'

const DECIMAL = /^-?(?:0|[1-9]\d*)(?:\.\d+)?$/
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/

/**
 * Arguments that a tool's schema marks with `x-mcp-header` are repeated in headers, for proxies. A request whose
 * headers and body disagree is refused, because a proxy would have decided on different arguments.
 */
export class ParamHeaders {
  readonly #marks = new WeakMap<object, readonly HeaderMark[]>()

  /** Describes how the headers of a call differ from its arguments; undefined if they agree. */
  fault(schema: unknown, args: unknown, exchange: Exchange): string | undefined {
    if (!isJson(schema)) return undefined
    for (const { header, path } of this.#marksIn(schema)) {
      const value = argumentAt(args, path)
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

  #marksIn(schema: Json): readonly HeaderMark[] {
    const marks = this.#marks.get(schema) ?? headerMarks(schema)
    this.#marks.set(schema, marks)
    return marks
  }
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
