import type { ProgressNote, ToolContext, ToolResult } from '@toolcrib/core'
import { ToolcribError } from '@toolcrib/core'
import { isRecord } from '@toolcrib/core/internal'
import type { RawRequest, RawRequestOptions } from '../connect-options.ts'
import type { Connection } from '../connection/connection.ts'
import { ServerError } from '../connection/requests.ts'
import { type ClientOptions, withoutAnswerCapabilities } from '../connection/server-messages.ts'
import { ITEM_LISTS, type ListKind } from '../listed/server-item.ts'
import type { ServerTool } from '../listed/server-tool.ts'
import type { Connector } from './connector.ts'
import { PrivateLink } from './private-link.ts'
import { describeUnanswered, failedCall, isSessionLost, Refusal, Unanswered } from './request-failures.ts'
import type { ServerCatalogue } from './server-catalogue.ts'
import type { ItemList, ServerItems } from './server-items.ts'
import type { ServerLink } from './server-link.ts'
import type { ServerState } from './server-state.ts'
import { ToolResults } from './tool-results.ts'

const TIMEOUT_MS = 60_000
/** A server that keeps reporting progress gets this multiple of the timeout. */
const PROGRESS_FACTOR = 10
/** How often one request may be answered with questions. */
const MAX_ROUNDS = 16

/** Who is asked, and over which connections. */
export interface RequestClients {
  /** The client of the shared connection. */
  readonly shared: ClientOptions
  /** The clients of sessions with private connections. */
  readonly ofSessions: ReadonlyMap<string, ClientOptions>
}

/**
 * Everything that is requested of one server: calls of its tools, lists, and raw requests, over the shared connection or a
 * session's private one. What the config excludes and what the lockfile holds back is refused. A request whose session
 * the server has lost is sent again.
 */
export class ServerRequests {
  readonly #state: ServerState
  readonly #catalogue: ServerCatalogue
  readonly #items: ServerItems
  readonly #link: ServerLink
  readonly #connector: Connector
  readonly #clients: RequestClients
  readonly #results: ToolResults
  readonly #private = new Map<string, PrivateLink>()
  #isClosed = false

  constructor(
    state: ServerState,
    { catalogue, items, link }: { catalogue: ServerCatalogue; items: ServerItems; link: ServerLink },
    { connector, clients }: { connector: Connector; clients: RequestClients },
  ) {
    this.#state = state
    this.#catalogue = catalogue
    this.#items = items
    this.#link = link
    this.#connector = connector
    this.#clients = clients
    this.#results = new ToolResults(state)
  }

