import type { Session, Surface } from 'toolcrib'
import type { Attendee } from './audience.ts'
import type { RequestWire, StandingRequestWire } from './client-line.ts'
import type { ClientRecord } from './connected-clients.ts'
import type { GatewayServices } from './gateway-services.ts'
import { INVALID_PARAMS, isJson, type Json, RpcError, textParam } from './json-rpc.ts'
import { LegacyLine } from './legacy-line.ts'
import { LEVELS } from './log-levels.ts'
import type { Principal } from './principal.ts'
import type { Activation, ProfileView } from './profile-view.ts'

const MAX_WATCHED = 1_000

/** Who a client is, and what it sees. */
export interface ClientIdentity {
  readonly principal: Principal
  readonly view: ProfileView
  readonly activation: Activation
  readonly transport: 'http' | 'stdio'
}

/** One client of the older era, with its own connection or session. */
export class LegacyClient implements Attendee {
  readonly id: string
  readonly identity: ClientIdentity
  capabilities: Json = {}
  logLevel: string | undefined
  readonly #services: GatewayServices
  readonly #session: Session
  #surface: Surface | undefined
  #clientInfo: unknown
  readonly #record: ClientRecord
  readonly #standing: LegacyLine
  readonly #wire: RequestWire
  readonly #watched = new Map<string, () => void>()
  readonly #leave: (() => void)[]
  #hasLeft = false

  /** `wire` reaches the client between its requests. */
  constructor(
    services: GatewayServices,
    { id, identity, session }: { id: string; identity: ClientIdentity; session: Session },
    wire: StandingRequestWire,
  ) {
    this.id = id
    this.identity = identity
    this.#services = services
    this.#session = session
    this.#wire = wire
    const { principal, view, transport } = identity
    this.#record = services.clients.enter({
      principal,
      sessionId: session.id,
      profile: view.profile,
      era: 'legacy',
      transport,
      canBeReached: () => wire.isOpen,
    })
    this.#standing = new LegacyLine(this, wire)
    const { audience, traffic, connections } = services
    this.#leave = [audience.add(this), traffic.stand(connections.keyOf(this.#standing), this.#standing)]
  }

  get view(): ProfileView {
    return this.identity.view
  }

  get principal(): string {
    return this.identity.principal.id
  }

  get askTimeoutMs(): number {
    return this.#services.limits.askTimeoutMs
  }

  /** Stores what the client sends about itself in `initialize`. */
  introduce({ clientInfo, capabilities }: Json): void {
    this.capabilities = isJson(capabilities) ? capabilities : {}
    this.#clientInfo = clientInfo
    this.#record.introduce(clientInfo)
  }

  /** Emits no event, because no client reads this surface. */
  surface(): Surface {
    this.#surface = this.#session.currentTurn().surface(this.#surface)
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
    if (method === 'notifications/roots/list_changed') this.#services.rootsChanged(this.#standing)
  }

  async close(): Promise<void> {
    // First, so that subscriptions do not end one by one over connections that are closing.
    const closed = this.#services.connections.closeOwner(this.id)
    this.#leaveAll()
    this.#services.offers.forget(this.id)
    await closed
    await this.#services.sessions.end(this.#session)
  }

  /**
   * Returns the same client with another view, which replaces this one. Calls in flight finish unchanged, over the
   * connections that both share.
   */
  async replacedBy(view: ProfileView, wire: StandingRequestWire): Promise<LegacyClient> {
    const { principal, activation } = this.identity
    const session = await this.#services.sessions.open(view, this.id, principal, activation)
    const watched = [...this.#watched.keys()]
    this.#leaveAll()
    void this.#services.sessions.end(this.#session)
    const identity = { ...this.identity, view }
    const client = new LegacyClient(this.#services, { id: this.id, identity, session }, wire)
    client.capabilities = this.capabilities
    client.logLevel = this.logLevel
    if (this.logLevel !== undefined) this.#services.logLevels.want(this.id, view, this.logLevel)
    client.#record.introduce(this.#clientInfo)
    client.#clientInfo = this.#clientInfo
    // Resources that the other view does not show are no longer watched.
    for (const uri of watched) client.#watch(uri).catch(() => {})
    return client
  }

  #leaveAll(): void {
    this.#hasLeft = true
    this.#services.clients.leave(this.#record)
    this.#services.logLevels.forget(this.id)
    for (const leave of this.#leave) leave()
    for (const stop of this.#watched.values()) stop()
    this.#watched.clear()
  }

  /** Loads what other replicas changed, and writes what the store has lost. */
  refresh(): Promise<void> {
    return this.#session.refresh()
  }

  async #answer(method: string, params: Json, wire: RequestWire): Promise<Json> {
    if (method === 'logging/setLevel') return this.#setLevel(params)
    if (method === 'resources/subscribe') return this.#watch(textParam(method, params, 'uri'))
    if (method === 'resources/unsubscribe') return this.#unwatch(textParam(method, params, 'uri'))
    const { requests, audience } = this.#services
    const scene = this.#services.sessions.scene(this.view, this.#session)
    // Another replica may have added to a list that grows.
    if (method === 'tools/list' && this.identity.activation === 'list') await this.#session.refresh()
    const result = await requests.answer(method, params, scene, new LegacyLine(this, wire))
    if (method === 'tools/list') audience.listed(this)
    // For clients whose list grows, what a search found is now on the list.
    if (method === 'tools/call' && this.identity.activation === 'list') audience.recheck(this)
    return result
  }

  #setLevel({ level }: Json): Json {
    if (typeof level !== 'string' || !LEVELS.includes(level))
      throw new RpcError(INVALID_PARAMS, `the level must be one of ${LEVELS.join(', ')}`)
    this.logLevel = level
    this.#services.logLevels.want(this.id, this.view, level)
    return {}
  }

  async #watch(uri: string): Promise<Json> {
    if (this.#watched.has(uri)) return {}
    if (this.#watched.size >= MAX_WATCHED)
      throw new RpcError(INVALID_PARAMS, `a client may subscribe to ${MAX_WATCHED} resources at most`)
    const { offers, traffic, subscriptions } = this.#services
    const offer = await offers.resource(uri, { view: this.view, line: this.#standing })
    const sessionKey = this.#hasLeft ? undefined : await traffic.connectionOf(offer.server, this.#standing)
    if (this.#hasLeft) return {}
    const stop = subscriptions.watch({ ...offer, sessionKey }, () =>
      this.#wire.notify('notifications/resources/updated', { uri }),
    )
    this.#watched.set(uri, stop)
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
  const isForeign = (tool: unknown) =>
    isJson(tool) && isJson(tool.outputSchema) && tool.outputSchema.type !== 'object'
  if (!result.tools.some(isForeign)) return result
  const tools = result.tools.map((tool) => {
    if (!isForeign(tool)) return tool
    const { outputSchema, ...rest } = tool
    return rest
  })
  return { ...result, tools }
}
