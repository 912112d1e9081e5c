import type { McpHttpHandler } from '@modelcontextprotocol/server'
import type { ToolRegistry } from '@toolcrib/core'
import { type Principal, TOKEN_NOT_ACCEPTED } from '../access/principal.ts'
import type { GatewayLog } from '../gateway-log.ts'
import type { Limits } from '../gateway-options.ts'
import { type Exchange, refuse, refuseRpc } from '../http/exchange.ts'
import type { Replies } from '../http/reply.ts'
import { withTraceContext } from '../http/trace-context.ts'
import { errorResponse, HEADER_MISMATCH, isJson, MISSING_CAPABILITY, RpcError } from '../json-rpc.ts'
import type { Presentation } from '../lists/presentation.ts'
import { watchListened } from '../lists/subscriptions.ts'
import type { ClientSession } from '../sessions/gateway-sessions.ts'
import type { ProfileView } from '../sessions/profile-view.ts'
import { ModernClient, type ModernClientOptions, type ModernIdentity } from './modern-client.ts'
import { ModernPost, modernResult, type PlainRequest, readPlainRequest } from './modern-request.ts'
import { ParamHeaders } from './param-headers.ts'

/** What serves modern clients over HTTP. */
export interface ModernTransportOptions extends ModernClientOptions {
  readonly registry: ToolRegistry
  readonly presentation: Presentation
  readonly replies: Replies
  readonly limits: Pick<Limits, 'maxBodyBytes' | 'maxSessions'>
  readonly log: GatewayLog
}

/**
 * Serves clients of the modern era over HTTP, for one token and profile. Requests for tools, prompts and resources are
 * handled here; the SDK's handler takes all others, and those that deviate from the protocol.
 */
export class ModernTransport {
  readonly #options: ModernTransportOptions
  readonly #client: ModernClient
  readonly #paramHeaders = new ParamHeaders()
  #handler: Promise<McpHttpHandler> | undefined
  readonly #underWay = new Set<Exchange>()
  readonly #listening = new Set<Exchange>()
  /** Responses of the SDK's handler that are being sent. */
  readonly #sending = new Set<Exchange>()
  #closing: Promise<void> | undefined
  #isRetired = false
  #isCut = false
  #whenIdle = () => {}

  private constructor(options: ModernTransportOptions, identity: ModernIdentity, opened: ClientSession) {
    this.#options = options
    this.#client = new ModernClient(options, identity, opened, (method) => void this.#notify(method))
  }

  static async open(
    options: ModernTransportOptions,
    principal: Principal,
    view: ProfileView,
  ): Promise<ModernTransport> {
    const opened = await options.sessions.open(view, `${principal.id}:${view.profile ?? ''}`, principal)
    return new ModernTransport(options, { principal, view, transport: 'http' }, opened)
  }

  /** True while no request is in flight. A listening client counts as a request. */
  get isIdle(): boolean {
    return this.#underWay.size + this.#sending.size + this.#listening.size === 0
  }

  /** True once it accepts no more requests. */
  get isEnding(): boolean {
    return this.#isRetired || this.#isCut || this.#closing !== undefined
  }

