import type { RequestWire, StandingRequestWire } from '../asks/client-line.ts'
import type { GatewayTime } from '../gateway-options.ts'
import { type EventStream, type Exchange, refuseRpc } from '../http/exchange.ts'
import type { Replies, Reply } from '../http/reply.ts'
import { withTraceContext } from '../http/trace-context.ts'
import { errorResponse, isJson, type Json, METHOD_NOT_FOUND, REFUSED, RpcError } from '../json-rpc.ts'
import type { Presentation } from '../lists/presentation.ts'
import { LEGACY_VERSIONS, methodsOf } from '../protocol.ts'
import type { Replicas } from '../replicas/replicas.ts'
import type { ClientSession } from '../sessions/gateway-sessions.ts'
import type { ProfileView } from '../sessions/profile-view.ts'
import { ClientAsks } from './client-asks.ts'
import { type ClientIdentity, LegacyClient, type LegacyClientOptions } from './legacy-client.ts'
import { PostWire, StandingWire } from './legacy-wires.ts'

/** What sessions of older clients work with. */
export interface LegacySessionOptions extends LegacyClientOptions {
  readonly presentation: Presentation
  readonly replies: Replies
  /** The other replicas, if there are any. */
  readonly replicas: Replicas | undefined
  readonly time: GatewayTime
}

/** One session of a client of the older era, over HTTP. */
export class LegacySession {
  readonly id: string
  lastUsedAt: number
  readonly #options: LegacySessionOptions
  #client: LegacyClient
  readonly #asks: ClientAsks
  #capabilities: Json
  #methods: ReadonlySet<string>
  readonly #underWay = new Map<unknown, AbortController>()
  readonly #onClose: () => void
  #events: EventStream | undefined
  #isClosed = false
  #isRetired = false
  #shown: ProfileView | undefined
  #showing: Promise<void> = Promise.resolve()

  private constructor(
    options: LegacySessionOptions,
    { id, identity, opened }: { id: string; identity: ClientIdentity; opened: ClientSession },
    onClose: () => void,
  ) {
    this.#options = options
    this.#asks = new ClientAsks(options.time.newId(), options.time.schedule)
    this.#client = new LegacyClient(options, { id, identity, opened }, this.#standingWire())
    this.id = this.#client.id
    this.#shown = this.#client.view
    this.lastUsedAt = options.time.now()
    this.#capabilities = options.presentation.capabilities(this.#client.view, 'legacy')
    this.#methods = methodsOf(this.#capabilities, 'legacy')
    this.#onClose = onClose
  }

  /** Opens a session for a client that sent, or once sent, these parameters of `initialize`. */
  static async open(
    options: LegacySessionOptions,
    { id, identity, onClose }: { id: string; identity: ClientIdentity; onClose: () => void },
    initialize: Json,
  ): Promise<LegacySession> {
    const { view, principal, activation } = identity
    const opened = await options.sessions.open(view, id, principal, activation)
    const session = new LegacySession(options, { id, identity, opened }, onClose)
    session.#client.introduce(initialize)
    return session
  }

  /** False while a call is in flight. */
  get isIdle(): boolean {
    return this.#underWay.size === 0
  }

  get identity(): ClientIdentity {
    return this.#client.identity
  }

