import type { IncomingMessage, ServerResponse } from 'node:http'
import { ToolcribError } from 'toolcrib'
import type { ClientOptions } from 'toolcrib/mcp'
import { Access } from './access.ts'
import { checkGatewayOptions } from './check-gateway-options.ts'
import type { ConnectedClient } from './connected-clients.ts'
import type { Exchange } from './exchange.ts'
import { FetchExchange } from './fetch-exchange.ts'
import type { GatewayOptions } from './gateway-options.ts'
import { GatewayServices } from './gateway-services.ts'
import { HttpGateway, routeOf } from './http-gateway.ts'
import { NodeExchange } from './node-exchange.ts'
import { ProfileView } from './profile-view.ts'
import type { MetricValues } from './prometheus.ts'
import { StdioDoor, type StdioOptions } from './stdio-door.ts'
import type { ListedTool } from './tool-list.ts'

/** One endpoint before all servers of a registry. */
export interface Gateway {
  /**
   * Answers an HTTP request: `/mcp`, `/mcp/<profile>`, `/healthz`, `/readyz` and `/metrics`. Never rejects. All but
   * `/healthz` and `/readyz` need a token where there are tokens. The Host and Origin headers are checked on every
   * route; whoever builds requests from sockets must pass them on.
   */
  fetch(request: Request): Promise<Response>
  /**
   * Answers a request of `node:http`, like `fetch` and faster. Returns false, and does nothing, when the gateway has no
   * route for its path, so that a handler mounted beside the gateway can answer.
   */
  handle(request: IncomingMessage, response: ServerResponse): boolean
  /**
   * Serves one client over this process's stdin and stdout, in whichever era it speaks. `closed` resolves when the client
   * goes away; the caller ends the process then. Whoever starts the process is trusted: no token is asked for.
   */
  serveStdio(options?: StdioOptions): StdioDoor
  /** Checks the Host, Origin and token of a request, for handlers that are mounted beside the gateway. */
  readonly access: Access
  /**
   * The tools that a new client without a profile is shown, as `tools/list` returns them. They are read in a session with
   * this id, which the events of the registry have, and which is closed then.
   */
  toolsShown(sessionId: string): Promise<readonly ListedTool[]>
  /**
   * The tools that clients listed with a surface of this fingerprint, which `surfaced` events have. Undefined for a surface that
   * no client listed, and once it is forgotten: the latest 20 are remembered.
   */
  toolsListed(fingerprint: string): readonly ListedTool[] | undefined
  /** The current state and load. */
  status(): GatewayStatus
  /** Who uses the gateway: sessions of older clients, clients over stdio, and modern clients of the last ten minutes. */
  clients(): readonly ConnectedClient[]
  /** What `/metrics` shows, as values. */
  metrics(): readonly MetricValues[]
  /**
   * Replaces the tokens and the profiles, and those of `hosts`, `limits` and `oauth` that are given. What is under way for a
   * token that is not among them is cancelled, and its sessions end; so do those of tokens of another issuer. All else applies
   * from the next request on. Throws `config-invalid` as `createGateway()` does, and when it would leave a gateway that asks
   * for tokens without any, or the reverse; nothing is changed then.
   */
  reload(options: ReloadOptions): Promise<void>
  /** Notifies the other replicas that the config or a lockfile changed, so that they reload theirs. */
  announceReload(): void
  /**
   * From now on `/readyz` says `stopping` with status 503, so that a proxy sends requests elsewhere; those that come are still
   * answered. Call it some seconds before `close()`.
   */
  markStopping(): void
  /**
   * Takes no more requests, waits for calls that are under way, and ends every session. The registry and the servers stay
   * open.
   */
  close(): Promise<void>
}

/** What a running gateway takes over. */
export type ReloadOptions = Pick<GatewayOptions, 'tokens' | 'profiles' | 'hosts' | 'limits' | 'oauth'>

/** What the gateway is doing right now. */
export interface GatewayStatus {
  readonly state: 'serving' | 'draining' | 'closed'
  /** Sessions of older clients. */
  readonly sessions: number
  /** Requests under way at servers. */
  readonly callsUnderWay: number
  /** Calls that wait for an answer of their client. */
  readonly callsParked: number
}

/**
 * What the shared connections to servers offer, for `client.capabilities` of `connectServers()`: servers show tools that
 * ask something only to clients that can be asked. The gateway passes questions on to the client that caused them.
 */
