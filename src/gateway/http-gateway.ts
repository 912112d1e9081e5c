import type { Access } from './access.ts'
import { type Body, type Exchange, refuse, refuseBody, refuseRpc } from './exchange.ts'
import type { GatewayServices } from './gateway-services.ts'
import { INTERNAL_ERROR, isJson, REFUSED } from './json-rpc.ts'
import { type BodyRoom, LargeBodies } from './large-bodies.ts'
import type { ClientIdentity } from './legacy-client.ts'
import { LegacyDoor } from './legacy-door.ts'
import { LegacySessions } from './legacy-sessions.ts'
import { ModernDoors } from './modern-doors.ts'
import { type Principal, Refusal } from './principal.ts'
import { LEGACY_VERSIONS, MODERN_VERSION, VERSION_KEY } from './protocol.ts'

const MCP_PATH = /^\/mcp(?:\/(?<profile>[A-Za-z0-9][\w.-]{0,63}))?\/?$/
const RETRY = { 'retry-after': '1' }
const RETRY_HINT = { retryAfterMs: 1_000 }
const STATES = ['/healthz', '/readyz']
const REASONS: Readonly<Record<string, string>> = {
  stopping: 'the gateway is stopping',
  unavailable: 'every server has failed',
  degraded: 'the store cannot be used',
}
const JSON_TYPE = { 'content-type': 'application/json' }

/** Who sent a request, and the revision of the tokens when that was looked up. */
interface Arrived {
  readonly client: ClientIdentity
  readonly revision: number
}

/** The gateway over HTTP: checks who may connect, and dispatches to the handler of each era. */
export class HttpGateway {
  readonly #services: GatewayServices
  readonly #access: Access
  readonly #legacy: LegacyDoor
  readonly #sessions: LegacySessions
  readonly #modern: ModernDoors
  /** Accepted requests that are not answered yet. */
  readonly #posts = new Set<Promise<void>>()
  readonly #bodies = new LargeBodies()
  #arriving = 0
  #isStopping = false
  #isDraining = false
  #isClosed = false

  constructor(services: GatewayServices, access: Access) {
    this.#services = services
    this.#access = access
    this.#sessions = new LegacySessions(services, access)
    this.#legacy = new LegacyDoor(services, this.#sessions)
    this.#modern = new ModernDoors(services, access)
  }

