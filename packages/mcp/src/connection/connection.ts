import {
  CLIENT_CAPABILITIES_META_KEY,
  CLIENT_INFO_META_KEY,
  Client,
  type ConnectOptions as GreetingOptions,
  type JSONRPCMessage,
  PROTOCOL_VERSION_META_KEY,
} from '@modelcontextprotocol/client'
import type { JsonSchema, Schedule } from '@toolcrib/core'
import { isRecord } from '@toolcrib/core/internal'
import { argumentHeaders } from './http/argument-headers.ts'
import { AuthorizationNeeded } from './http/describe-http-error.ts'
import { type GuardedTransport, type RequestOptions, Requests, ServerError } from './requests.ts'
import { type ClientOptions, ServerMessages } from './server-messages.ts'

/** What a server reported about itself when connecting. */
export interface ServerInfo {
  readonly era: 'modern' | 'legacy'
  /** The negotiated protocol revision. */
  readonly protocolVersion: string
  /** The server's declared capabilities, including unknown fields. */
  readonly capabilities: Readonly<Record<string, unknown>>
  /** The server's own instructions for using its tools. Untrusted. */
  readonly instructions?: string
  /** The name and version that it reports. Toolcrib uses the name from the config instead. */
  readonly serverInfo?: Readonly<Record<string, unknown>>
}

export interface ConnectionOptions {
  readonly server: string
  readonly sessionKey?: string | undefined
  readonly client: ClientOptions
  /** `auto` detects the server's era; other values name it. */
  readonly greeting: 'auto' | NonNullable<GreetingOptions['prior']>
  /** How long `auto` waits for a response to the modern greeting. Default: 10,000, at most half of `timeoutMs`. */
  readonly probeMs?: number | undefined
  readonly timeoutMs: number
  readonly now: () => number
  readonly schedule: Schedule
  /** Called for recoverable protocol violations. */
  readonly onWarning: (warning: string) => void
}

/** A live connection to one server. */
export class Connection {
  /** The SDK's client. Its requests count as use; server requests do not reach it. */
  readonly client: Client
  readonly #options: ConnectionOptions
  readonly #transport: GuardedTransport
  readonly #requests: Requests
  readonly #messages: ServerMessages
  readonly #closeListeners: (() => void)[] = []
  readonly #subscribed = new Set<unknown>()
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

  /** Connects and negotiates a protocol revision. Rejects when that fails, with the transport closed. */
  static async open(transport: GuardedTransport, options: ConnectionOptions): Promise<Connection> {
    const { timeoutMs, greeting, probeMs = LONGEST_PROBE_MS } = options
    const { name, version, capabilities = {} } = options.client
    // A server that stays silent is an older one; leave half the time to greet it.
    const probe = { timeoutMs: Math.min(probeMs, timeoutMs / 2) }
    const client = new Client(
      { name, version },
      { capabilities, versionNegotiation: { mode: 'auto', probe } },
    )
    const connection = new Connection(client, transport, options)
    await client.connect(transport, {
      timeout: timeoutMs,
      ...(greeting === 'auto' ? {} : { prior: greeting }),
    })
    // It may have closed between two steps, before anything listened.
    if (transport.closedBecause !== undefined) throw new Error(transport.closedBecause)
    connection.#greeted()
    return connection
  }

  /** What the server reported about itself. */
  get info(): ServerInfo {
    if (!this.#info) throw new Error('the connection is not established')
    return this.#info
  }

  /** True once the connection has ended. */
  get isClosed(): boolean {
    return this.#isClosed
  }

  /** False as soon as it is closed or closing. */
  get isOpen(): boolean {
    return !this.#isClosed && !this.#isClosing
  }

  /** True while a request is pending; upkeep does not count. */
  get isInUse(): boolean {
    return this.#transport.guard.isInUse
  }

  /** URIs of the resources it is subscribed to. While there are any, the server may report changes at any time. */
  get subscribed(): ReadonlySet<unknown> {
    return this.#subscribed
  }

  /** Why it ended. */
  get closedBecause(): string {
    return this.#transport.closedBecause ?? 'the connection closed'
  }

  /** Calls the listener when the connection ends. */
  onClose(listener: () => void): void {
    this.#closeListeners.push(listener)
  }

  /** Calls the listener for every request that counts as use, and for its response. */
  onUse(listener: () => void): void {
    this.#transport.guard.onUse(listener)
  }

  /** Calls the listener when the server reports that its tools changed. */
  onToolsChanged(listener: () => void): void {
    this.#messages.on('notifications/tools/list_changed', listener)
  }

  /**
   * Sends a request and returns the result exactly as parsed, including unknown fields. Rejects with the server's own
   * error (`ServerError`), a `TooLateError`, the signal's reason, or the reason it could not be sent.
   */
  request(
    method: string,
    params: Readonly<Record<string, unknown>> | undefined,
    options: RequestOptions,
  ): Promise<Record<string, unknown>> {
    const response = this.#requests.send(method, params, options)
    if (method === 'resources/subscribe') void response.then(() => this.#subscribed.add(params?.uri), ignore)
    if (method === 'resources/unsubscribe') this.#subscribed.delete(params?.uri)
    return response
  }

  /**
   * Calls a tool, like `request()`. `inputSchema` defines which arguments are repeated in headers; a modern HTTP
   * server rejects the call without them.
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

  /**
   * Runs work that sends requests, and runs it again once the server is authorized if it refuses them. Upkeep requests
   * do not ask the user for consent. `onAuthorized` is called before the second run.
   */
  authorizing<Value>(work: () => Promise<Value>, onAuthorized: () => void): Promise<Value> {
    return this.#transport.authorizer?.run(work, { onAuthorized }) ?? work()
  }

  /** Sends a notification; resolves when it is written. */
  notify(method: string, params: Readonly<Record<string, unknown>> | undefined): Promise<void> {
    return this.#requests.notify(method, params)
  }

  /** Rejects when the server does not respond. Any response counts, even an error. */
  async ping(timeoutMs: number): Promise<void> {
    try {
      const method = this.info.era === 'modern' ? 'server/discover' : 'ping'
      await this.request(method, undefined, { timeoutMs, isUpkeep: true })
    } catch (error) {
      if (!(error instanceof ServerError || error instanceof AuthorizationNeeded)) throw error
    }
  }

  /** Ends the connection, and the process of a stdio server. */
  async close(): Promise<void> {
    this.#isClosing = true
    await this.client.close()
    await this.#transport.close()
  }

  #take(message: JSONRPCMessage): boolean {
    // The SDK drops unknown fields of the response to its greeting.
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

  /** A modern server reports changed lists only to subscribers; older ones report them unprompted. */
  async #subscribe({ isAgain = false } = {}): Promise<void> {
    const kinds = LISTS.filter((list) => {
      const capability = this.info.capabilities[list]
      return isRecord(capability) && capability.listChanged === true
    })
    if (kinds.length === 0) return
    // Changes made while unsubscribed are not reported again.
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

const LONGEST_PROBE_MS = 10_000
const LISTS = ['tools', 'prompts', 'resources'] as const
const METHOD_NOT_FOUND = -32_601
const RESUBSCRIBE_MS = 5_000

function ignore(): void {}
