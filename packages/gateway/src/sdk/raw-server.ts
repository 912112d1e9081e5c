import {
  type JSONRPCRequest,
  ProtocolError,
  type Result,
  Server,
  type ServerContext,
  type StandardSchemaV1,
} from '@modelcontextprotocol/server'
import type { AskLimits, StandingRequestWire } from '../asks/client-line.ts'
import { type Json, RpcError } from '../json-rpc.ts'
import type { GatewayDescription } from '../lists/presentation.ts'
import { type Era, methodsOf } from '../protocol.ts'

/** Answers one request of a client. The return value is the result, unchanged. */
export type Handle = (method: string, params: Json, ctx: ServerContext) => Promise<Json>

/**
 * The SDK's server, with requests and results passed on unchanged: nothing is parsed again or dropped. It serves
 * clients over stdio, and the rare requests of modern clients over HTTP. Between their requests, it reaches them itself.
 */
export class RawServer extends Server implements StandingRequestWire {
  readonly signal = new AbortController().signal
  readonly isOpen = true
  readonly meta = {}

  constructor({ info, capabilities, instructions }: GatewayDescription, era: Era, handle: Handle) {
    super(info, { capabilities, ...(instructions ? { instructions } : {}) })
    this.removeRequestHandler('logging/setLevel')
    for (const method of methodsOf(capabilities, era))
      this.setRequestHandler(method, { params: ANYTHING }, (params, ctx) =>
        handle(method, params, ctx).catch((error) => {
          if (error instanceof ProtocolError) throw error
          const { code, message, data } = RpcError.from(error)
          throw new ProtocolError(code, message, data)
        }),
      )
  }

  /** Asks the client between its requests. */
  ask(method: string, params: Json | undefined, { timeoutMs, signal }: AskLimits): Promise<Json> {
    const request = { method, ...(params === undefined ? {} : { params: { ...params } }) }
    return this.request(request, ANYTHING, { timeout: timeoutMs, signal })
  }

  /** Sends a notification, or drops it if it cannot be sent. */
  notify(method: string, params: Json): void {
    this.notification({ method, params: { ...params } }).catch(() => {})
  }

  async flushed(): Promise<void> {}

  /** The SDK would parse results here and drop unknown fields. */
  protected override _wrapHandler(_method: string, handler: Handler): Handler {
    return handler
  }
}

type Handler = (request: JSONRPCRequest, ctx: ServerContext) => Promise<Result>

/** A schema that accepts everything and changes nothing. */
export const ANYTHING: StandardSchemaV1<Json, Json> = {
  '~standard': { version: 1, vendor: 'toolcrib', validate: (value) => ({ value: isJsonOrEmpty(value) }) },
}

function isJsonOrEmpty(value: unknown): Json {
  return typeof value === 'object' && value !== null ? (value as Json) : {}
}