  get sessions(): number {
    return this.#sessions.size
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
      refuseRpc(exchange, 500, { code: INTERNAL_ERROR, message: 'Internal error' })
    }
  }

  /** `/readyz` reports it; requests are still answered. */
  markStopping(): void {
    this.#isStopping = true
  }

  /** Accepts no more requests. Resolves once the accepted ones are answered. */
  async drain(): Promise<void> {
    this.#isStopping = true
    this.#isDraining = true
    await Promise.allSettled(this.#posts)
  }

  /** Closes what is open for tokens that are no longer accepted, and for views that are no longer current. */
  async review(): Promise<void> {
    await Promise.all([this.#modern.review(), this.#sessions.review()])
  }

  /** Refuses requests that have not reached a handler yet. */
  async close(): Promise<void> {
    this.#isClosed = true
    await this.#modern.close()
    await this.#sessions.close()
  }

  // Each check comes before what it protects: host and origin before the token, the token before the rest.
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
    const { revision } = this.#access
    const identified = this.#identify(exchange)
    const principal = identified instanceof Promise ? await identified : identified
    if (!principal) return
    if (path === '/metrics') return this.#metrics(exchange, principal)
    if (!isMcpPath(path)) return refuse(exchange, 404, 'there is nothing here')
    const client = this.#clientOf(exchange, principal)
    if (client) return this.#serve(exchange, { client, revision })
  }

  /** Returns who sent a request; if its token is not accepted, refuses it and returns undefined. */
  #identify(exchange: Exchange): Principal | undefined | Promise<Principal | undefined> {
    const found = this.#access.identify(exchange.header('authorization'), profileOf(exchange))
    return found instanceof Promise ? found.then((later) => admit(exchange, later)) : admit(exchange, found)
  }

  /** Returns what the sender of a request sees; if it may not use the profile, refuses it and returns undefined. */
  #clientOf(exchange: Exchange, principal: Principal): ClientIdentity | undefined {
    const view = this.#services.sessions.view(profileOf(exchange), principal)
    if (!view) {
      refuse(exchange, 404, 'there is no such profile')
      return undefined
    }
    const wanted = exchange.query('activate') ?? view.activation
    const activation = wanted === 'list' ? 'list' : 'doors'
    return { principal, view, activation, transport: 'http' }
  }

  /**
   * Not ready only if every server has failed: one bad server does not take the gateway out of service, nor does a
   * failing store.
   */
  #state(exchange: Exchange): void {
    const isReadiness = exchange.path === '/readyz'
    const states = isReadiness ? this.#services.options.servers.status().map(({ state }) => state) : []
    const isDown = states.length > 0 && states.every((state) => state === 'failed')
    const isStopping = isReadiness && this.#isStopping
    const isDegraded = isReadiness && this.#services.store?.health().state === 'degraded'
    const status = isStopping ? 'stopping' : isDown ? 'unavailable' : isDegraded ? 'degraded' : 'ok'
    // No token is needed to read this, so it contains no address.
    const reason = REASONS[status]
    const body = reason === undefined ? { status } : { status, reason }
    exchange.respond(isStopping || isDown ? 503 : 200, JSON_TYPE, JSON.stringify(body))
  }

  #metadata(exchange: Exchange): void {
    const metadata = this.#access.metadata(exchange.path)
    if (metadata) exchange.respond(200, JSON_TYPE, JSON.stringify(metadata))
    else refuse(exchange, 404, 'there is nothing here')
  }

  /** Metrics cover every profile, so a token that is bound to one profile cannot read them. */
  #metrics(exchange: Exchange, principal: Principal): void {
    if (principal.profiles !== undefined) {
      refuse(exchange, 403, 'this token is bound to a profile')
      return
    }
    const headers = { 'content-type': 'text/plain; version=0.0.4; charset=utf-8' }
    exchange.respond(200, headers, this.#services.metrics.text())
  }

  async #serve(exchange: Exchange, arrived: Arrived): Promise<void> {
    const { limits, load } = this.#services
    const { client } = arrived
    if (this.#isDraining) return refuseStopping(exchange)
    if (exchange.method === 'GET') return this.#legacy.get(exchange, client)
    if (exchange.method === 'DELETE') return this.#legacy.delete(exchange, client)
    if (exchange.method !== 'POST') return refuse(exchange, 405, 'use POST', { allow: 'GET, POST, DELETE' })
    if (limits.maxRequests > 0 && load.total + this.#arriving >= limits.maxRequests)
      return refuseBusy(exchange)
    if (load.isFull(client.principal.id)) {
      const message = 'too many calls are in flight; wait for some of them to end'
      return refuseRpc(exchange, 429, { code: REFUSED, message, data: RETRY_HINT }, RETRY)
    }
    const room = this.#bodies.admit(exchange)
    if (!room) return refuseBusy(exchange)
    try {
      await this.#receive(exchange, arrived, room)
    } finally {
      room.leave()
    }
  }

  async #receive(exchange: Exchange, arrived: Arrived, room: BodyRoom): Promise<void> {
    const { limits, schedule } = this.#services
    const { maxBodyBytes, maxBodyKeys, bodyTimeoutMs } = limits
    let body: Body
    this.#arriving++
    try {
      body = await exchange.readBody({ maxBodyBytes, maxBodyKeys, bodyTimeoutMs, schedule })
    } finally {
      this.#arriving--
    }
    if (body.kind !== 'json') return refuseBody(exchange, body)
    room.arrived(body.characters)
    // The body took a while to arrive.
    if (this.#isDraining) return refuseStopping(exchange)
    const posting = this.#post(exchange, body.value, arrived)
    this.#posts.add(posting)
    try {
      await posting
    } finally {
      this.#posts.delete(posting)
    }
  }

  /** Tokens and profiles may have changed while the request arrived: then both are looked up again. */
  async #post(exchange: Exchange, body: unknown, arrived: Arrived): Promise<void> {
    const isOlder = isKnownLegacy(exchange, body) ?? (await isLegacy(exchange, body))
    for (let known: Arrived | undefined = arrived; ; known = undefined) {
      const client = this.#isUnchanged(known) ? known.client : await this.#clientNow(exchange)
      if (!client) return
      // Every handler is closed, and stays closed.
      if (this.#isClosed) return refuseStopping(exchange)
      // They may also change between these two steps.
      if (!this.#access.stillAccepts(client.principal)) continue
      if (isOlder) return this.#legacy.post(exchange, client, body)
      const door = await this.#modern.get(client.principal, client.view)
      if (!door.isEnding) return door.post(exchange, body)
    }
  }

  /** Whether tokens and profiles are the same as when the sender of a request was looked up. */
  #isUnchanged(known: Arrived | undefined): known is Arrived {
    if (known?.revision !== this.#access.revision) return false
    const { principal, view } = known.client
    return this.#access.stillAccepts(principal) && this.#services.sessions.isCurrent(view)
  }

  async #clientNow(exchange: Exchange): Promise<ClientIdentity | undefined> {
    const principal = await this.#identify(exchange)
    return principal && this.#clientOf(exchange, principal)
  }
}

function refuseBusy(exchange: Exchange): void {
  const error = { code: REFUSED, message: 'the gateway is busy', data: RETRY_HINT }
  refuseRpc(exchange, 503, error, RETRY)
}

/** The sender of a request; if it is refused, sends the refusal. */
function admit(exchange: Exchange, found: Principal | Refusal): Principal | undefined {
  if (!(found instanceof Refusal)) return found
  refuse(exchange, found.status, found.error, found.headers)
  return undefined
}

function refuseStopping(exchange: Exchange): void {
  refuseRpc(exchange, 503, { code: REFUSED, message: 'the gateway is stopping' }, RETRY)
}

/** The profile in the path of a request. */
function profileOf({ path }: Exchange): string | undefined {
  return path === '/mcp' ? undefined : MCP_PATH.exec(path)?.groups?.profile
}

function isMcpPath(path: string): boolean {
  return path === '/mcp' || MCP_PATH.test(path)
}

/** Whether a request is of the older era; undefined if the version header and the body do not tell. */
function isKnownLegacy(exchange: Exchange, body: unknown): boolean | undefined {
  const version = exchange.header('mcp-protocol-version')
  const isPlain = isJson(body) && body.jsonrpc === '2.0'
  const claims =
    isPlain && isJson(body.params) && isJson(body.params._meta) && VERSION_KEY in body.params._meta
  if (isPlain && !claims && (version === undefined || LEGACY_VERSIONS.includes(version))) return true
  return claims && version === MODERN_VERSION ? false : undefined
}

async function isLegacy(exchange: Exchange, body: unknown): Promise<boolean> {
  const { isLegacyRequest } = await import('@modelcontextprotocol/server')
  return isLegacyRequest(exchange.toRequest(), body)
}

/** The route as a label of metrics; unknown paths share one label, so that clients cannot add labels. */
export function routeOf(path: string): string {
  if (isMcpPath(path)) return '/mcp'
  return [...STATES, '/metrics'].includes(path) ? path : 'other'
}
