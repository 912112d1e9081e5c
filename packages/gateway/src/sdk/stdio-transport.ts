import { ToolcribError } from '@toolcrib/core'
import type { Principal } from '../access/principal.ts'
import type { GatewayLog } from '../gateway-log.ts'
import type { GatewayTime } from '../gateway-options.ts'
import { isJson, type Json } from '../json-rpc.ts'
import { type ClientIdentity, LegacyClient, type LegacyClientOptions } from '../legacy/legacy-client.ts'
import type { Presentation } from '../lists/presentation.ts'
import type { PromptsAndResources } from '../lists/prompts-and-resources.ts'
import { type Subscriptions, watchListened } from '../lists/subscriptions.ts'
import { ModernClient, type ModernClientOptions } from '../modern/modern-client.ts'
import type { Era } from '../protocol.ts'
import type { ProfileView } from '../sessions/profile-view.ts'
import type { RawServer } from './raw-server.ts'

/** Who is served over stdio. */
export interface StdioOptions {
  /** The profile of the client; without it, the client sees the whole registry. */
  readonly profile?: string | undefined
  readonly input?: NodeJS.ReadableStream | undefined
  readonly output?: NodeJS.WritableStream | undefined
}

/** What serves a client of either era over stdio. */
export interface StdioTransportOptions extends LegacyClientOptions, ModernClientOptions {
  readonly presentation: Presentation
  readonly log: GatewayLog
  readonly time: Pick<GatewayTime, 'newId'>
}

/** The principal of the user who started the process. */
const LOCAL: Principal = { id: 'stdio', name: 'stdio', profile: undefined, profiles: undefined }

/** Serves one client over stdin and stdout. */
export class StdioTransport {
  /** Resolves when the client has disconnected, or `close()` was called. Rejects if it cannot be opened. */
  readonly closed: Promise<void>
  readonly #options: StdioTransportOptions
  readonly #view: ProfileView
  readonly #clients: { close(): Promise<void> }[] = []
  readonly #listens: StdioListens
  #close: () => Promise<void> = async () => {}

  constructor(
    options: StdioTransportOptions,
    { profile, input = process.stdin, output = process.stdout }: StdioOptions,
  ) {
    const view = options.sessions.view(profile, LOCAL)
    if (!view) throw new ToolcribError('config-invalid', `there is no profile "${profile}"`)
    this.#options = options
    this.#view = view
    this.#listens = new StdioListens(options.requests.items, options.events.subscriptions, view)
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
      onerror: ({ message }) => this.#options.log.warn(message),
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
    const options = this.#options
    const view = this.#view
    const id = options.time.newId()
    const opened = await options.sessions.open(view, id, undefined)
    const { RawServer } = await import('./raw-server.ts')
    const { SdkWire } = await import('./sdk-wire.ts')
    const identity: ClientIdentity = {
      principal: LOCAL,
      view,
      activation: view.activation ?? 'doors',
      transport: 'stdio',
    }
    let client: ModernClient | LegacyClient
    const server = new RawServer(
      options.presentation.describe(view, opened.session.scope().surface(), era),
      era,
      (method, params, ctx) => client.answer(method, params, new SdkWire(ctx)),
    )
    if (era === 'modern') {
      client = new ModernClient(options, identity, opened, (method) => server.notify(method, {}))
      this.#listens.tell = (uri) => server.notify('notifications/resources/updated', { uri })
    } else {
      const legacy = new LegacyClient(options, { id, identity, opened }, server)
      client = legacy
      server.oninitialized = () =>
        legacy.introduce({
          clientInfo: server.getClientVersion(),
          capabilities: server.getClientCapabilities(),
        })
      server.setNotificationHandler('notifications/roots/list_changed', ({ method }) =>
        legacy.notified(method),
      )
    }
    this.#clients.push(client)
    return server
  }
}

/**
 * The resources that a modern client over stdio listens to. The SDK answers its `subscriptions/listen` and forwards
 * notifications of resources, but does not report which resources these are, so the requests are read here.
 */
class StdioListens {
  /** Notifies the client that a resource changed; set once the client is known to be modern. */
  tell: (uri: string) => void = () => {}
  readonly #items: PromptsAndResources
  readonly #subscriptions: Subscriptions
  readonly #view: ProfileView
  readonly #stops = new Map<unknown, Promise<() => void>>()

  constructor(items: PromptsAndResources, subscriptions: Subscriptions, view: ProfileView) {
    this.#items = items
    this.#subscriptions = subscriptions
    this.#view = view
  }

  /** Reads which subscriptions a message of the client begins or ends. */
  noticed(message: Json): void {
    const { id, method, params } = message
    if (method === 'notifications/cancelled' && isJson(params)) void this.#stop(params.requestId)
    if (method !== 'subscriptions/listen' || id === undefined || this.#stops.has(id)) return
    const watched = { items: this.#items, subscriptions: this.#subscriptions }
    const stop = watchListened(watched, this.#view, message, (uri) => this.tell(uri))
    this.#stops.set(id, stop)
  }

  async close(): Promise<void> {
    await Promise.all([...this.#stops.keys()].map((id) => this.#stop(id)))
  }

  async #stop(id: unknown): Promise<void> {
    const watching = this.#stops.get(id)
    this.#stops.delete(id)
    const stop = await watching
    stop?.()
  }
}
