import type { Surface } from '@toolcrib/core'
import type { Principal } from '../access/principal.ts'
import type { RequestWire, StandingRequestWire } from '../asks/client-line.ts'
import type { ServerEvents } from '../asks/server-events.ts'
import type { ClientRequests } from '../calls/client-requests.ts'
import type { Limits } from '../gateway-options.ts'
import { INVALID_PARAMS, isJson, type Json, RpcError, textParam } from '../json-rpc.ts'
import type { ListWatcher } from '../lists/list-watchers.ts'
import { LEVELS } from '../lists/log-levels.ts'
import { withPlainProperties } from '../lists/well-formed.ts'
import type { ClientRecord, ConnectedClients } from '../sessions/connected-clients.ts'
import type { ClientSession, GatewaySessions } from '../sessions/gateway-sessions.ts'
import type { Activation, ProfileView } from '../sessions/profile-view.ts'
import { LegacyLine } from './legacy-line.ts'

const MAX_WATCHED = 1_000

/** Who a client is, and what it sees. */
export interface ClientIdentity {
  readonly principal: Principal
  readonly view: ProfileView
  readonly activation: Activation
  readonly transport: 'http' | 'stdio'
}

/** What the clients of the older era work with. */
export interface LegacyClientOptions {
  readonly sessions: GatewaySessions
  readonly connected: ConnectedClients
  readonly requests: ClientRequests
  readonly events: ServerEvents
  readonly limits: Pick<Limits, 'askTimeoutMs'>
}

/** One client of the older era, with its own connection or session. */
export class LegacyClient implements ListWatcher {
  readonly id: string
  readonly identity: ClientIdentity
  capabilities: Json = {}
  logLevel: string | undefined
  readonly #options: LegacyClientOptions
  readonly #opened: ClientSession
  #surface: Surface | undefined
  clientInfo: unknown
  readonly #record: ClientRecord
  readonly #standing: LegacyLine
  readonly #wire: RequestWire
  readonly #watched = new Map<string, () => void>()
  readonly #leave: (() => void)[]
  #hasLeft = false

