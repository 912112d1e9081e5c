import { isLegacyRequest } from '@modelcontextprotocol/server'
import type { Access, Principal } from './access.ts'
import type { GatewayCore } from './core.ts'
import { refusal, rpcResponse } from './http-answers.ts'
import type { ClientIdentity } from './legacy-client.ts'
import { LegacyDoor } from './legacy-door.ts'
import { ModernDoor } from './modern-door.ts'
import { readBody } from './request-body.ts'
import type { View } from './view.ts'

const MCP_PATH = /^\/mcp(?:\/(?<profile>[A-Za-z0-9][\w.-]{0,63}))?\/?$/
const RETRY = { 'retry-after': '1' }

const BODY_FAULTS = {
  'too-large': () => rpcResponse(413, -32_000, 'the request is too large'),
  'too-slow': () => rpcResponse(408, -32_000, 'the request took too long to arrive'),
  invalid: () => rpcResponse(400, -32_700, 'Parse error'),
}

/** The gateway over HTTP: who may come in, and through which door. */
export class HttpGateway {
  readonly #core: GatewayCore
  readonly #access: Access
  readonly #legacy: LegacyDoor
  readonly #modern = new Map<string, Promise<ModernDoor>>()
  #arriving = 0
  #isDraining = false

  constructor(core: GatewayCore, access: Access) {
    this.#core = core
    this.#access = access
    this.#legacy = new LegacyDoor(core)
  }

  get sessions(): number {
    return this.#legacy.size
  }

  async fetch(request: Request): Promise<Response> {
    const response = await this.#route(request).catch((error: unknown) => {
      this.#core.warn(error instanceof Error ? error.message : 'a request failed')
      return rpcResponse(500, -32_603, 'Internal error')
    })
    this.#core.metrics.answered(routeOf(request), response.status)
    return response
  }

  /** Takes no more requests. */
  drain(): void {
    this.#isDraining = true
  }

  async close(): Promise<void> {
    await Promise.all([...this.#modern.values()].map(async (door) => (await door).close()))
    await this.#legacy.close()
  }

  // Every check comes before whatever it protects: the host and origin before the token, the token before the rest.
  async #route(request: Request): Promise<Response> {
    const refused = this.#access.checkAddress(request)
    if (refused) return refused
    const { pathname, searchParams } = new URL(request.url)
    if (pathname === '/healthz') return Response.json({ status: 'ok' })
    if (pathname === '/readyz') return this.#readiness()
    // With static tokens there is no authorization server, and clients that find one ignore their token.
    if (pathname.startsWith('/.well-known/')) return refusal(404, 'there is nothing here')
    const principal = await this.#access.check(request)
    if (principal instanceof Response) return principal
    if (pathname === '/metrics') return this.#metrics(principal)
    const path = MCP_PATH.exec(pathname)
    if (!path) return refusal(404, 'there is nothing here')
    const view = this.#core.view(path.groups?.profile, principal)
    if (!view) return refusal(404, 'there is no such profile')
    const activation = searchParams.get('activate') === 'list' ? 'list' : 'doors'
    return this.#serve(request, { principal, view, activation, transport: 'http' })
  }

  /** Unready only when every server has failed: a single bad one does not take the gateway out of service. */
  #readiness(): Response {
    if (this.#isDraining) return Response.json({ status: 'stopping' }, { status: 503 })
    const states = this.#core.options.servers.status().map(({ state }) => state)
    const isDown = states.length > 0 && states.every((state) => state === 'failed')
    return Response.json({ status: isDown ? 'unavailable' : 'ok' }, { status: isDown ? 503 : 200 })
  }

  /** Metrics tell of every profile, so a token that is bound to one does not see them. */
  #metrics(principal: Principal): Response {
    if (principal.profile !== undefined) return refusal(403, 'this token is bound to a profile')
    const headers = { 'content-type': 'text/plain; version=0.0.4; charset=utf-8' }
    return new Response(this.#core.metrics.text(), { headers })
  }

  async #serve(request: Request, client: ClientIdentity): Promise<Response> {
    const { limits, load, schedule } = this.#core
    if (this.#isDraining) return rpcResponse(503, -32_000, 'the gateway is stopping', RETRY)
    if (request.method === 'GET' || request.method === 'DELETE') return this.#legacy.fetch(request, client)
    if (request.method !== 'POST') return refusal(405, 'use POST', { allow: 'GET, POST, DELETE' })
    if (limits.maxRequests > 0 && load.total + this.#arriving >= limits.maxRequests)
      return rpcResponse(503, -32_000, 'the gateway is busy', RETRY)
    if (load.isFull(client.principal.id))
      return rpcResponse(429, -32_000, 'too many calls are under way; wait for some of them to end', RETRY)
    this.#arriving++
    const body = await readBody(request, limits, schedule).finally(() => this.#arriving--)
    if (body.kind !== 'json') return BODY_FAULTS[body.kind]()
    if (await isLegacyRequest(request, body.value)) return this.#legacy.fetch(request, client, body.value)
    const door = await this.#modernDoor(client.principal, client.view)
    return door.fetch(request, body.value)
  }

  #modernDoor(principal: Principal, view: View): Promise<ModernDoor> {
    const key = JSON.stringify([principal.id, view.profile ?? null])
    const known = this.#modern.get(key)
    if (known) return known
    const door = ModernDoor.open(this.#core, principal, view)
    this.#modern.set(key, door)
    door.catch(() => this.#modern.delete(key))
    return door
  }
}

/** The route as metrics label it; unknown paths share one label, so that strangers cannot add any. */
function routeOf({ url }: Request): string {
  const { pathname } = new URL(url)
  if (MCP_PATH.test(pathname)) return '/mcp'
  return ['/healthz', '/readyz', '/metrics'].includes(pathname) ? pathname : 'other'
}
