import {
  Client,
  type ClientCapabilities,
  ProtocolError,
  SdkError,
  SdkErrorCode,
  type Transport,
} from '@modelcontextprotocol/client'
import { isRecord } from '../../json.ts'
import type { Schedule } from '../../time.ts'
import { type MessageGuard, rawResult } from './message-guard.ts'

/** A transport whose messages pass a guard. */
export interface GuardedTransport extends Transport {
  readonly guard: MessageGuard
  /** Why it closed, for those that know. */
  readonly closedBecause?: string | undefined
}

/** What a client is, and says it is, on every connection. */
export interface ClientOptions {
  /** What servers see of it in their logs. */
  readonly name: string
  readonly version: string
  /** What the host can do for servers: sampling, elicitation, roots. */
  readonly capabilities?: ClientCapabilities
  /** Sets the handlers for it, before the client connects. */
  readonly prepare?: (client: Client, server: string) => void
}

/** How far a call has come, as the server tells it. */
export interface ProgressNote {
  readonly progress: number
  readonly total?: number | undefined
  readonly message?: string | undefined
}

/** The limits of one request. */
export interface RequestOptions {
  /** How long the server may stay silent. */
  readonly timeoutMs: number
  readonly signal?: AbortSignal
  /** True for what keeps the connection up to date and serves nobody in particular. */
  readonly isUpkeep?: boolean
}

/** The limits of one call, which may take long and say so. */
export interface CallOptions extends RequestOptions {
  /** Asks the server how far it has come. Each word of that starts its time anew. */
  readonly onProgress: (progress: ProgressNote) => void
  /** How long it may take in all, whatever it says of its progress. */
  readonly maxTotalMs: number
}

/** A live connection to one server. */
export class Connection {
  readonly client: Client
  readonly #transport: GuardedTransport
  readonly #schedule: Schedule
  readonly #closeListeners: (() => void)[] = []
  #isClosed = false
  #isClosing = false

