import { ToolcribError } from 'toolcrib'
import type { AskLimits, StandingRequestWire } from './client-line.ts'
import type { GatewayServices } from './gateway-services.ts'
import type { Json } from './json-rpc.ts'
import { type ClientIdentity, LegacyClient } from './legacy-client.ts'
import type { RawServer } from './mcp-server.ts'
import { ModernClient } from './modern-client.ts'
import type { Principal } from './principal.ts'
import type { ProfileView } from './profile-view.ts'
import type { Era } from './protocol.ts'
import { StdioListens } from './stdio-listens.ts'

/** Who is served over stdio. */
export interface StdioOptions {
  /** The profile of the client; without it, the client sees the whole registry. */
  readonly profile?: string | undefined
  readonly input?: NodeJS.ReadableStream | undefined
  readonly output?: NodeJS.WritableStream | undefined
}

/** The principal of the user who started the process. */
const LOCAL: Principal = { id: 'stdio', name: 'stdio', profile: undefined, profiles: undefined }

/** Serves one client over stdin and stdout. */
export class StdioDoor {
  /** Resolves when the client has disconnected, or the door is closed. Rejects if it cannot be opened. */
  readonly closed: Promise<void>
  readonly #services: GatewayServices
  readonly #view: ProfileView
  readonly #clients: { close(): Promise<void> }[] = []
  readonly #listens: StdioListens
  #close: () => Promise<void> = async () => {}

  constructor(
    services: GatewayServices,
    { profile, input = process.stdin, output = process.stdout }: StdioOptions,
  ) {
    const view = services.sessions.view(profile, LOCAL)
    if (!view) throw new ToolcribError('config-invalid', `there is no profile "${profile}"`)
    this.#services = services
    this.#view = view
    this.#listens = new StdioListens(services, view)
    this.closed = this.#serve(input, output)
  }

  /** Ends the session of the client; resolves once everything is closed. */
  async close(): Promise<void> {
    await this.#close()
    await this.closed
  }

  async #serve(input: NodeJS.ReadableStream, output: NodeJS.WritableStream): Promise<void> {
    const { serveStdio, StdioServerTransport } = await import('@modelcontextprotocol/server/stdio')
    const { Readable, Writable } = await import('node:stream')
    const transport = new StdioServerTransport(
      input instanceof Readable ? input : new Readable().wrap(input),
      output instanceof Writable ? output : process.stdout,
    )
    const handle = serveStdio(({ era }) => this.#client(era), {
      transport,
      onerror: ({ message }) => this.#services.warn(message),
    })
    // The SDK set its own handler.
    const { onmessage } = transport
    transport.onmessage = (message) => {
      onmessage?.call(transport, message)
      this.#listens.noticed({ ...message })
    }
    await new Promise<void>((resolve) => {
      this.#close = async () => {
        await handle.close().catch(() => {})
        resolve()
      }
      input.once('end', resolve)
      input.once('close', resolve)
    })
    await handle.close().catch(() => {})
    await Promise.all([...this.#clients, this.#listens].map((client) => client.close()))
  }

  /** The SDK's server for the client, once the client's era is known. */
  async #client(era: Era): Promise<RawServer> {
    const services = this.#services
    const view = this.#view
    const id = services.newId()
    const session = await services.sessions.open(view, id, undefined)
    const { RawServer } = await import('./mcp-server.ts')
    const { SdkWire } = await import('./sdk-wire.ts')
    const identity: ClientIdentity = {
      principal: LOCAL,
      view,
      activation: view.activation ?? 'doors',
      transport: 'stdio',
    }
    if (era === 'modern') {
      const client = new ModernClient(services, identity, session, (method) => server.tell(method, {}))
      const server = new RawServer(
        services.presentation.describe(view, session.currentTurn().surface(), era),
        era,
        (method, params, ctx) => client.answer(method, params, new SdkWire(ctx)),
      )
      this.#listens.tell = (uri) => server.tell('notifications/resources/updated', { uri })
      this.#clients.push(client)
      return server
    }
    const server: RawServer = new RawServer(
      services.presentation.describe(view, session.currentTurn().surface(), era),
      era,
      (method, params, ctx) => client.answer(method, params, new SdkWire(ctx)),
    )
    const client = new LegacyClient(services, { id, identity, session }, new ConnectionWire(server))
    server.oninitialized = () =>
      client.introduce({
        clientInfo: server.getClientVersion(),
        capabilities: server.getClientCapabilities(),
      })
    server.setNotificationHandler('notifications/roots/list_changed', ({ method }) => client.notified(method))
    this.#clients.push(client)
    return server
  }
}

/** Reaches a client between its requests, over its connection. */
class ConnectionWire implements StandingRequestWire {
  readonly signal = new AbortController().signal
  readonly isOpen = true
  readonly meta = {}
  readonly #server: RawServer

  constructor(server: RawServer) {
    this.#server = server
  }

  notify(method: string, params: Json): void {
    this.#server.tell(method, params)
  }

  ask(method: string, params: Json | undefined, limits: AskLimits): Promise<Json> {
    return this.#server.ask(method, params, limits)
  }

  async flushed(): Promise<void> {}
}
