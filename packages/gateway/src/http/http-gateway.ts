import type { ConnectedServers } from '@toolcrib/mcp'
import type { WatchedStore } from '@toolcrib/mcp/stores'
import type { Access } from '../access/access.ts'
import { NOT_FOR_CLIENTS, NOT_FOR_OPERATORS, type Principal, Refusal } from '../access/principal.ts'
import type { GatewayLog } from '../gateway-log.ts'
import type { GatewayTime, Limits } from '../gateway-options.ts'
import { INTERNAL_ERROR, isJson, REFUSED } from '../json-rpc.ts'
import type { ClientIdentity } from '../legacy/legacy-client.ts'
import type { LegacySessions } from '../legacy/legacy-sessions.ts'
import type { LegacyTransport } from '../legacy/legacy-transport.ts'
import type { ClientLoad } from '../load/load-limits.ts'
import { hasFullShare } from '../load/shares.ts'
import type { Metrics } from '../metrics/metrics.ts'
import type { ModernTransports } from '../modern/modern-transports.ts'
import { LEGACY_VERSIONS, MODERN_VERSION, VERSION_KEY } from '../protocol.ts'
import type { GatewaySessions } from '../sessions/gateway-sessions.ts'
import { type Body, type Exchange, refuse, refuseBody, refuseRpc } from './exchange.ts'
import { type BodyRoom, LargeBodies } from './large-bodies.ts'

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

/** The handlers of each era, and what decides who may use them. */
export interface HttpGatewayOptions {
  readonly access: Access
  readonly legacy: LegacyTransport
  readonly legacySessions: LegacySessions
  readonly modern: ModernTransports
  readonly sessions: GatewaySessions
  readonly servers: ConnectedServers
  readonly store: WatchedStore | undefined
  readonly metrics: Metrics
  readonly load: ClientLoad
  readonly limits: Limits
  readonly time: Pick<GatewayTime, 'schedule'>
  readonly log: GatewayLog
}

/** The gateway over HTTP: checks who may connect, and dispatches to the handler of each era. */
export class HttpGateway {
  readonly #options: HttpGatewayOptions
  /** Accepted requests that are not answered yet. */
  readonly #posts = new Set<Promise<void>>()
  readonly #bodies = new LargeBodies()
  /** How many bodies are being received from each token. */
  readonly #arriving = new Map<string, number>()
  #isStopping = false
  #isDraining = false
  #isClosed = false

  constructor(options: HttpGatewayOptions) {
    this.#options = options
  }

