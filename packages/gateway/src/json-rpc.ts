import { ServerError } from '@toolcrib/mcp'

export type Json = Readonly<Record<string, unknown>>

export const PARSE_ERROR = -32_700
export const INVALID_REQUEST = -32_600
export const METHOD_NOT_FOUND = -32_601
export const INVALID_PARAMS = -32_602
export const INTERNAL_ERROR = -32_603
/** For failures without a specific code: the request was not delivered, or was refused. */
export const REFUSED = -32_000
/** The client lacks a capability that the request needs. */
export const MISSING_CAPABILITY = -32_021
/** The headers of a request and its body disagree. */
export const HEADER_MISMATCH = -32_020
/** Returned by older servers for a missing resource; current revisions use `INVALID_PARAMS`. */
const RESOURCE_NOT_FOUND = -32_002

/** A protocol error for the client. */
export class RpcError extends Error {
  override readonly name = 'RpcError'
  readonly code: number
  readonly data: unknown

  constructor(code: number, message: string, data?: unknown) {
    super(message)
    this.code = code
    this.data = data
  }

  /** The error for the client: a server's own error unchanged, anything else as an internal error. */
  static from(error: unknown): RpcError {
    if (error instanceof RpcError) return error
    if (error instanceof ServerError) return new RpcError(error.code, error.message, error.data)
    return new RpcError(INTERNAL_ERROR, error instanceof Error ? error.message : 'the request failed')
  }
}

const RETRY_MS = 1_000

/** The error for a call that is refused, with a hint when to retry. */
export function overloaded(message: string, retryAfterMs = RETRY_MS): RpcError {
  return new RpcError(REFUSED, message, { retryAfterMs })
}

/** The response for a request that failed. */
export function errorResponse(id: unknown, error: unknown): object {
  const { code, message, data } = RpcError.from(error)
  const known = code === RESOURCE_NOT_FOUND ? INVALID_PARAMS : code
  return { jsonrpc: '2.0', id, error: { code: known, message, ...(data === undefined ? {} : { data }) } }
}

export function isJson(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Whether a value can be the id of a request. JSON allows numbers that cannot be returned, such as `1e400`. */
export function isRequestId(id: unknown): id is string | number {
  return typeof id === 'string' || (typeof id === 'number' && Number.isFinite(id))
}

/** Longer than any name or URI in use. Some are kept after their request: in counts, events and subscriptions. */
export const MAX_CHARACTERS = { name: 600, uri: 8_192 } as const

/** A name or URI from the parameters of a request. Throws an `RpcError` if it is missing or too long. */
export function textParam(method: string, params: Json, name: keyof typeof MAX_CHARACTERS): string {
  const value = params[name]
  if (typeof value !== 'string') throw new RpcError(INVALID_PARAMS, `${method} needs ${name}, a string`)
  if (value.length <= MAX_CHARACTERS[name]) return value
  throw new RpcError(
    INVALID_PARAMS,
    `the ${name} of ${method} has ${value.length} characters; ${MAX_CHARACTERS[name]} are the most`,
  )
}