  /** Runs one call of a tool, starting the server if necessary. Never rejects. */
  async call(tool: ServerTool, input: unknown, ctx: ToolContext): Promise<ToolResult> {
    const { toolCallId, signal } = ctx
    const onProgress = (note: ProgressNote) => {
      this.#state.emit({ type: 'call-progress', tool: tool.name, toolCallId, ...note })
      ctx.onProgress?.(note)
    }
    const onQuestion = (question: RawRequest) => this.#askHost(question, signal)
    const request = {
      method: 'tools/call',
      params: { name: tool.name, arguments: isRecord(input) ? input : {} },
    }
    try {
      this.#throwIfExcluded(tool.name)
      const response = await this.#run(request.method, { signal }, (connection) =>
        this.#exchange(connection, request, { signal, onProgress, onQuestion }),
      )
      return await this.#results.of(response, tool, toolCallId)
    } catch (error) {
      return this.#failedCall(error, tool.name, signal)
    }
  }

  /** Sends a request and returns the result as the server sent it. */
  async send(request: RawRequest, options: RawRequestOptions): Promise<Record<string, unknown>> {
    try {
      return await this.#run(request.method, options, (connection) =>
        this.#exchange(connection, request, options),
      )
    } catch (error) {
      throw this.#thrown(error, options.signal)
    }
  }

  /** Reads a whole list; the limits apply to each page. Rejects only when there is no connection. */
  async list(kind: ListKind, { sessionKey, ...limits }: RawRequestOptions): Promise<ItemList> {
    const isShared = sessionKey === undefined
    const { method } = ITEM_LISTS[kind]
    try {
      return await this.#run(method, { sessionKey, ...limits }, async (connection) => {
        const list = await this.#items.list(kind, { connection, isShared }, limits)
        const { failure } = list
        if (failure === undefined || failure instanceof ServerError) return list
        // The session is lost, and is opened again.
        if (isSessionLost(failure)) throw failure
        return { ...list, failure: this.#thrown(new Unanswered(method, failure, connection)) }
      })
    } catch (error) {
      throw this.#thrown(error, limits.signal)
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
      throw this.#thrown(new Unanswered(method, error, connection))
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

  /** Runs `work` over the shared connection, or over that of a session. Rejects with `Unanswered` if it got no response. */
  async #run<Result>(
    method: string,
    { sessionKey, signal }: RawRequestOptions,
    work: (connection: Connection) => Promise<Result>,
  ): Promise<Result> {
    const link = sessionKey === undefined ? this.#link : this.#privateLink(sessionKey)
    const release = sessionKey === undefined ? this.#link.hold() : () => {}
    try {
      for (let isAgain = false; ; isAgain = true) {
        signal?.throwIfAborted()
        const connection = await link.connected().catch((error) => {
          throw new Unanswered(method, error, undefined)
        })
        try {
          signal?.throwIfAborted()
          return await work(connection)
        } catch (error) {
          if (error instanceof ServerError || error instanceof ToolcribError || error instanceof Refusal)
            throw error
          if (signal?.aborted) throw new Unanswered(method, signal.reason, connection)
          if (isAgain || !isSessionLost(error)) throw new Unanswered(method, error, connection)
          // The server cannot have processed the request.
          await link.drop(connection)
        }
      }
    } finally {
      release()
    }
  }

  /** Sends a request, and sends it again with the answers as long as the response consists of questions. */
  async #exchange(
    connection: Connection,
    request: RawRequest,
    options: RawRequestOptions,
  ): Promise<Record<string, unknown>> {
    const mayAsk = this.#state.config.asks !== false
    const { method, params } = mayAsk ? request : withoutAsking(request)
    let result = await this.#sendChecked(connection, { method, params }, options)
    if (!mayAsk && (result.resultType === 'input_required' || result.inputRequests !== undefined))
      throw new ToolcribError(
        'source-unavailable',
        `server "${this.#state.name}" asked a question: it needs input from the user, which its config forbids (asks = false)`,
      )
    const { onQuestion } = options
    for (let round = 0; onQuestion && result.resultType === 'input_required'; round++) {
      if (round === MAX_ROUNDS)
        throw new ToolcribError(
          'source-unavailable',
          `server "${this.#state.name}" asked for input ${MAX_ROUNDS} times and still needs more`,
        )
      const { requestState } = result
      const inputResponses = await answersTo(result.inputRequests, onQuestion)
      const answers = { inputResponses, ...(requestState === undefined ? {} : { requestState }) }
      result = await this.#sendChecked(connection, { method, params: { ...params, ...answers } }, options)
    }
    return result
  }

  /** Refuses what the config excludes and what the lockfile holds back. */
  async #sendChecked(
    connection: Connection,
    { method, params }: RawRequest,
    { signal, onProgress, sessionKey, timeoutMs = this.#timeoutMs }: RawRequestOptions,
  ): Promise<Record<string, unknown>> {
    const isShared = sessionKey === undefined
    const limits = {
      signal,
      timeoutMs,
      ...(onProgress ? { onProgress, maxTotalMs: timeoutMs * PROGRESS_FACTOR } : {}),
    }
    if (method !== 'tools/call' || !params) {
      const refusal = await this.#items.refusalOf({ method, params }, { connection, isShared })
      if (refusal !== undefined) throw new Refusal('definition-changed', refusal)
      return connection.request(method, params, limits)
    }
    const name = String(params.name)
    this.#throwIfExcluded(name)
    const refusal = isShared
      ? this.#catalogue.refusalOf(name, connection)
      : this.#catalogue.privateRefusalOf(name, connection)
    const reason = refusal && (await refusal)
    if (reason !== undefined) throw new Refusal('definition-changed', reason)
    return connection.callTool(params, { ...limits, inputSchema: this.#catalogue.find(name)?.inputSchema })
  }

  get #timeoutMs(): number {
    return this.#state.config.timeoutMs ?? TIMEOUT_MS
  }

  async #askHost({ method, params }: RawRequest, signal: AbortSignal): Promise<unknown> {
    const { shared } = this.#clients
    const { onRequest } = shared
    if (!onRequest) throw new Error('it needs input from the user, and the host has no handler for it')
    return onRequest({ server: this.#state.name, method, signal, ...(params ? { params } : {}) })
  }

  #privateLink(key: string): PrivateLink {
    const known = this.#private.get(key)
    if (known) return known
    const client = this.#clients.ofSessions.get(key)
    if (!client || this.#isClosed)
      throw new ToolcribError('config-invalid', `unknown session "${key}"; open it with openSession()`)
    const server = { state: this.#state, catalogue: this.#catalogue, shared: this.#link }
    const link = new PrivateLink({ key, client }, server, this.#connector)
    this.#private.set(key, link)
    return link
  }

  #failedCall(error: unknown, tool: string, signal: AbortSignal): ToolResult {
    const { connection } = error instanceof Unanswered ? error : {}
    if (connection && !connection.isClosed) this.#link.doubt(connection)
    const { name: server } = this.#state
    const result = failedCall(error, { server, tool, signal, timeoutMs: this.#timeoutMs })
    return result.ok ? result : { ...result, error: this.#state.presentable(result.error) }
  }

  /** What a raw request rejects with. */
  #thrown(error: unknown, signal?: AbortSignal): unknown {
    if (error instanceof Refusal) return error.toError()
    if (!(error instanceof Unanswered)) return error
    if (signal?.aborted) return signal.reason
    const reason = this.#state.presentable(describeUnanswered(error, this.#state.name))
    return new ToolcribError('source-unavailable', reason, { cause: error.cause })
  }

  #throwIfExcluded(tool: string): void {
    // Tools found under an earlier config stay registered until the new list is known.
    if (this.#catalogue.takes(tool)) return
    const call = `calling "${tool}" of server "${this.#state.name}"`
    throw new Refusal('source-unavailable', `${call} is not permitted: its config excludes it`)
  }
}

async function answersTo(
  questions: unknown,
  onQuestion: (question: RawRequest) => Promise<unknown>,
): Promise<Record<string, unknown>> {
  const answers = Object.entries(isRecord(questions) ? questions : {}).map(async ([key, question]) => {
    const { method, params } = isRecord(question) ? question : {}
    return [key, await onQuestion({ method: String(method), ...(isRecord(params) ? { params } : {}) })]
  })
  return Object.fromEntries(await Promise.all(answers))
}

const CAPABILITIES = 'io.modelcontextprotocol/clientCapabilities'

/** The request of a client that cannot be asked anything. */
function withoutAsking({ method, params = {} }: RawRequest): RawRequest {
  const { [CAPABILITIES]: declared, ...meta } = isRecord(params._meta) ? params._meta : {}
  if (!isRecord(declared)) return { method, params }
  const capabilities = withoutAnswerCapabilities(declared)
  return { method, params: { ...params, _meta: { ...meta, [CAPABILITIES]: capabilities } } }
}
