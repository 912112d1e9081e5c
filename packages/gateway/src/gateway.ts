import type { IncomingMessage, ServerResponse } from 'node:http'
import { setImmediate as pause } from 'node:timers/promises'
import { ToolcribError } from '@toolcrib/core'
import { type ClientOptions, connectServers } from '@toolcrib/mcp'
import type { Access } from './access/access.ts'
import type { GatewayApprovals } from './approvals/approvals.ts'
import type { Auditor } from './audit/audited-call.ts'
import { checkGatewayOptions } from './check-gateway-options.ts'
import { type ComposedGateway, composeGateway, withDefaults } from './compose-gateway.ts'
import type { GatewayOptions, ServedOptions } from './gateway-options.ts'
import type { Exchange } from './http/exchange.ts'
import { FetchExchange } from './http/fetch-exchange.ts'
import { routeOf } from './http/http-gateway.ts'
import { NodeExchange } from './http/node-exchange.ts'
import type { ListedTool } from './lists/tool-list.ts'
import type { MetricValues } from './metrics/prometheus.ts'
import { type StdioOptions, StdioTransport } from './sdk/stdio-transport.ts'
import type { ConnectedClient } from './sessions/connected-clients.ts'
import { ProfileView } from './sessions/profile-view.ts'

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
  serveStdio(options?: StdioOptions): StdioTransport
  /** Checks the Host, Origin and token of a request, for handlers that are mounted beside the gateway. */
  readonly access: Access
  /** Calls that wait for a person's approval, and what was granted. */
  readonly approvals: GatewayApprovals
  /** The record of calls; undefined without `audit`. */
  readonly auditor: Auditor | undefined
  /**
   * Returns the tools that a new client sees, as `tools/list` returns them: without a profile, or with one. It opens a session with
   * this id, which appears in the registry's events, and closes it again.
   */
  toolsShown(sessionId: string, profile?: string): Promise<readonly ListedTool[]>
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

/**
 * Creates a gateway. Throws `config-invalid` for an unknown option or a value out of range.
 *
 * @example
 * ```ts
 * import { ToolRegistry } from 'toolcrib'
 * import { createGateway } from 'toolcrib/gateway'
 *
 * // Your own tools as an MCP server, in this process.
 * const registry = new ToolRegistry()
 * registry.registerFunction(() => 'noon', { name: 'get_time', description: 'Says the time.' })
 * const gateway = createGateway({ registry })
 * console.log((await gateway.fetch(new Request('http://localhost/healthz'))).status)
 * ```
 */
export function createGateway(options: GatewayOptions): Gateway {
  checkGatewayOptions(options)
  const { registry, servers = connectServers(registry, {}) } = options
  return new OpenGateway({ ...options, servers })
}

class OpenGateway implements Gateway {
  readonly access: Access
  readonly approvals: GatewayApprovals
  readonly auditor: Auditor | undefined
  readonly #options: ServedOptions
  readonly #parts: ComposedGateway
  readonly #stdio = new Set<StdioTransport>()
  #state: GatewayStatus['state'] = 'serving'
  #closing: Promise<void> | undefined

  constructor(options: ServedOptions) {
    this.#options = options
    this.#parts = composeGateway(options)
    this.access = this.#parts.access
    this.approvals = this.#parts.approvals
    this.auditor = this.#parts.auditor
  }

  async fetch(request: Request): Promise<Response> {
    const exchange = new FetchExchange(request)
    const startedAt = this.#parts.time.now()
    void this.#parts.http.handle(exchange)
    const response = await exchange.response
    this.#answered(exchange, { status: response.status, startedAt })
    return response
  }

