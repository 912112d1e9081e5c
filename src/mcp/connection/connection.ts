import {
  CLIENT_CAPABILITIES_META_KEY,
  CLIENT_INFO_META_KEY,
  Client,
  type ConnectOptions as GreetingOptions,
  type JSONRPCMessage,
  PROTOCOL_VERSION_META_KEY,
} from '@modelcontextprotocol/client'
import { isRecord } from '../../json.ts'
import type { Schedule } from '../../time.ts'
import type { JsonSchema } from '../../tool.ts'
import { argumentHeaders } from './http/argument-headers.ts'
import { type GuardedTransport, type RequestOptions, Requests, ServerError } from './requests.ts'
import { type ClientOptions, ServerMessages } from './server-messages.ts'

/** What a server said of itself when it was connected. */
export interface ServerInfo {
  readonly era: 'modern' | 'legacy'
  /** The revision of the protocol that both sides speak. */
  readonly protocolVersion: string
  /** What the server offers, as it declared it, unknown fields included. */
  readonly capabilities: Readonly<Record<string, unknown>>
  /** How its tools are meant to be used, in its own words. Not to be trusted. */
  readonly instructions?: string
  /** The name and version it reports. The config decides what it is called. */
  readonly serverInfo?: Readonly<Record<string, unknown>>
}

export interface ConnectionOptions {
  readonly server: string
  readonly sessionKey?: string | undefined
  readonly client: ClientOptions
  /** `auto` finds out which era the server speaks; anything else is known already. */
  readonly greeting: 'auto' | NonNullable<GreetingOptions['prior']>
  readonly timeoutMs: number
  readonly now: () => number
  readonly schedule: Schedule
  /** Called for recoverable violations of the protocol. */
  readonly onWarning: (warning: string) => void
}

/** A live connection to one server. */
export class Connection {
  /** The SDK's client. Its requests count as use; what the server asks does not reach it. */
  readonly client: Client
  readonly #options: ConnectionOptions
  readonly #transport: GuardedTransport
  readonly #requests: Requests
  readonly #messages: ServerMessages
  readonly #closeListeners: (() => void)[] = []
  #capabilities: Readonly<Record<string, unknown>> | undefined
  #info: ServerInfo | undefined
  #isClosed = false
  #isClosing = false

  private constructor(client: Client, transport: GuardedTransport, options: ConnectionOptions) {
    this.client = client
    this.#options = options
    this.#transport = transport
    this.#requests = new Requests(transport, options)
    this.#messages = new ServerMessages({ ...options, transport })
    transport.intercept = (message) => this.#take(message)
    client.onclose = () => this.#closed()
  }

  /** Connects and agrees on a revision of the protocol. Rejects when that fails; the transport is closed then. */
  static async open(transport: GuardedTransport, options: ConnectionOptions): Promise<Connection> {
    const { timeoutMs, greeting } = options
    const { name, version, capabilities = {} } = options.client
    // A server that stays silent is an old one; half the time is left to greet it.
    const probe = { timeoutMs: Math.min(10_000, timeoutMs / 2) }
    const client = new Client(
      { name, version },
      { capabilities, versionNegotiation: { mode: 'auto', probe } },
    )
    const connection = new Connection(client, transport, options)
    await client.connect(transport, {
      timeout: timeoutMs,
      ...(greeting === 'auto' ? {} : { prior: greeting }),
    })
    // It may have gone between two steps, with nobody listening.
    if (transport.closedBecause !== undefined) throw new Error(transport.closedBecause)
    connection.#greeted()
    return connection
  }

