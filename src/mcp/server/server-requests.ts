import { describeError, ToolcribError } from '../../errors.ts'
import { isTooLate, TooLateError } from '../../time.ts'
import type { ProgressNote } from '../../tool.ts'
import type { Connection } from '../connection/connection.ts'
import { describeHttpError, isHttpFailure } from '../connection/http/describe-http-error.ts'
import { ServerError } from '../connection/requests.ts'
import type { ServerState } from './managed-server.ts'
import { PrivateLink } from './private-link.ts'
import { PROGRESS_FACTOR, TIMEOUT_MS } from './server-calls.ts'
import type { ServerCatalogue } from './server-catalogue.ts'
import type { ServerContext } from './server-context.ts'
import type { ServerLink } from './server-link.ts'

/** A protocol request or notification, as it is sent. */
export interface RawRequest {
  readonly method: string
  readonly params?: Readonly<Record<string, unknown>> | undefined
}

/** Limits of one request, and the connection to use. */
export interface RawRequestOptions {
  /** Cancels the request, on the server too; it rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined
  /** Requests progress reports. All of them arrive before the result; exceptions are ignored. */
  readonly onProgress?: ((progress: ProgressNote) => void) | undefined
  /**
   * How long the server may be silent; 0 = no limit. Default: `timeout_ms` of its config. Progress restarts it, up to
   * ten times as long in total.
   */
  readonly timeoutMs?: number | undefined
  /** The session whose private connection to use; see `openSession()`. Default: the shared connection. */
  readonly sessionKey?: string | undefined
}

/**
 * Raw requests to one server, over the shared connection or a session's private one. Results are returned unchanged.
 */
export class ServerRequests {
  readonly #state: ServerState
  readonly #catalogue: ServerCatalogue
  readonly #link: ServerLink
  readonly #context: ServerContext
  readonly #private = new Map<string, PrivateLink>()
  #isClosed = false

  constructor(state: ServerState, catalogue: ServerCatalogue, link: ServerLink, context: ServerContext) {
    this.#state = state
    this.#catalogue = catalogue
    this.#link = link
    this.#context = context
  }

  async send(request: RawRequest, options: RawRequestOptions): Promise<Record<string, unknown>> {
    const { sessionKey } = options
    if (sessionKey !== undefined) return this.#send(request, options, this.#privateLink(sessionKey))
    const release = this.#link.hold()
    try {
      return await this.#send(request, options, this.#link)
    } finally {
      release()
    }
  }

  async notify(
    { method, params }: RawRequest,
    { sessionKey }: { readonly sessionKey?: string | undefined },
  ): Promise<void> {
    const link = sessionKey === undefined ? this.#link : this.#private.get(sessionKey)
    const connection = link?.current
    if (!connection) return
    try {
      await connection.notify(method, params)
    } catch (error) {
      throw this.#unavailable(error, connection)
    }
  }

  async closeSession(sessionKey: string): Promise<void> {
    const link = this.#private.get(sessionKey)
    this.#private.delete(sessionKey)
    await link?.close()
  }

  async close(): Promise<void> {
    this.#isClosed = true
    await Promise.all([...this.#private.keys()].map((key) => this.closeSession(key)))
  }

  async #send(
    request: RawRequest,
    options: RawRequestOptions,
    link: ServerLink | PrivateLink,
    { isAgain = false } = {},
  ): Promise<Record<string, unknown>> {
    const { signal } = options
    signal?.throwIfAborted()
    let connection: Connection | undefined
    try {
      connection = await link.connected()
      signal?.throwIfAborted()
      return await this.#sendOver(connection, request, options)
    } catch (error) {
      if (error instanceof ServerError || error instanceof ToolcribError) throw error
      if (signal?.aborted) throw signal.reason
      const isSessionLost = isHttpFailure(error) && error.status === 404
      if (!connection || !isSessionLost || isAgain) throw this.#unavailable(error, connection, request)
      // The server cannot have processed the request.
      await link.drop(connection)
      return this.#send(request, options, link, { isAgain: true })
    }
  }

  async #sendOver(
    connection: Connection,
    { method, params }: RawRequest,
    {
      signal,
      onProgress,
      sessionKey,
      timeoutMs = this.#state.config.timeoutMs ?? TIMEOUT_MS,
    }: RawRequestOptions,
  ): Promise<Record<string, unknown>> {
    const limits = {
      signal,
      timeoutMs,
      ...(onProgress ? { onProgress, maxTotalMs: timeoutMs * PROGRESS_FACTOR } : {}),
    }
    if (method !== 'tools/call' || !params) return connection.request(method, params, limits)
    const name = String(params.name)
    if (!this.#catalogue.takes(name)) throw this.#excluded(name)
    const call = () =>
      connection.callTool(params, { ...limits, inputSchema: this.#catalogue.find(name)?.inputSchema })
    if (!this.#context.guard.isOn) return call()
    return this.#permit(name, connection, { isPrivate: sessionKey !== undefined }).then(call)
  }

  /** Tools that the config excludes cannot be called this way either. */
  #excluded(tool: string): ToolcribError {
    const reason = `calling "${tool}" of server "${this.#state.name}" is not permitted: its config excludes it`
    return new ToolcribError('source-unavailable', reason)
  }

  /** Nor can those that the lockfile quarantines. */
  async #permit(
    tool: string,
    connection: Connection,
    { isPrivate }: { readonly isPrivate: boolean },
  ): Promise<void> {
    const refusal = isPrivate
      ? await this.#catalogue.privateRefusalOf(tool, connection)
      : await this.#catalogue.refusalOf(tool, connection)
    if (refusal !== undefined) throw new ToolcribError('definition-changed', refusal)
  }

  #privateLink(key: string): PrivateLink {
    const known = this.#private.get(key)
    if (known) return known
    const client = this.#context.sessions.get(key)
    if (!client || this.#isClosed)
      throw new ToolcribError('config-invalid', `unknown session "${key}"; open it with openSession()`)
    const server = { state: this.#state, catalogue: this.#catalogue, shared: this.#link }
    const link = new PrivateLink({ key, client }, server, this.#context)
    this.#private.set(key, link)
    return link
  }

  #unavailable(cause: unknown, connection: Connection | undefined, request?: RawRequest): ToolcribError {
    const { name } = this.#state
    const reason = isHttpFailure(cause) ? describeHttpError(cause) : describeError(cause)
    const text = () => {
      // A request that is nested too deep cannot be serialized, so it was never sent.
      if (cause instanceof RangeError) return `the request to server "${name}" is nested too deep to be sent`
      if (!connection) return `server "${name}" is disconnected: ${reason}`
      if (connection.isClosed) return `server "${name}" disconnected: ${connection.closedBecause}`
      if (!isTooLate(cause)) return `server "${name}" cannot be reached: ${reason}`
      const waited =
        cause instanceof TooLateError && cause.afterMs ? ` within ${cause.afterMs} ms` : ' in time'
      return `server "${name}" did not respond to "${request?.method}"${waited}`
    }
    return new ToolcribError('source-unavailable', this.#state.presentable(text()), { cause })
  }
}
