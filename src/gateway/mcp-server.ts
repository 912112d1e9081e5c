import {
  type JSONRPCRequest,
  type Notification,
  ProtocolError,
  type Result,
  Server,
  type ServerContext,
  type StandardSchemaV1,
} from '@modelcontextprotocol/server'
import { ServerError } from 'toolcrib/mcp'
import type { Era, Json } from './client-line.ts'
import { RpcError } from './rpc-error.ts'

/** Answers one request of a client. What it returns is the result, as it is. */
export type Handle = (method: string, params: Json, ctx: ServerContext, server: RawServer) => Promise<Json>

const INTERNAL_ERROR = -32_603

/** Requests of each capability. */
const METHODS: Readonly<Record<string, Readonly<Record<Era, readonly string[]>>>> = {
  tools: both('tools/list', 'tools/call'),
  prompts: both('prompts/list', 'prompts/get'),
  resources: {
    modern: ['resources/list', 'resources/templates/list', 'resources/read'],
    legacy: [
      'resources/list',
      'resources/templates/list',
      'resources/read',
      'resources/subscribe',
      'resources/unsubscribe',
    ],
  },
  completions: both('completion/complete'),
  logging: { modern: [], legacy: ['logging/setLevel'] },
}

function both(...methods: string[]): Readonly<Record<Era, readonly string[]>> {
  return { modern: methods, legacy: methods }
}

export interface ServerDescription {
  readonly era: Era
  readonly info: { readonly name: string; readonly version: string }
  readonly capabilities: Json
  readonly instructions: string | undefined
}

/** The SDK's server, with requests and results passed on as they are: nothing is parsed again, nothing is dropped. */
export class RawServer extends Server {
  constructor({ era, info, capabilities, instructions }: ServerDescription, handle: Handle) {
    super(info, { capabilities, ...(instructions ? { instructions } : {}) })
    this.removeRequestHandler('logging/setLevel')
    for (const capability of Object.keys(capabilities))
      for (const method of METHODS[capability]?.[era] ?? [])
        this.setRequestHandler(method, { params: ANYTHING }, (params, ctx) =>
          handle(method, params, ctx, this).catch((error) => {
            throw asProtocolError(error)
          }),
        )
  }

  /** Asks the client for something; over the stream of the request that it is about, if there is one. */
  async ask(method: string, params: Json | undefined, options: AskOptions): Promise<Json> {
    const { ctx, timeoutMs, signal } = options
    const request = { method, ...(params === undefined ? {} : { params: { ...params } }) }
    const limits = { timeout: timeoutMs, signal }
    return ctx ? ctx.mcpReq.send(request, ANYTHING, limits) : this.request(request, ANYTHING, limits)
  }

  /** Sends a notification; one that cannot be sent is dropped. */
  async tell(notification: Notification): Promise<void> {
    await this.notification(notification).catch(() => {})
  }

  /** The SDK would parse results here and drop what it does not know. */
  protected override _wrapHandler(_method: string, handler: Handler): Handler {
    return handler
  }
}

export interface AskOptions {
  readonly ctx?: ServerContext | undefined
  readonly timeoutMs: number
  readonly signal: AbortSignal
}

type Handler = (request: JSONRPCRequest, ctx: ServerContext) => Promise<Result>

/** A schema that takes everything and changes nothing. */
const ANYTHING: StandardSchemaV1<Json, Json> = {
  '~standard': { version: 1, vendor: 'toolcrib', validate: (value) => ({ value: isJsonOrEmpty(value) }) },
}

function isJsonOrEmpty(value: unknown): Json {
  return typeof value === 'object' && value !== null ? (value as Json) : {}
}

function asProtocolError(error: unknown): Error {
  if (error instanceof RpcError || error instanceof ServerError)
    return new ProtocolError(error.code, error.message, error.data)
  if (error instanceof ProtocolError) return error
  return new ProtocolError(INTERNAL_ERROR, error instanceof Error ? error.message : 'the request failed')
}