  /** Serves requests with this view from now on, and notifies the client. Calls in flight finish with the old view. */
  show(view: ProfileView): Promise<void> {
    this.#isRetired = false
    if (this.#shown === view) return this.#showing
    this.#shown = view
    const showing = this.#showing.catch(() => {}).then(() => this.#show(view))
    this.#showing = showing
    // The next request tries again.
    showing.catch(() => {
      if (this.#shown === view) this.#shown = undefined
    })
    return showing
  }

  async #show(view: ProfileView): Promise<void> {
    if (this.#isClosed) return
    this.#client = await this.#client.replacedBy(view, this.#standingWire())
    this.#capabilities = this.#options.presentation.capabilities(view, 'legacy')
    this.#methods = methodsOf(this.#capabilities, 'legacy')
    // The session ended meanwhile.
    if (this.#isClosed) await this.#client.close()
    else this.#client.changed('notifications/tools/list_changed')
  }

  /** Closes once the calls in flight have ended. */
  async retire(): Promise<void> {
    this.#isRetired = true
    this.#events?.end()
    if (this.isIdle) await this.close()
  }

  /** Whether a client with this token, at this address, may use the session. */
  belongsTo({ principal, view }: Pick<ClientIdentity, 'principal' | 'view'>): boolean {
    const { identity } = this.#client
    return principal.id === identity.principal.id && view.profile === identity.view.profile
  }

  /** The result of the `initialize` that opened the session. */
  greeting({ protocolVersion }: Json): Json {
    const { info, instructions } = this.#options.presentation.describe(
      this.#client.view,
      this.#client.surface(),
      'legacy',
    )
    const isKnown = typeof protocolVersion === 'string' && LEGACY_VERSIONS.includes(protocolVersion)
    return {
      protocolVersion: isKnown ? protocolVersion : LEGACY_VERSIONS[0],
      capabilities: this.#capabilities,
      serverInfo: info,
      ...(instructions === undefined ? {} : { instructions }),
    }
  }

  /** Loads what other replicas changed, and writes what the store has lost. */
  refresh(): Promise<void> {
    return this.#client.refresh()
  }

  /** Answers a POST with messages of the client. */
  async post(exchange: Exchange, messages: readonly Json[]): Promise<void> {
    if (this.#isClosed) return refuseUnknown(exchange)
    this.lastUsedAt = this.#options.time.now()
    const requests = messages.filter(isRequest)
    const reply =
      requests.length === 0 ? undefined : this.#options.replies.to(exchange, { expected: requests.length })
    const relayed: (Promise<boolean> | undefined)[] = []
    const answers = messages.map((message) => {
      if (reply && isRequest(message)) return this.#answer(requestOf(message, exchange), reply)
      // A message about an unknown request may belong to a request of another replica.
      if (!this.take(message)) relayed.push(this.#options.replicas?.relay(this.id, message))
      return undefined
    })
    if (!reply) accept(exchange, await Promise.all(relayed))
    if (answers.length === 1) await answers[0]
    else await Promise.all(answers)
  }

  /**
   * Handles a notification or a response. Returns false if it is about a request or question that is not known here.
   */
  take({ method, params, ...response }: Json): boolean {
    if (typeof method !== 'string') return this.#asks.answered(response)
    if (method === 'notifications/cancelled') return this.#cancel(params)
    this.#client.notified(method)
    return true
  }

  /** Answers a GET: opens the stream for messages between requests. There is one at a time. */
  listen(exchange: Exchange): void {
    if (this.#isClosed) {
      refuseUnknown(exchange)
      return
    }
    this.lastUsedAt = this.#options.time.now()
    if (this.#events?.isOpen) {
      refuseRpc(exchange, 409, { code: REFUSED, message: 'this session has a stream already' })
      return
    }
    const events = this.#options.replies.openStream(exchange, { 'mcp-session-id': this.id })
    this.#events = events
    events.onClose(() => {
      this.lastUsedAt = this.#options.time.now()
    })
  }

  async close(): Promise<void> {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#onClose()
    this.#asks.close()
    for (const abort of this.#underWay.values()) abort.abort(new Error('the session ended'))
    this.#events?.end()
    await this.#client.close()
  }

  async #answer({ id, method, params }: ClientRequest, reply: Reply): Promise<void> {
    const abort = new AbortController()
    this.#underWay.set(id, abort)
    try {
      const wire = new PostWire(reply, this.#asks, { signal: abort.signal, params })
      const result = await this.#resultOf(method, params, wire)
      if (abort.signal.reason instanceof Cancelled) reply.abandon()
      else reply.finish({ jsonrpc: '2.0', id, result })
    } catch (error) {
      // Only a client that cancelled expects no answer.
      if (abort.signal.reason instanceof Cancelled) reply.abandon()
      else reply.finish(errorResponse(id, error))
    } finally {
      if (this.#underWay.get(id) === abort) this.#underWay.delete(id)
      if (this.#isRetired && this.isIdle) void this.close()
    }
  }

  #resultOf(method: string, params: Json, wire: RequestWire): Promise<Json> {
    if (method === 'ping') return Promise.resolve({})
    if (!this.#methods.has(method)) throw new RpcError(METHOD_NOT_FOUND, 'Method not found')
    return this.#client.answer(method, params, wire)
  }

  #cancel(params: unknown): boolean {
    const { requestId } = isJson(params) ? params : {}
    const underWay = this.#underWay.get(requestId)
    underWay?.abort(new Cancelled('the client cancelled'))
    return underWay !== undefined
  }

  #standingWire(): StandingRequestWire {
    return new StandingWire(this.#asks, () => this.#events)
  }
}

/** Thrown when the client cancelled its request. */
class Cancelled extends Error {
  override readonly name = 'Cancelled'
}

/** The response for an unknown session. Sessions of other tokens and ended ones look the same. */
export function refuseUnknown(exchange: Exchange): void {
  refuseRpc(exchange, 404, { code: -32_001, message: 'Session not found' })
}

/** Accepts messages, unless one of them could be neither passed on nor queued. */
function accept(exchange: Exchange, passedOn: readonly (boolean | undefined)[]): void {
  const message = 'the replica that this is for cannot be reached; try again'
  if (passedOn.includes(false)) refuseRpc(exchange, 503, { code: REFUSED, message }, { 'retry-after': '1' })
  else exchange.respond(202, {})
}

/** A request of the client, as it is answered. */
interface ClientRequest {
  readonly id: unknown
  readonly method: string
  readonly params: Json
}

function requestOf({ id, method, params }: Json, exchange: Exchange): ClientRequest {
  return { id, method: String(method), params: withTraceContext(isJson(params) ? params : {}, exchange) }
}

function isRequest({ method, id }: Json): boolean {
  return typeof method === 'string' && id !== undefined
}