  private constructor(client: Client, transport: GuardedTransport, schedule: Schedule) {
    this.client = client
    this.#transport = transport
    this.#schedule = schedule
    client.onclose = () => {
      this.#isClosed = true
      for (const listener of this.#closeListeners) listener()
    }
  }

  /** Connects and agrees on a revision: `legacy` skips the question and greets an older server as it expects. */
  static async open(
    server: string,
    transport: GuardedTransport,
    options: {
      readonly client: ClientOptions
      readonly era: 'auto' | 'legacy'
      readonly timeoutMs: number
      readonly schedule: Schedule
    },
  ): Promise<Connection> {
    const { name, version, capabilities, prepare } = options.client
    const { timeoutMs } = options
    // A server that stays silent is an old one; half the time is left to greet it.
    const probe = { timeoutMs: Math.min(10_000, timeoutMs / 2) }
    const client = new Client(
      { name, version },
      { capabilities: capabilities ?? {}, versionNegotiation: { mode: 'auto', probe } },
    )
    prepare?.(client, server)
    const connection = new Connection(client, transport, options.schedule)
    const prior = options.era === 'legacy' ? { prior: { kind: 'legacy' } as const } : {}
    await client.connect(transport, { timeout: timeoutMs, ...prior })
    return connection
  }

  get era(): 'modern' | 'legacy' | undefined {
    return this.client.getProtocolEra()
  }

  get isClosed(): boolean {
    return this.#isClosed
  }

  /** False as soon as it closes, or is being closed. */
  get isOpen(): boolean {
    return !this.#isClosed && !this.#isClosing
  }

  /** True while somebody waits for an answer; the connection's own upkeep counts for nothing. */
  get isInUse(): boolean {
    return this.#transport.guard.isInUse
  }

  get closedBecause(): string {
    return this.#transport.closedBecause ?? 'the connection closed'
  }

  onClose(listener: () => void): void {
    this.#closeListeners.push(listener)
  }

  /** Hears whenever somebody asks the server for something, and when that is answered. */
  onUse(listener: () => void): void {
    this.#transport.guard.onUse(listener)
  }

  /** The result of a request as the server sent it. */
  async request(
    method: string,
    params: Record<string, unknown>,
    { timeoutMs, signal, isUpkeep = false }: RequestOptions,
  ): Promise<unknown> {
    const options = { timeout: timeoutMs, ...(signal ? { signal } : {}) }
    const send = () => this.client.request({ method, params }, ANYTHING, options)
    return rawResult(await this.#transport.guard.raw(send, { isUpkeep }))
  }

  /** Calls a tool; the result is as the server sent it. */
  async callTool(params: ToolParams, options: CallOptions): Promise<unknown> {
    const send = () =>
      this.#inTime(options, (limits) =>
        this.client.request({ method: 'tools/call', params: { ...params } }, ANYTHING, limits),
      )
    return rawResult(await this.#transport.guard.raw(send))
  }

  /** Calls a tool whose arguments are mirrored in headers, which only the SDK's own call does. */
  async callMirrored(
    params: ToolParams,
    inputSchema: Record<string, unknown>,
    options: CallOptions,
  ): Promise<unknown> {
    const toolDefinition = { name: params.name, inputSchema: { ...inputSchema, type: 'object' as const } }
    return this.#inTime(options, (limits) => this.client.callTool(params, { ...limits, toolDefinition }))
  }

  /** Hears of changes of the server's list, from old servers unasked and from new ones by subscription. */
  onToolsChanged(listener: () => void): void {
    this.client.setNotificationHandler('notifications/tools/list_changed', () => listener())
    const tools = this.client.getServerCapabilities()?.tools
    if (this.era === 'modern' && tools?.listChanged) void this.#subscribe(listener)
  }

  /** Rejects when the server does not answer; any answer will do, an error too. */
  async ping(timeoutMs: number): Promise<void> {
    try {
      const method = this.era === 'modern' ? 'server/discover' : 'ping'
      await this.request(method, {}, { timeoutMs, isUpkeep: true })
    } catch (error) {
      if (!(error instanceof ProtocolError)) throw error
    }
  }

  async close(): Promise<void> {
    this.#isClosing = true
    await this.client.close()
    await this.#transport.close()
  }

  /** Sends a call under its limits. The SDK's own limit in all would not tell the server that nobody waits any more. */
  async #inTime<Answer>(
    { timeoutMs, maxTotalMs, signal, onProgress }: CallOptions,
    send: (limits: CallLimits) => Promise<Answer>,
  ): Promise<Answer> {
    const stop = new AbortController()
    const stopTimer = this.#schedule(maxTotalMs, () => stop.abort(new TotalTimeoutError(maxTotalMs)))
    // By hand: `AbortSignal.any()` takes longer than all else here.
    const cancel = () => stop.abort(signal?.reason)
    if (signal?.aborted) cancel()
    signal?.addEventListener('abort', cancel, { once: true })
    try {
      return await send({
        timeout: timeoutMs,
        resetTimeoutOnProgress: true,
        onprogress: onProgress,
        signal: stop.signal,
      })
    } finally {
      stopTimer()
      signal?.removeEventListener('abort', cancel)
    }
  }

  async #subscribe(listener: () => void, isAgain = false): Promise<void> {
    try {
      const subscription = await this.client.listen({ toolsListChanged: true })
      // What changed while nobody listened is not told again.
      if (isAgain) listener()
      if ((await subscription.closed) === 'local') return
    } catch {
      // A server that refuses is asked again later, like one that hung up.
    }
    if (!this.#isClosed) this.#schedule(RESUBSCRIBE_MS, () => void this.#subscribe(listener, true))
  }
}

/** What a server says while it works extends its time, but not beyond this end. */
export class TotalTimeoutError extends SdkError {
  constructor(maxTotalMs: number) {
    super(SdkErrorCode.RequestTimeout, `no answer within ${maxTotalMs} ms`)
  }
}

type ToolParams = { readonly name: string; readonly arguments: Record<string, unknown> }

interface CallLimits {
  readonly timeout: number
  readonly resetTimeoutOnProgress: true
  readonly onprogress: (progress: ProgressNote) => void
  readonly signal: AbortSignal
}

const RESUBSCRIBE_MS = 5_000

/** Accepts every result: what servers send is read leniently, by those who use it. */
const ANYTHING = {
  '~standard': {
    version: 1,
    vendor: 'toolcrib',
    validate: (value: unknown) => ({ value: isRecord(value) ? value : {} }),
  },
} as const
