import type { Access } from './access.ts'
import { type Exchange, refuse, refuseRpc } from './exchange.ts'
import type { GatewayServices } from './gateway-services.ts'
import type { ClientIdentity } from './legacy-client.ts'
import { LegacyDoor } from './legacy-door.ts'
import { LEGACY_VERSIONS } from './legacy-session.ts'
import { ModernDoor } from './modern-door.ts'
import { MODERN_VERSION } from './modern-request.ts'
import { type Principal, Refusal } from './principal.ts'
import { isJson, VERSION_KEY } from './upstream.ts'
import type { View } from './view.ts'

const MCP_PATH = /^\/mcp(?:\/(?<profile>[A-Za-z0-9][\w.-]{0,63}))?\/?$/
const RETRY = { 'retry-after': '1' }
const STATES = ['/healthz', '/readyz']
const REASONS: Readonly<Record<string, string>> = {
  stopping: 'the gateway is stopping',
  unavailable: 'every server has failed',
  degraded: 'the store cannot be used',
}
const JSON_TYPE = { 'content-type': 'application/json' }

const BODY_FAULTS = {
  'too-large': { status: 413, code: -32_000, message: 'the request is too large' },
  'too-slow': { status: 408, code: -32_000, message: 'the request took too long to arrive' },
  invalid: { status: 400, code: -32_700, message: 'Parse error' },
}

/** The gateway over HTTP: who may come in, and through which door. */
export class HttpGateway {
  readonly #services: GatewayServices
  readonly #access: Access
  readonly #legacy: LegacyDoor
  readonly #modern = new Map<string, Promise<ModernDoor>>()
  #arriving = 0
  #isDraining = false

  constructor(services: GatewayServices, access: Access) {
    this.#services = services
    this.#access = access
    this.#legacy = new LegacyDoor(services)
  }

  get sessions(): number {
    return this.#legacy.size
  }

  /** Whether the gateway has a route for this path. */
  serves(path: string): boolean {
    return routeOf(path) !== 'other' || path.startsWith('/.well-known/')
  }

  /** Answers a request. Never rejects. */
  async handle(exchange: Exchange): Promise<void> {
    try {
      await this.#route(exchange)
    } catch (error) {
      this.#services.warn(error instanceof Error ? error.message : 'a request failed')
      refuseRpc(exchange, 500, { code: -32_603, message: 'Internal error' })
    }
  }

  /** Takes no more requests. */
  drain(): void {
    this.#isDraining = true
  }

