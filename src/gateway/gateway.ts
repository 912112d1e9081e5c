import type { ClientOptions } from 'toolcrib/mcp'
import { Access } from './access.ts'
import type { ConnectedClient } from './connected-clients.ts'
import { GatewayCore } from './core.ts'
import { checkGatewayOptions, type GatewayOptions } from './gateway-options.ts'
import { HttpGateway } from './http-gateway.ts'
import type { MetricValues } from './prometheus.ts'
import { StdioDoor, type StdioOptions } from './stdio-door.ts'

/** One endpoint before all servers of a registry. */
export interface Gateway {
  /**
   * Answers an HTTP request: `/mcp`, `/mcp/<profile>`, `/healthz`, `/readyz` and `/metrics`. Never rejects. All but
   * `/healthz` and `/readyz` need a token where there are tokens. The Host and Origin headers are checked on every
   * route; whoever builds requests from sockets must pass them on.
   */
  fetch(request: Request): Promise<Response>
  /**
   * Serves one client over this process's stdin and stdout, in whichever era it speaks. `closed` resolves when the client
   * goes away; the caller ends the process then. Whoever starts the process is trusted: no token is asked for.
   */
  serveStdio(options?: StdioOptions): StdioDoor
  /** Checks the Host, Origin and token of a request, for handlers that are mounted beside the gateway. */
  readonly access: Access
  /** How the gateway is doing. */
  status(): GatewayStatus
  /** Who uses the gateway: sessions of older clients, clients over stdio, and modern clients of the last ten minutes. */
  clients(): readonly ConnectedClient[]
  /** What `/metrics` shows, as values. */
  metrics(): readonly MetricValues[]
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
  return new OpenGateway(new GatewayCore(options))
}

class OpenGateway implements Gateway {
  readonly access: Access
  readonly #core: GatewayCore
  readonly #http: HttpGateway
  readonly #stdio = new Set<StdioDoor>()
  #state: GatewayStatus['state'] = 'serving'
  #closing: Promise<void> | undefined

  constructor(core: GatewayCore) {
    this.#core = core
    this.access = new Access(core.options)
    this.#http = new HttpGateway(core, this.access)
    core.metrics.watch('toolcrib_sessions', () => [{ labels: {}, value: this.#http.sessions }])
  }

  fetch(request: Request): Promise<Response> {
    return this.#http.fetch(request)
  }

  serveStdio(options: StdioOptions = {}): StdioDoor {
    const door = new StdioDoor(this.#core, options)
    this.#stdio.add(door)
    const forget = () => void this.#stdio.delete(door)
    door.closed.then(forget, forget)
    return door
  }

  status(): GatewayStatus {
    return {
      state: this.#state,
      sessions: this.#http.sessions,
      callsUnderWay: this.#core.traffic.size,
      callsParked: this.#core.modernCalls.parked,
    }
  }

  clients(): readonly ConnectedClient[] {
    return this.#core.clients.list()
  }

  metrics(): readonly MetricValues[] {
    return this.#core.metrics.values()
  }

  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #close(): Promise<void> {
    this.#state = 'draining'
    this.#http.drain()
    await this.#core.drained()
    await Promise.all([...this.#stdio].map((door) => door.close()))
    await this.#http.close()
    await this.#core.close()
    this.#state = 'closed'
  }
}
