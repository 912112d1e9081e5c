import type { ClientCapabilities, JSONRPCMessage, JSONRPCRequest } from '@modelcontextprotocol/client'
import { describeError, isRecord } from '@toolcrib/core/internal'
import type { GuardedTransport } from './requests.ts'

/** Handles unprompted messages of servers. */
export interface ServerListener {
  /**
   * Handles server requests: `sampling/createMessage`, `elicitation/create`, `roots/list`. The return value is sent
   * as the result; a thrown error is sent as the error, with its numeric `code` and its `data` if present. Without a
   * handler, every request fails with "method not found". Pings are answered automatically.
   */
  readonly onRequest?: ((request: ServerRequest) => unknown) | undefined
  /**
   * Receives every notification of a server except progress: log messages, changed lists, updated resources, and
   * those of extensions. Exceptions are ignored.
   */
  readonly onNotification?: ((notification: ServerNotification) => void) | undefined
}

/** How a connection presents itself to servers, and who handles their messages. */
export interface ClientOptions extends ServerListener {
  /** The client name that servers see, for example in their logs. */
  readonly name: string
  readonly version: string
  /** What the host offers to servers: sampling, elicitation, roots. */
  readonly capabilities?: ClientCapabilities | undefined
}

/** A client as it presents itself to a server whose questions are refused: it cannot answer any. */
export function withoutAnswers({ onRequest, capabilities = {}, ...client }: ClientOptions): ClientOptions {
  return { ...client, capabilities: withoutAnswerCapabilities(capabilities) }
}

/** Client capabilities without those to answer questions of servers. */
export function withoutAnswerCapabilities(
  capabilities: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  const { sampling, elicitation, roots, ...rest } = capabilities
  return rest
}

/** A request from a server to its client. */
export interface ServerRequest extends ServerNotification {
  /** Aborted when the server cancels the request or the connection closes. */
  readonly signal: AbortSignal
}

/** A notification from a server to its client. */
export interface ServerNotification {
  readonly server: string
  /** The session whose private connection it arrived on; absent on the shared connection. */
  readonly sessionKey?: string | undefined
  readonly method: string
  readonly params?: Readonly<Record<string, unknown>> | undefined
}

export interface ServerMessagesOptions {
  readonly server: string
  readonly sessionKey?: string | undefined
  readonly client: ClientOptions
  readonly transport: GuardedTransport
  readonly now: () => number
  /** Called for recoverable protocol violations. */
  readonly onWarning: (warning: string) => void
}

const WINDOW_MS = 1_000
/** Requests above this rate are not answered: no server needs that many. */
const MAX_PER_WINDOW = 1_000
const MAX_AT_ONCE = 100

const METHOD_NOT_FOUND = -32_601
const INTERNAL_ERROR = -32_603

/** Handles unprompted messages of a server: answers its requests and forwards its notifications. */
export class ServerMessages {
  /** true once the connection uses a protocol revision in which servers send no requests. */
  isModern = false
  readonly #options: ServerMessagesOptions
  readonly #asked = new Map<unknown, AbortController>()
  readonly #listeners = new Map<string, () => void>()
  #windowStart = Number.NEGATIVE_INFINITY
  #inWindow = 0

  constructor(options: ServerMessagesOptions) {
    this.#options = options
  }

  /** Calls the listener for every notification of this method. */
  on(method: string, listener: () => void): void {
    this.#listeners.set(method, listener)
  }

  /**
   * Returns true for a message that is handled here and hidden from the SDK: requests and log messages. Notifications
   * are forwarded and also left to the SDK.
   */
  take(message: JSONRPCMessage): boolean {
    if (!('method' in message)) return false
    if ('id' in message) {
      this.#takeRequest(message)
      return true
    }
    const { method, params } = message
    if (method === 'notifications/cancelled') this.#asked.get(params?.requestId)?.abort()
    this.#listeners.get(method)?.()
    this.#notify(method, params)
    // The SDK has no handler for log messages, and there may be floods of them.
    return method === 'notifications/message'
  }