  /** Ends what is open for tokens that are no longer accepted, and for views that are no longer current. */
  async review(): Promise<void> {
    const ended = [...this.#modern].map(async ([key, opening]) => {
      const door = await opening.catch(() => undefined)
      const isCurrent = door && this.#services.sessions.isCurrent(door.identity.view)
      if (!door || (isCurrent && this.#access.stillAccepts(door.identity.principal))) return
      if (this.#modern.get(key) === opening) this.#modern.delete(key)
      await door.cut()
    })
    await Promise.all([...ended, this.#legacy.review(this.#access)])
  }

  async close(): Promise<void> {
    await Promise.all([...this.#modern.values()].map(async (door) => (await door).close()))
    await this.#legacy.close()
  }

  // Every check comes before whatever it protects: the host and origin before the token, the token before the rest.
  async #route(exchange: Exchange): Promise<void> {
    const { path } = exchange
    const foreign = this.#access.refuseAddress({
      host: exchange.header('host'),
      origin: exchange.header('origin'),
    })
    if (foreign !== undefined) return refuse(exchange, 403, foreign)
    if (STATES.includes(path)) return this.#state(exchange)
    // With static tokens there is no authorization server, and clients that find one ignore their token.
    if (path.startsWith('/.well-known/')) return this.#metadata(exchange)
    const match = MCP_PATH.exec(path)
    const profile = match?.groups?.profile
    const principal = await this.#access.identify(exchange.header('authorization'), profile)
    if (principal instanceof Refusal)
      return refuse(exchange, principal.status, principal.error, principal.headers)
    if (path === '/metrics') return this.#metrics(exchange, principal)
    if (!match) return refuse(exchange, 404, 'there is nothing here')
    const view = this.#services.sessions.view(profile, principal)
    if (!view) return refuse(exchange, 404, 'there is no such profile')
    const wanted = exchange.query('activate') ?? view.activation
    const activation = wanted === 'list' ? 'list' : 'doors'
    return this.#serve(exchange, { principal, view, activation, transport: 'http' })
  }

  /**
   * Unready only when every server has failed: a single bad one does not take the gateway out of service, nor does a
   * store that fails.
   */
  #state(exchange: Exchange): void {
    const isReadiness = exchange.path === '/readyz'
    const states = isReadiness ? this.#services.options.servers.status().map(({ state }) => state) : []
    const isDown = states.length > 0 && states.every((state) => state === 'failed')
    const isStopping = isReadiness && this.#isDraining
    const isDegraded = isReadiness && this.#services.store?.health().state === 'degraded'
    const status = isStopping ? 'stopping' : isDown ? 'unavailable' : isDegraded ? 'degraded' : 'ok'
    // Nobody needs a token to read this, so it names no address.
    const reason = REASONS[status]
    const body = reason === undefined ? { status } : { status, reason }
    exchange.respond(isStopping || isDown ? 503 : 200, JSON_TYPE, JSON.stringify(body))
  }

  #metadata(exchange: Exchange): void {
    const metadata = this.#access.metadata(exchange.path)
    if (metadata) exchange.respond(200, JSON_TYPE, JSON.stringify(metadata))
    else refuse(exchange, 404, 'there is nothing here')
  }

  /** Metrics tell of every profile, so a token that is bound to one does not see them. */
  #metrics(exchange: Exchange, principal: Principal): void {
    if (principal.profiles !== undefined) {
      refuse(exchange, 403, 'this token is bound to a profile')
      return
    }
    const headers = { 'content-type': 'text/plain; version=0.0.4; charset=utf-8' }
    exchange.respond(200, headers, this.#services.metrics.text())
  }

  async #serve(exchange: Exchange, client: ClientIdentity): Promise<void> {
    const { limits, load, schedule } = this.#services
    if (this.#isDraining)
      return refuseRpc(exchange, 503, { code: -32_000, message: 'the gateway is stopping' }, RETRY)
    if (exchange.method === 'GET') return this.#legacy.get(exchange, client)
    if (exchange.method === 'DELETE') return this.#legacy.delete(exchange, client)
    if (exchange.method !== 'POST') return refuse(exchange, 405, 'use POST', { allow: 'GET, POST, DELETE' })
    if (limits.maxRequests > 0 && load.total + this.#arriving >= limits.maxRequests)
      return refuseRpc(exchange, 503, { code: -32_000, message: 'the gateway is busy' }, RETRY)
    if (load.isFull(client.principal.id)) {
      const message = 'too many calls are under way; wait for some of them to end'
      return refuseRpc(exchange, 429, { code: -32_000, message }, RETRY)
    }
    this.#arriving++
    const body = await exchange.readBody({ ...limits, schedule }).finally(() => this.#arriving--)
    if (body.kind !== 'json') {
      const { status, ...error } = BODY_FAULTS[body.kind]
      return refuseRpc(exchange, status, error)
    }
    if (await isLegacy(exchange, body.value)) return this.#legacy.post(exchange, client, body.value)
    const door = await this.#modernDoor(client.principal, client.view)
    return door.post(exchange, body.value)
  }

  #modernDoor(principal: Principal, view: View): Promise<ModernDoor> {
    const key = JSON.stringify([principal.id, view.profile ?? null])
    const known = this.#modern.get(key)
    if (known) {
      // The door that was not used for the longest comes first.
      this.#modern.delete(key)
      this.#modern.set(key, known)
      return known
    }
    void this.#makeRoom()
    const door = ModernDoor.open(this.#services, principal, view)
    this.#modern.set(key, door)
    door.catch(() => this.#modern.delete(key))
    return door
  }

  /** Tokens of an issuer can be of any number of users. */
  async #makeRoom(): Promise<void> {
    const { maxSessions } = this.#services.limits
    if (maxSessions === 0 || this.#modern.size < maxSessions) return
    for (const [key, opening] of this.#modern) {
      const door = await opening.catch(() => undefined)
      if (door?.isIdle !== true || this.#modern.get(key) !== opening) continue
      this.#modern.delete(key)
      await door.close()
      return
    }
  }
}

/** Whether a request is of the older era. What the version header and the body leave open is decided by the SDK. */
async function isLegacy(exchange: Exchange, body: unknown): Promise<boolean> {
  const version = exchange.header('mcp-protocol-version')
  const isPlain = isJson(body) && body.jsonrpc === '2.0'
  const claims =
    isPlain && isJson(body.params) && isJson(body.params._meta) && VERSION_KEY in body.params._meta
  if (isPlain && !claims && (version === undefined || LEGACY_VERSIONS.includes(version))) return true
  if (claims && version === MODERN_VERSION) return false
  const { isLegacyRequest } = await import('@modelcontextprotocol/server')
  return isLegacyRequest(exchange.toRequest(), body)
}

/** The route as metrics label it; unknown paths share one label, so that strangers cannot add any. */
export function routeOf(path: string): string {
  if (MCP_PATH.test(path)) return '/mcp'
  return [...STATES, '/metrics'].includes(path) ? path : 'other'
}
