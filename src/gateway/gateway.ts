import { isLegacyRequest } from '@modelcontextprotocol/server'
import { Access, type Principal } from './access.ts'
import { GatewayCore } from './core.ts'
import { checkGatewayOptions, type GatewayOptions } from './gateway-options.ts'
import { refusal, rpcResponse } from './http-answers.ts'
import { LegacyDoor } from './legacy-door.ts'
import { ModernDoor } from './modern-door.ts'
import { RequestGuard, readBody } from './request-guard.ts'
import { StdioDoor, type StdioOptions } from './stdio-door.ts'
import type { View } from './view.ts'

/** One endpoint before all servers of a registry. */
export interface Gateway {
  /**
   * Answers an HTTP request: `/mcp`, `/mcp/<profile>`, `/healthz`, `/readyz` and `/metrics`. Never rejects. All but
   * `/healthz` and `/readyz` need a token where there are tokens. The Host header is checked on every route; whoever
   * builds requests from sockets must pass it on.
   */
  fetch(request: Request): Promise<Response>
  /**
   * Serves one client over this process's stdin and stdout, in whichever era it speaks. `closed` resolves when the client
   * goes away; the caller ends the process then. Whoever starts the process is trusted: no token is asked for.
   */
  serveStdio(options?: StdioOptions): StdioDoor
  /** How the gateway is doing. */
  status(): GatewayStatus
  /**
   * Takes no more requests, waits for calls that are under way, and ends every session. The registry and the servers stay
   * open.
   */
  close(): Promise<void>
}

export interface GatewayStatus {
  readonly state: 'serving' | 'draining' | 'closed'
  /** Sessions of older clients. */
  readonly sessions: number
  /** Requests under way at servers. */
  readonly callsUnderWay: number
  /** Calls that wait for an answer of their client. */
  readonly callsParked: number
}

/** Creates a gateway. Throws `config-invalid` for an unknown option or a value out of range. */
export function createGateway(options: GatewayOptions): Gateway {
  checkGatewayOptions(options)
  const core = new GatewayCore(options)
  const gateway = new HttpGateway(core)
  return {
    fetch: (request) => gateway.fetch(request),
    serveStdio: (given = {}) => new StdioDoor(core, given),
    status: () => gateway.status(),
    close: () => gateway.close(),
  }
}

const MCP_PATH = /^\/mcp(?:\/(?<profile>[A-Za-z0-9][\w.-]{0,63}))?\/?$/

const BODY_FAULTS = {
  'too-large': () => rpcResponse(413, -32_000, 'the request is too large'),
  'too-slow': () => rpcResponse(408, -32_000, 'the request took too long to arrive'),
  invalid: () => rpcResponse(400, -32_700, 'Parse error'),
}

class HttpGateway {
  readonly #core: GatewayCore
  readonly #guard: RequestGuard
  readonly #access: Access
  readonly #legacy: LegacyDoor
  readonly #modern = new Map<string, Promise<ModernDoor>>()
  #state: GatewayStatus['state'] = 'serving'

  constructor(core: GatewayCore) {
    this.#core = core
    this.#guard = new RequestGuard(core.options)
    this.#access = new Access(core.options.tokens ?? [])
    this.#legacy = new LegacyDoor(core)
  }

  async fetch(request: Request): Promise<Response> {
    try {
      return await this.#route(request)
    } catch (error) {
      this.#core.warn(error instanceof Error ? error.message : 'a request failed')
      return rpcResponse(500, -32_603, 'Internal error')
    }
  }

  status(): GatewayStatus {
    return {
      state: this.#state,
      sessions: this.#legacy.size,
      callsUnderWay: this.#core.traffic.size,
      callsParked: this.#core.modernCalls.parked,
    }
  }

  async close(): Promise<void> {
    if (this.#state !== 'serving') return
    this.#state = 'draining'
    await Promise.all([...this.#modern.values()].map(async (door) => (await door).close()))
    await this.#legacy.close()
    await this.#core.close()
    this.#state = 'closed'
  }

  async #route(request: Request): Promise<Response> {
    const refused = this.#guard.refusal(request)
    if (refused !== undefined) return refusal(403, refused)
    const { pathname } = new URL(request.url)
    if (pathname === '/healthz') return Response.json({ status: 'ok' })
    if (pathname === '/readyz') return this.#ready()
    const principal = this.#access.identify(request.headers.get('authorization'))
    if (!principal) return refusal(401, 'a token is needed', { 'www-authenticate': 'Bearer' })
    const path = MCP_PATH.exec(pathname)
    if (!path) return refusal(404, 'there is nothing here')
    const view = this.#core.view(path.groups?.profile, principal)
    if (!view) return refusal(404, 'there is no such profile')
    return this.#serve(request, principal, view)
  }

  #ready(): Response {
    const isReady = this.#state === 'serving'
    return Response.json({ status: isReady ? 'ok' : 'stopping' }, { status: isReady ? 200 : 503 })
  }

  async #serve(request: Request, principal: Principal, view: View): Promise<Response> {
    const { limits, schedule } = this.#core
    const client = { principal, view, activation: 'doors' } as const
    if (request.method === 'GET' || request.method === 'DELETE') return this.#legacy.fetch(request, client)
    if (request.method !== 'POST') return refusal(405, 'use POST', { allow: 'GET, POST, DELETE' })
    const body = await readBody(request, limits, schedule)
    if (body.kind !== 'json') return BODY_FAULTS[body.kind]()
    const isLegacy = await isLegacyRequest(request, body.value)
    if (isLegacy) return this.#legacy.fetch(request, client, body.value)
    const door = await this.#modernDoor(principal, view)
    return door.fetch(request, body.value)
  }

  #modernDoor(principal: Principal, view: View): Promise<ModernDoor> {
    const key = JSON.stringify([principal.id, view.profile ?? null])
    const known = this.#modern.get(key)
    if (known) return known
    const door = ModernDoor.open(this.#core, principal, view)
    this.#modern.set(key, door)
    return door
  }
}
