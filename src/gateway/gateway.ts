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

/** One MCP endpoint in front of all servers of a registry. */
export interface Gateway {
  /**
   * Answers an HTTP request: `/mcp`, `/mcp/<profile>`, `/healthz`, `/readyz` and `/metrics`. Never rejects. If there
   * are tokens, all routes but `/healthz` and `/readyz` need one. The Host and Origin headers are checked on every
   * route; code that builds requests from sockets must pass them on.
   */
  fetch(request: Request): Promise<Response>
  /**
   * Answers a request of `node:http`, like `fetch` but faster. Returns false, and does nothing, if the gateway has no
   * route for the path, so that another handler can answer.
   */
  handle(request: IncomingMessage, response: ServerResponse): boolean
  /**
   * Serves one client over this process's stdin and stdout, in whichever era it speaks. `closed` resolves when the
   * client disconnects; the caller then ends the process. Needs no token, because the user who starts the process is
   * trusted.
   */
  serveStdio(options?: StdioOptions): StdioDoor
  /** Checks the Host, Origin and token of a request, for handlers that are mounted beside the gateway. */
  readonly access: Access
  /**
   * Returns the tools that a new client without a profile sees, as `tools/list` returns them. It opens a session with
   * this id, which appears in the registry's events, and closes it again.
   */
  toolsShown(sessionId: string): Promise<readonly ListedTool[]>
  /**
   * The tools that clients listed with a surface of this fingerprint, as in `surfaced` events. Undefined if no client
   * listed it, and once it is forgotten: the latest 20 are kept.
   */
  toolsListed(fingerprint: string): readonly ListedTool[] | undefined
  /** The current state and load. */
  status(): GatewayStatus
  /**
   * The clients of the gateway: sessions of older clients, clients over stdio, and modern clients of the last ten
   * minutes.
   */
  clients(): readonly ConnectedClient[]
  /** The values that `/metrics` shows. */
  metrics(): readonly MetricValues[]
  /**
   * Replaces the tokens and the profiles, and `hosts`, `limits` and `oauth` if they are given. Requests in flight of
   * removed tokens, and of tokens of another issuer, are cancelled, and their sessions end. Everything else applies
   * from the next request on. Throws `config-invalid` as `createGateway()` does, and if the gateway would lose its last
   * token or get its first; then nothing changes.
   */
  reload(options: ReloadOptions): Promise<void>
  /** Notifies the other replicas that the config or a lockfile changed, so that they reload theirs. */
  announceReload(): void
  /**
   * From now on `/readyz` returns 503 with `stopping`, so that a proxy sends requests elsewhere; requests are still
   * answered. Call it a few seconds before `close()`.
   */
  markStopping(): void
  /**
   * Accepts no more requests, waits for calls in flight, and ends every session. The registry and the servers stay
   * open.
   */
  close(): Promise<void>
}

/** The options that a running gateway can change. */
export type ReloadOptions = Pick<GatewayOptions, 'tokens' | 'profiles' | 'hosts' | 'limits' | 'oauth'>

/** What the gateway is doing right now. */
export interface GatewayStatus {
  readonly state: 'serving' | 'draining' | 'closed'
  /** Sessions of older clients. */
  readonly sessions: number
  /** Requests in flight at servers. */
  readonly callsUnderWay: number
  /** Calls that wait for an answer of their client. */
  readonly callsParked: number
}

/**
 * The client capabilities of the shared connections, for `client.capabilities` of `connectServers()`: some servers show
 * tools that ask questions only to clients that can answer. The gateway passes questions on to the client that caused
 * them.
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