  handle(request: IncomingMessage, response: ServerResponse): boolean {
    const exchange = new NodeExchange(request, response, this.#parts.time.schedule)
    if (!this.#parts.http.serves(exchange.path)) return false
    const startedAt = this.#parts.time.now()
    response.once('close', () => this.#answered(exchange, { status: response.statusCode, startedAt }))
    void this.#parts.http.handle(exchange)
    return true
  }

  serveStdio(options: StdioOptions = {}): StdioTransport {
    const transport = new StdioTransport(this.#parts.stdio, options)
    this.#stdio.add(transport)
    const forget = () => void this.#stdio.delete(transport)
    transport.closed.then(forget, forget)
    return transport
  }

  async toolsShown(sessionId: string, profile?: string): Promise<readonly ListedTool[]> {
    const { tools, stdio } = this.#parts
    const { registry, mode, profiles = {} } = this.#options
    const settings = (profile === undefined ? undefined : profiles[profile]) ?? {}
    const view = new ProfileView(registry, { profile, settings, mode })
    const session = await view.openSession({ id: sessionId })
    try {
      await pause()
      session.scope()
      await pause()
      return await tools.shown({ names: stdio.sessions.names, view, session }, session.scope().surface())
    } finally {
      await session.close()
    }
  }

  toolsListed(fingerprint: string): readonly ListedTool[] | undefined {
    return this.#parts.tools.listed(fingerprint)
  }

  status(): GatewayStatus {
    return {
      state: this.#state,
      sessions: this.#parts.http.sessions,
      callsUnderWay: this.#parts.stdio.events.traffic.size,
      callsParked: this.#parts.stdio.calls.parked,
    }
  }

  clients(): readonly ConnectedClient[] {
    return this.#parts.stdio.connected.list()
  }

  metrics(): readonly MetricValues[] {
    return this.#parts.metrics.values()
  }

  async reload(given: ReloadOptions): Promise<void> {
    const options = this.#options
    const { sessions, calls } = this.#parts.stdio
    const { tokens = [], profiles = {}, hosts, limits, oauth } = given
    checkGatewayOptions({ ...options, ...given, tokens, profiles, oauth: oauth ?? options.oauth })
    if (
      (tokens.length === 0) !== ((options.tokens ?? []).length === 0) ||
      (oauth !== undefined && options.oauth === undefined)
    )
      throw new ToolcribError('config-invalid', 'whether a gateway asks for tokens is decided when it starts')
    if (hosts) this.access.replaceHosts(hosts)
    if (limits) Object.assign(this.#parts.limits, withDefaults(limits))
    if (oauth) this.access.replaceOAuth(oauth)
    const revoked = this.access.replaceTokens(tokens)
    sessions.replace(given)
    calls.abandon(new Set(revoked.map(({ id }) => id)))
    await this.#parts.http.review()
  }

  announceReload(): void {
    this.#parts.replicas?.reloaded()
  }

  markStopping(): void {
    this.#parts.http.markStopping()
  }

  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  #answered(
    { method, path }: Exchange,
    { status, startedAt }: { readonly status: number; readonly startedAt: number },
  ): void {
    const { metrics, log, time } = this.#parts
    const route = routeOf(path)
    metrics.answered(route, status)
    if (!log.isSilent) log.request({ method, route, status, ms: time.now() - startedAt })
  }

  async #close(): Promise<void> {
    this.#state = 'draining'
    await this.#drained(this.#parts.http.drain())
    await Promise.all([...this.#stdio].map((transport) => transport.close()))
    await this.#parts.http.close()
    await this.#parts.close()
    this.#state = 'closed'
  }

  /** Cancels calls that wait for their client, and waits a limited time for the others and for `answered`. */
  async #drained(answered: Promise<void>): Promise<void> {
    const { load, limits, time, stdio } = this.#parts
    stdio.calls.close()
    let stop = () => {}
    const timeUp = new Promise<void>((resolve) => {
      stop = time.schedule(limits.drainMs, resolve)
    })
    await Promise.race([Promise.all([answered, load.idle()]), timeUp])
    stop()
    // The last results are known, but not written yet.
    await someSteps()
    stdio.calls.giveUp()
    await someSteps()
  }
}

async function someSteps(): Promise<void> {
  for (let step = 0; step < 3; step++) await pause()
}