  /** `wire` reaches the client between its requests. */
  constructor(
    options: LegacyClientOptions,
    { id, identity, opened }: { id: string; identity: ClientIdentity; opened: ClientSession },
    wire: StandingRequestWire,
  ) {
    this.id = id
    this.identity = identity
    this.#options = options
    this.#opened = opened
    this.#wire = wire
    const { principal, view, transport } = identity
    this.#record = options.connected.enter({
      principal,
      sessionId: opened.session.id,
      profile: view.profile,
      era: 'legacy',
      transport,
      canBeReached: () => wire.isOpen,
    })
    this.#standing = new LegacyLine(this, wire)
    const { watchers, traffic } = options.events
    this.#leave = [watchers.add(this), traffic.stand(this.#standing)]
  }

  get view(): ProfileView {
    return this.identity.view
  }

  get principal(): string {
    return this.identity.principal.id
  }

  get askTimeoutMs(): number {
    return this.#options.limits.askTimeoutMs
  }

  /** Stores what the client sends about itself in `initialize`. */
  introduce({ clientInfo, capabilities }: Json): void {
    this.capabilities = isJson(capabilities) ? capabilities : {}
    this.clientInfo = clientInfo
    this.#record.introduce(clientInfo)
  }

  /** Emits no event, because no client reads this surface. */
  surface(): Surface {
    this.#surface = this.#opened.session.scope().surface(this.#surface)
    return this.#surface
  }

  changed(method: string): void {
    this.#wire.notify(method, {})
  }

  /** Returns the result of a request. Throws an `RpcError` if it must be answered with an error. */
  answer(method: string, params: Json, wire: RequestWire): Promise<Json> {
    return this.#record.count(
      method,
      this.#answer(method, params, wire).then((result) => legacyResult(method, result)),
    )
  }

  /** Handles a notification of the client. */
  notified(method: string): void {
    if (method === 'notifications/roots/list_changed')
      this.#options.events.traffic.rootsChanged(this.#standing)
  }

  async close(): Promise<void> {
    // First, so that subscriptions do not end one by one over connections that are closing.
    const closed = this.#options.events.traffic.sessionEnded(this.id)
    this.#leaveAll()
    this.#options.requests.items.forget(this.id)
    await closed
    await this.#options.sessions.end(this.#opened)
  }

  /**
   * Returns the same client with another view, which replaces this one. Calls in flight finish unchanged, over the
   * connections that both share.
   */
  async replacedBy(view: ProfileView, wire: StandingRequestWire): Promise<LegacyClient> {
    const { principal, activation } = this.identity
    const opened = await this.#options.sessions.open(view, this.id, principal, activation)
    const watched = [...this.#watched.keys()]
    this.#leaveAll()
    void this.#options.sessions.end(this.#opened)
    const identity = { ...this.identity, view }
    const client = new LegacyClient(this.#options, { id: this.id, identity, opened }, wire)
    client.capabilities = this.capabilities
    client.logLevel = this.logLevel
    if (this.logLevel !== undefined) this.#options.events.logLevels.want(this.id, view, this.logLevel)
    client.#record.introduce(this.clientInfo)
    client.clientInfo = this.clientInfo
    // Resources that the other view does not show are no longer watched.
    for (const uri of watched) client.#watch(uri).catch(() => {})
    return client
  }

  #leaveAll(): void {
    this.#hasLeft = true
    this.#options.connected.leave(this.#record)
    this.#options.events.logLevels.forget(this.id)
    for (const leave of this.#leave) leave()
    for (const stop of this.#watched.values()) stop()
    this.#watched.clear()
  }

  /** Loads what other replicas changed, and writes what the store has lost. */
  refresh(): Promise<void> {
    return this.#opened.session.refresh()
  }

  async #answer(method: string, params: Json, wire: RequestWire): Promise<Json> {
    if (method === 'logging/setLevel') return this.#setLevel(params)
    if (method === 'resources/subscribe') return this.#watch(textParam(method, params, 'uri'))
    if (method === 'resources/unsubscribe') return this.#unwatch(textParam(method, params, 'uri'))
    const { requests, events } = this.#options
    // Another replica may have added to a list that grows.
    if (method === 'tools/list' && this.identity.activation === 'list') await this.#opened.session.refresh()
    const result = await requests.answer(method, params, this.#opened, new LegacyLine(this, wire))
    if (method === 'tools/list') events.watchers.listed(this)
    // For clients whose list grows, what a search found is now on the list.
    if (method === 'tools/call' && this.identity.activation === 'list') events.watchers.recheck(this)
    return result
  }

  #setLevel({ level }: Json): Json {
    if (typeof level !== 'string' || !LEVELS.includes(level))
      throw new RpcError(INVALID_PARAMS, `the level must be one of ${LEVELS.join(', ')}`)
    this.logLevel = level
    this.#options.events.logLevels.want(this.id, this.view, level)
    return {}
  }

  async #watch(uri: string): Promise<Json> {
    if (this.#watched.has(uri)) return {}
    if (this.#watched.size >= MAX_WATCHED)
      throw new RpcError(INVALID_PARAMS, `a client may subscribe to ${MAX_WATCHED} resources at most`)
    const { traffic, subscriptions } = this.#options.events
    const offer = await this.#options.requests.items.resource(uri, { view: this.view, line: this.#standing })
    const sessionKey = this.#hasLeft ? undefined : await traffic.connectionOf(offer.server, this.#standing)
    if (this.#hasLeft) return {}
    const release = traffic.hold(sessionKey)
    const stop = subscriptions.watch({ ...offer, sessionKey }, () =>
      this.#wire.notify('notifications/resources/updated', { uri }),
    )
    this.#watched.set(uri, () => {
      stop()
      release()
    })
    return {}
  }

  #unwatch(uri: string): Json {
    this.#watched.get(uri)?.()
    this.#watched.delete(uri)
    return {}
  }
}

/** A result for clients of older revisions, where structured content and its schema must be objects. */
function legacyResult(method: string, result: Json): Json {
  if (method === 'tools/call') {
    const { structuredContent: value } = result
    return value === undefined || isJson(value) ? result : { ...result, structuredContent: { result: value } }
  }
  if (method !== 'tools/list' || !Array.isArray(result.tools)) return result
  return { ...result, tools: result.tools.filter(isJson).map(legacyTool) }
}

function legacyTool({ inputSchema, outputSchema, ...tool }: Json): Json {
  return {
    ...tool,
    ...(isJson(inputSchema) ? { inputSchema: withPlainProperties(inputSchema) } : {}),
    ...(isJson(outputSchema) && outputSchema.type === 'object'
      ? { outputSchema: withPlainProperties(outputSchema) }
      : {}),
  }
}