  /** Aborts every request that is still being handled. */
  close(): void {
    for (const controller of this.#asked.values()) controller.abort()
    this.#asked.clear()
  }

  /** Notifies the client of a change as if the server had reported it. */
  announce(method: string): void {
    this.#listeners.get(method)?.()
    this.#notify(method, undefined)
  }

  #notify(method: string, params: Readonly<Record<string, unknown>> | undefined): void {
    const { server, sessionKey, client } = this.#options
    try {
      client.onNotification?.({ server, sessionKey, method, params })
    } catch {
      // A failing listener must not break the connection.
    }
  }

  #takeRequest(request: JSONRPCRequest): void {
    if (this.isModern) {
      this.#options.onWarning(`it sent the request "${request.method}", which its protocol revision forbids`)
      return
    }
    if (this.#isTooMany()) return
    if (request.method === 'ping') this.#reply({ jsonrpc: '2.0', id: request.id, result: {} })
    else void this.#answer(request)
  }

  /** Answering a flood costs more than sending one. */
  #isTooMany(): boolean {
    const now = this.#options.now()
    if (now - this.#windowStart >= WINDOW_MS) {
      this.#windowStart = now
      this.#inWindow = 0
    }
    this.#inWindow++
    if (this.#inWindow === MAX_PER_WINDOW + 1)
      this.#options.onWarning(
        `it sent more than ${MAX_PER_WINDOW} requests within a second; the rest are not answered`,
      )
    return this.#inWindow > MAX_PER_WINDOW
  }

  async #answer({ id, method, params }: JSONRPCRequest): Promise<void> {
    const { server, sessionKey, client } = this.#options
    const fail = (code: number, message: string, data?: unknown) =>
      this.#reply({
        jsonrpc: '2.0',
        id,
        error: { code, message, ...(data === undefined ? {} : { data }) },
      })
    if (!client.onRequest) return fail(METHOD_NOT_FOUND, 'Method not found')
    if (this.#asked.size >= MAX_AT_ONCE)
      return fail(INTERNAL_ERROR, `more than ${MAX_AT_ONCE} requests are waiting for an answer`)
    const controller = new AbortController()
    this.#asked.set(id, controller)
    try {
      const result = await client.onRequest({ server, sessionKey, method, params, signal: controller.signal })
      if (!controller.signal.aborted)
        this.#reply({ jsonrpc: '2.0', id, result: isRecord(result) ? result : {} })
    } catch (error) {
      if (!controller.signal.aborted) fail(codeOf(error), describeError(error), dataOf(error))
    } finally {
      this.#asked.delete(id)
    }
  }

  #reply(message: JSONRPCMessage): void {
    // A server that has disconnected needs no answer.
    this.#options.transport.send(message).catch(() => {})
  }
}

function codeOf(error: unknown): number {
  return error instanceof Error && 'code' in error && typeof error.code === 'number'
    ? error.code
    : INTERNAL_ERROR
}

function dataOf(error: unknown): unknown {
  return error instanceof Error && 'data' in error ? error.data : undefined
}

/** The listeners of the shared connections: the `client` of the options, and those attached later. */
export class ServerListeners {
  readonly #own: ServerListener
  #attached: readonly ServerListener[] = []

  constructor(own: ServerListener = {}) {
    this.#own = own
  }

  attach(listener: ServerListener): () => void {
    this.#attached = [...this.#attached, listener]
    return () => {
      this.#attached = this.#attached.filter((attached) => attached !== listener)
    }
  }

  /** Returns the same client, with its messages forwarded to every listener. */
  asClient(client: ClientOptions): ClientOptions {
    const current = () => this.#answerer
    return {
      ...client,
      get onRequest() {
        return current()
      },
      onNotification: (notification) => this.#notify(notification),
    }
  }

  get #answerer(): ServerListener['onRequest'] {
    const answering = [this.#own, ...this.#attached].filter(({ onRequest }) => onRequest !== undefined)
    return answering.at(-1)?.onRequest
  }

  #notify(notification: ServerNotification): void {
    for (const { onNotification } of [this.#own, ...this.#attached]) {
      try {
        onNotification?.(notification)
      } catch {
        // A failing listener must not affect the others.
      }
    }
  }
}