  get sessions(): number {
    return this.#options.legacySessions.size
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
      this.#options.log.warn(error instanceof Error ? error.message : 'a request failed')
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
    await Promise.all([this.#options.modern.review(), this.#options.legacySessions.review()])
  }

  /** Refuses requests that have not reached a handler yet. */
  async close(): Promise<void> {
    this.#isClosed = true
    await this.#options.modern.close()
    await this.#options.legacySessions.close()
  }

  // Each check comes before what it protects: host and origin before the token, the token before the rest.
  async #route(exchange: Exchange): Promise<void> {
    const { path } = exchange
    const foreign = this.#options.access.refuseAddress({
      host: exchange.header('host'),
      origin: exchange.header('origin'),
    })
    if (foreign !== undefined) return refuse(exchange, 403, foreign)
    if (STATES.includes(path)) return this.#state(exchange)
    // With static tokens there is no authorization server, and clients that find one ignore their token.
    if (path.startsWith('/.well-known/')) return this.#metadata(exchange)
    const { revision } = this.#options.access
    const identified = this.#identify(exchange)
    const principal = identified instanceof Promise ? await identified : identified
    if (!principal) return
    if (path === '/metrics') return this.#metrics(exchange, principal)
    if (!isMcpPath(path)) return refuse(exchange, 404, 'there is nothing here')
    if (principal.profiles?.length === 0) return refuse(exchange, 403, NOT_FOR_OPERATORS)
    const client = this.#clientOf(exchange, principal)
    if (client) return this.#serve(exchange, { client, revision })
  }

  /** Returns who sent a request; if its token is not accepted, refuses it and returns undefined. */
  #identify(exchange: Exchange): Principal | undefined | Promise<Principal | undefined> {
    const found = this.#options.access.identify(exchange.header('authorization'), profileOf(exchange))
    return found instanceof Promise ? found.then((later) => admit(exchange, later)) : admit(exchange, found)
  }

  /** Returns what the sender of a request sees; if it may not use the profile, refuses it and returns undefined. */
  #clientOf(exchange: Exchange, principal: Principal): ClientIdentity | undefined {
    const view = this.#options.sessions.view(profileOf(exchange), principal)
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
    const states = isReadiness ? this.#options.servers.status().map(({ state }) => state) : []
    const isDown = states.length > 0 && states.every((state) => state === 'failed')
    const isStopping = isReadiness && this.#isStopping
    const isDegraded = isReadiness && this.#options.store?.health().state === 'degraded'
    const status = isStopping ? 'stopping' : isDown ? 'unavailable' : isDegraded ? 'degraded' : 'ok'
    // No token is needed to read this, so it contains no address.
    const reason = REASONS[status]
    const body = reason === undefined ? { status } : { status, reason }
    exchange.respond(isStopping || isDown ? 503 : 200, JSON_TYPE, JSON.stringify(body))
  }

  #metadata(exchange: Exchange): void {
    const metadata = this.#options.access.metadata(exchange.path)
    if (metadata) exchange.respond(200, JSON_TYPE, JSON.stringify(metadata))
    else refuse(exchange, 404, 'there is nothing here')
  }

  /** Metrics cover every profile, so a token that is bound to one profile cannot read them. */
  #metrics(exchange: Exchange, principal: Principal): void {
    if (!this.#options.access.isOperator(principal)) {
      refuse(exchange, 403, NOT_FOR_CLIENTS)
      return
    }
    const headers = { 'content-type': 'text/plain; version=0.0.4; charset=utf-8' }
    exchange.respond(200, headers, this.#options.metrics.text())
  }

  async #serve(exchange: Exchange, arrived: Arrived): Promise<void> {
    const { load } = this.#options
    const { client } = arrived
    if (this.#isDraining) return refuseStopping(exchange)
    if (exchange.method === 'GET') return this.#options.legacy.get(exchange, client)
    if (exchange.method === 'DELETE') return this.#options.legacy.delete(exchange, client)
    if (exchange.method !== 'POST') return refuse(exchange, 405, 'use POST', { allow: 'GET, POST, DELETE' })
    if (this.#isBusy(client.principal.id)) return refuseBusy(exchange)
    if (load.isFull(client.principal.id)) {
      const message = 'too many calls are in flight; wait for some of them to end'
      return refuseRpc(exchange, 429, { code: REFUSED, message, data: RETRY_HINT }, RETRY)
    }
    const room = this.#bodies.admit(exchange, client.principal.id)
    if (!room) return refuseBusy(exchange)
    try {
      await this.#receive(exchange, arrived, room)
    } finally {
      room.leave()
    }
  }

  #isBusy(principal: string): boolean {
    const { limits, load } = this.#options
    const { maxRequests } = limits
    if (maxRequests === 0) return false
    let total = load.total
    for (const count of this.#arriving.values()) total += count
    const own = load.underWay(principal) + (this.#arriving.get(principal) ?? 0)
    return total >= maxRequests || hasFullShare(own, maxRequests)
  }

  async #receive(exchange: Exchange, arrived: Arrived, room: BodyRoom): Promise<void> {
    const { limits, time } = this.#options
    const { maxBodyBytes, maxBodyKeys, bodyTimeoutMs } = limits
    const { id } = arrived.client.principal
    let body: Body
    this.#arriving.set(id, (this.#arriving.get(id) ?? 0) + 1)
    try {
      body = await exchange.readBody({ maxBodyBytes, maxBodyKeys, bodyTimeoutMs, schedule: time.schedule })
    } finally {
      const left = (this.#arriving.get(id) ?? 0) - 1
      if (left > 0) this.#arriving.set(id, left)
      else this.#arriving.delete(id)
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
      if (!this.#options.access.stillAccepts(client.principal)) continue
      if (isOlder) return this.#options.legacy.post(exchange, client, body)
      const transport = await this.#options.modern.get(client.principal, client.view)
      if (!transport.isEnding) return transport.post(exchange, body)
    }
  }

  /** Whether tokens and profiles are the same as when the sender of a request was looked up. */
  #isUnchanged(known: Arrived | undefined): known is Arrived {
    if (known?.revision !== this.#options.access.revision) return false
    const { principal, view } = known.client
    return this.#options.access.stillAccepts(principal) && this.#options.sessions.isCurrent(view)
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
