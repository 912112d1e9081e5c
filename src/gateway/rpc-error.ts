import { ServerError } from 'toolcrib/mcp'

const INTERNAL_ERROR = -32_603
const RESOURCE_NOT_FOUND = -32_002
const INVALID_PARAMS = -32_602

/** An error of the protocol, for the client to see. */
export class RpcError extends Error {
  override readonly name = 'RpcError'
  readonly code: number
  readonly data: unknown

  constructor(code: number, message: string, data?: unknown) {
    super(message)
    this.code = code
    this.data = data
  }

  /** The error as a client gets it: a server's own as it came, anything else as an internal error. */
  static from(error: unknown): RpcError {
    if (error instanceof RpcError) return error
    if (error instanceof ServerError) return new RpcError(error.code, error.message, error.data)
    return new RpcError(INTERNAL_ERROR, error instanceof Error ? error.message : 'the request failed')
  }
}

/** The JSON-RPC response for a request that failed. */
export function errorResponse(id: unknown, error: unknown): object {
  const { code, message, data } = RpcError.from(error)
  // Older servers have a code of their own for a missing resource; current revisions use this one.
  const known = code === RESOURCE_NOT_FOUND ? INVALID_PARAMS : code
  return { jsonrpc: '2.0', id, error: { code: known, message, ...(data === undefined ? {} : { data }) } }
}