  async post(exchange: Exchange, body: unknown): Promise<void> {
    if (this.#isCut) return refuse(exchange, 401, TOKEN_NOT_ACCEPTED, { 'www-authenticate': 'Bearer' })
    this.#underWay.add(exchange)
    try {
      await this.#post(exchange, body)
    } finally {
      this.#underWay.delete(exchange)
      if (this.isIdle) this.#whenIdle()
    }
  }

  async #post(exchange: Exchange, body: unknown): Promise<void> {
    const fault = this.#headerFault(exchange, body)
    if (fault !== undefined) {
      const id = isJson(body) ? body.id : null
      return refuseRpc(exchange, 400, { id, code: HEADER_MISMATCH, message: fault })
    }
    const methods = this.#options.presentation.methods(this.#client.view, 'modern')
    const request = readPlainRequest(exchange, body, methods)
    if (request)
      await this.#answer(exchange, { ...request, params: withTraceContext(request.params, exchange) })
    else exchange.respondWith(await this.#rare(exchange, body))
  }

  /** Cancels everything in flight, and closes. */
  async cut(): Promise<void> {
    this.#isCut = true
    for (const exchange of [...this.#underWay, ...this.#sending, ...this.#listening]) exchange.cut()
    await this.close()
  }

  /**
   * Accepts no more requests, ends the streams of listening clients, and closes when the calls in flight have ended.
   */
  async retire(): Promise<void> {
    this.#isRetired = true
    for (const exchange of this.#listening) exchange.cut()
    this.#listening.clear()
    if (!this.isIdle)
      await new Promise<void>((resolve) => {
        this.#whenIdle = resolve
      })
    await this.close()
  }

  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #close(): Promise<void> {
    this.#whenIdle()
    await (await this.#handler)?.close()
    await this.#client.close()
  }

  async #answer(exchange: Exchange, plain: PlainRequest): Promise<void> {
    const { id, method } = plain
    const reply = this.#options.replies.to(exchange)
    try {
      const request = new ModernPost(plain, reply, exchange.signal)
      const result = await this.#client.answer(method, request.params, request)
      reply.finish({
        jsonrpc: '2.0',
        id,
        result: modernResult(method, result, this.#options.presentation.info),
      })
    } catch (error) {
      const status = RpcError.from(error).code === MISSING_CAPABILITY ? 400 : 200
      reply.finish(errorResponse(id, error), status)
    }
  }

  #headerFault(exchange: Exchange, body: unknown): string | undefined {
    if (!isJson(body) || body.method !== 'tools/call' || !isJson(body.params)) return undefined
    const { name, arguments: args } = body.params
    const named = typeof name === 'string' ? this.#options.sessions.names.ofShown(name) : undefined
    const schema = named && this.#options.registry.get(named.registered)?.inputSchema
    return this.#paramHeaders.fault(schema, args, exchange)
  }

  async #rare(exchange: Exchange, body: unknown): Promise<Response> {
    const handler = await this.#sdkHandler()
    const response = await handler.fetch(exchange.toRequest(), { parsedBody: body })
    if (!isJson(body) || body.method !== 'subscriptions/listen' || !response.ok)
      return this.#whileSent(response, exchange)
    // It began to listen while the transport was retiring.
    if (this.#isRetired) exchange.cut()
    else this.#listening.add(exchange)
    const { requests, events } = this.#options
    const watched = { items: requests.items, subscriptions: events.subscriptions }
    const stop = await watchListened(watched, this.#client.view, body, (uri) =>
      handler.notify.resourceUpdated(uri),
    )
    const left = this.#client.listens(isJson(body.params) ? body.params._meta : undefined)
    return whenEnded(response, () => {
      this.#listening.delete(exchange)
      left()
      stop()
    })
  }

  /** A call may be in flight as long as its stream is open. */
  #whileSent(response: Response, exchange: Exchange): Response {
    if (response.headers.get('content-type') !== 'text/event-stream' || !response.body) return response
    this.#sending.add(exchange)
    return whenEnded(response, () => {
      this.#sending.delete(exchange)
      if (this.isIdle) this.#whenIdle()
    })
  }

  #sdkHandler(): Promise<McpHttpHandler> {
    this.#handler ??= this.#createHandler()
    return this.#handler
  }

  async #createHandler(): Promise<McpHttpHandler> {
    const { createMcpHandler } = await import('@modelcontextprotocol/server')
    const { RawServer } = await import('../sdk/raw-server.ts')
    const { SdkWire } = await import('../sdk/sdk-wire.ts')
    const newServer = () =>
      new RawServer(
        this.#options.presentation.describe(this.#client.view, this.#client.surface(), 'modern'),
        'modern',
        (method, params, ctx) => this.#client.answer(method, params, new SdkWire(ctx)),
      )
    return createMcpHandler(newServer, {
      legacy: 'reject',
      maxRequestBodySize: this.#options.limits.maxBodyBytes,
      onerror: ({ message }) => this.#options.log.warn(message),
    })
  }

  /** Announces a changed list. Without a handler, no client listens. */
  async #notify(method: string): Promise<void> {
    const notify = (await this.#handler)?.notify
    if (method === 'notifications/tools/list_changed') notify?.toolsChanged()
    if (method === 'notifications/prompts/list_changed') notify?.promptsChanged()
    if (method === 'notifications/resources/list_changed') notify?.resourcesChanged()
  }
}

/** Returns the same response, and calls `ended` once its body has been sent or is no longer read. */
function whenEnded(response: Response, ended: () => void): Response {
  const passOn = new TransformStream<Uint8Array, Uint8Array>()
  response.body?.pipeTo(passOn.writable).then(ended, ended)
  return new Response(passOn.readable, { status: response.status, headers: response.headers })
}