export const GATEWAY_CAPABILITIES: NonNullable<ClientOptions['capabilities']> = {
  sampling: {},
  elicitation: { form: {}, url: {} },
  roots: { listChanged: true },
}

/** Creates a gateway. Throws `config-invalid` for an unknown option or a value out of range. */
export function createGateway(options: GatewayOptions): Gateway {
  checkGatewayOptions(options)
  return new OpenGateway(new GatewayServices(options))
}

class OpenGateway implements Gateway {
  readonly access: Access
  readonly #services: GatewayServices
  readonly #http: HttpGateway
  readonly #stdio = new Set<StdioDoor>()
  #state: GatewayStatus['state'] = 'serving'
  #closing: Promise<void> | undefined

  constructor(services: GatewayServices) {
    this.#services = services
    this.access = new Access(services.options)
    this.#http = new HttpGateway(services, this.access)
    services.metrics.watch('toolcrib_sessions', () => [{ labels: {}, value: this.#http.sessions }])
  }

  async fetch(request: Request): Promise<Response> {
    const exchange = new FetchExchange(request)
    const startedAt = this.#services.now()
    void this.#http.handle(exchange)
    const response = await exchange.response
    this.#answered(exchange, { status: response.status, startedAt })
    return response
  }

  handle(request: IncomingMessage, response: ServerResponse): boolean {
    const exchange = new NodeExchange(request, response, this.#services.schedule)
    if (!this.#http.serves(exchange.path)) return false
    const startedAt = this.#services.now()
    response.once('close', () => this.#answered(exchange, { status: response.statusCode, startedAt }))
    void this.#http.handle(exchange)
    return true
  }

  serveStdio(options: StdioOptions = {}): StdioDoor {
    const door = new StdioDoor(this.#services, options)
    this.#stdio.add(door)
    const forget = () => void this.#stdio.delete(door)
    door.closed.then(forget, forget)
    return door
  }

  async toolsShown(sessionId: string): Promise<readonly ListedTool[]> {
    const { sessions, tools } = this.#services
    const { registry, mode } = this.#services.options
    const view = new ProfileView(registry, { profile: undefined, settings: {}, mode })
    const session = await view.openSession({ id: sessionId })
    try {
      return tools.shown(sessions.scene(view, session), session.currentTurn().surface())
    } finally {
      await session.close()
    }
  }

  toolsListed(fingerprint: string): readonly ListedTool[] | undefined {
    return this.#services.tools.listed(fingerprint)
  }

  status(): GatewayStatus {
    return {
      state: this.#state,
      sessions: this.#http.sessions,
      callsUnderWay: this.#services.traffic.size,
      callsParked: this.#services.modernCalls.parked,
    }
  }

  clients(): readonly ConnectedClient[] {
    return this.#services.clients.list()
  }

  metrics(): readonly MetricValues[] {
    return this.#services.metrics.values()
  }

  async reload(given: ReloadOptions): Promise<void> {
    const { options, sessions, modernCalls } = this.#services
    const { tokens = [], profiles = {}, hosts, limits, oauth } = given
    checkGatewayOptions({ ...options, ...given, tokens, profiles, oauth: oauth ?? options.oauth })
    if (
      (tokens.length === 0) !== ((options.tokens ?? []).length === 0) ||
      (oauth !== undefined && options.oauth === undefined)
    )
      throw new ToolcribError('config-invalid', 'whether a gateway asks for tokens is decided when it starts')
    if (hosts) this.access.replaceHosts(hosts)
    if (limits) this.#services.replaceLimits(limits)
    if (oauth) this.access.replaceOAuth(oauth)
    const revoked = this.access.replaceTokens(tokens)
    sessions.replace(given)
    modernCalls.abandon(new Set(revoked.map(({ id }) => id)))
    await this.#http.review()
  }

  announceReload(): void {
    this.#services.replicas?.reloaded()
  }

  markStopping(): void {
    this.#http.markStopping()
  }

  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  #answered(
    { method, path }: Exchange,
    { status, startedAt }: { readonly status: number; readonly startedAt: number },
  ): void {
    const { metrics, log, now } = this.#services
    const route = routeOf(path)
    metrics.answered(route, status)
    if (!log.isSilent) log.request({ method, route, status, ms: now() - startedAt })
  }

  async #close(): Promise<void> {
    this.#state = 'draining'
    await this.#services.drained(this.#http.drain())
    await Promise.all([...this.#stdio].map((door) => door.close()))
    await this.#http.close()
    await this.#services.close()
    this.#state = 'closed'
  }
}
