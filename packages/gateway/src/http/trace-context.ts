import { isJson, type Json } from '../json-rpc.ts'
import type { Exchange } from './exchange.ts'

const TRACEPARENT = /^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/
const MAX_CHARS = 512
const PRINTABLE = /^[\x20-\x7e]*$/

/**
 * The parameters of a request, with the W3C trace context of its headers in `_meta`, where MCP passes it on. A context
 * that the client put there itself stays.
 */
export function withTraceContext(params: Json, exchange: Exchange): Json {
  const traceparent = exchange.header('traceparent')
  if (traceparent === undefined || !TRACEPARENT.test(traceparent)) return params
  const meta = isJson(params._meta) ? params._meta : {}
  if (meta.traceparent !== undefined) return params
  const tracestate = exchange.header('tracestate')
  const isUsable = tracestate !== undefined && tracestate.length <= MAX_CHARS && PRINTABLE.test(tracestate)
  return { ...params, _meta: { ...meta, traceparent, ...(isUsable ? { tracestate } : {}) } }
}