  /** What the server said of itself. */
  get info(): ServerInfo {
    if (!this.#info) throw new Error('the connection is not established')
    return this.#info
  }

  get isClosed(): boolean {
    return this.#isClosed
  }

  /** False as soon as it closes, or is being closed. */
  get isOpen(): boolean {
    return !this.#isClosed && !this.#isClosing
  }

  /** True while somebody waits for an answer; the connection's own upkeep does not count. */
  get isInUse(): boolean {
    return this.#transport.guard.isInUse
  }

  get closedBecause(): string {
    return this.#transport.closedBecause ?? 'the connection closed'
  }

  onClose(listener: () => void): void {
    this.#closeListeners.push(listener)
  }

  /** Calls the listener whenever somebody sends the server a request, and when that is answered. */
  onUse(listener: () => void): void {
    this.#transport.guard.onUse(listener)
  }

  /** Calls the listener when the server says that its tools changed. */
  onToolsChanged(listener: () => void): void {
    this.#messages.on('notifications/tools/list_changed', listener)
  }

  /**
   * Sends a request and returns the result exactly as it was parsed, unknown fields included. Rejects with the server's
   * own error (`ServerError`), a `TooLateError`, the reason of the signal, or why it could not be sent.
   */
  request(
    method: string,
    params: Readonly<Record<string, unknown>> | undefined,
    options: RequestOptions,
  ): Promise<Record<string, unknown>> {
    return this.#requests.send(method, params, options)
  }

  /**
   * Calls a tool, like `request()`. `inputSchema` says which arguments are repeated in headers; a modern server over HTTP
   * refuses the call without them.
   */
  callTool(
    params: Readonly<Record<string, unknown>>,
    options: RequestOptions & { readonly inputSchema?: JsonSchema | undefined },
  ): Promise<Record<string, unknown>> {
    const { inputSchema, ...limits } = options
    if (this.info.era !== 'modern' || !this.#transport.hasPerRequestStream)
      return this.request('tools/call', params, limits)
    return this.request('tools/call', params, {
      ...limits,
      headers: argumentHeaders(inputSchema, isRecord(params.arguments) ? params.arguments : {}),
    })
  }

  notify(method: string, params: Readonly<Record<string, unknown>> | undefined): Promise<void> {
    return this.#requests.notify(method, params)
  }

  /** Rejects when the server does not answer. Any answer will do, even an error. */
  async ping(timeoutMs: number): Promise<void> {
    try {
      const method = this.info.era === 'modern' ? 'server/discover' : 'ping'
      await this.request(method, undefined, { timeoutMs, isUpkeep: true })
    } catch (error) {
      if (!(error instanceof ServerError)) throw error
    }
  }

  async close(): Promise<void> {
    this.#isClosing = true
    await this.client.close()
    await this.#transport.close()
  }

  #take(message: JSONRPCMessage): boolean {
    // The SDK drops what it does not know of the answer to its greeting.
    if (!this.#info && 'result' in message && isRecord(message.result.capabilities))
      this.#capabilities = message.result.capabilities
    return this.#requests.take(message) || this.#messages.take(message)
  }

  #greeted(): void {
    const { client } = this
    const { greeting } = this.#options
    const { name, version, capabilities: offered = {} } = this.#options.client
    const protocolVersion = client.getNegotiatedProtocolVersion() ?? ''
    const era = client.getProtocolEra() ?? 'legacy'
    const known =
      greeting !== 'auto' && greeting.kind === 'modern' ? greeting.discover.capabilities : undefined
    const capabilities = this.#capabilities ?? known ?? client.getServerCapabilities() ?? {}
    const instructions = client.getInstructions()
    const serverInfo = client.getServerVersion()
    this.#info = {
      era,
      protocolVersion,
      capabilities: { ...capabilities },
      ...(instructions === undefined ? {} : { instructions }),
      ...(serverInfo === undefined ? {} : { serverInfo: { ...serverInfo } }),
    }
    if (era === 'legacy') return
    this.#messages.isModern = true
    this.#requests.envelope = {
      [PROTOCOL_VERSION_META_KEY]: protocolVersion,
      [CLIENT_INFO_META_KEY]: { name, version },
      [CLIENT_CAPABILITIES_META_KEY]: offered,
    }
    void this.#subscribe()
  }

  #closed(): void {
    this.#isClosed = true
    for (const listener of this.#closeListeners) listener()
    this.#messages.close()
    this.#requests.failAll(new Error('the connection closed'))
  }

  /** A modern server reports changed lists only to those who subscribe. Older ones do so by themselves. */
  async #subscribe({ isAgain = false } = {}): Promise<void> {
    const kinds = LISTS.filter((list) => {
      const capability = this.info.capabilities[list]
      return isRecord(capability) && capability.listChanged === true
    })
    if (kinds.length === 0) return
    // What changed while nobody was subscribed is not reported again.
    if (isAgain) for (const list of kinds) this.#messages.announce(`notifications/${list}/list_changed`)
    const notifications = Object.fromEntries(kinds.map((list) => [`${list}ListChanged`, true]))
    try {
      await this.request('subscriptions/listen', { notifications }, { timeoutMs: 0, isUpkeep: true })
    } catch (error) {
      if (error instanceof ServerError && error.code === METHOD_NOT_FOUND) return
    }
    if (!this.isOpen) return
    this.#options.schedule(RESUBSCRIBE_MS, () => {
      if (this.isOpen) void this.#subscribe({ isAgain: true })
    })
  }
}

const LISTS = ['tools', 'prompts', 'resources'] as const
const METHOD_NOT_FOUND = -32_601
const RESUBSCRIBE_MS = 5_000
