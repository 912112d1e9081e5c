import type { ServerContext } from '@modelcontextprotocol/server'
import type { Session, Surface } from 'toolcrib'
import type { Principal } from './access.ts'
import type { Attendee } from './audience.ts'
import type { Json } from './client-line.ts'
import type { ClientRecord } from './connected-clients.ts'
import type { GatewayCore } from './core.ts'
import { LegacyLine } from './legacy-line.ts'
import { RawServer } from './mcp-server.ts'
import { RpcError } from './rpc-error.ts'
import { serverDescription } from './server-description.ts'
import type { Activation, View } from './view.ts'

const INVALID_PARAMS = -32_602
const MAX_WATCHED = 1_000

/** Who a client is, and what it sees. */
export interface ClientIdentity {
  readonly principal: Principal
  readonly view: View
  readonly activation: Activation
  readonly transport: 'http' | 'stdio'
}

/** One client of the older era, with a connection or a session to itself. */
export class LegacyClient implements Attendee {
  readonly id: string
  readonly identity: ClientIdentity
  readonly server: RawServer
  logLevel: string | undefined
  readonly #core: GatewayCore
  readonly #session: Session
  readonly #record: ClientRecord
  readonly #watched = new Map<string, () => void>()
  readonly #leave: (() => void)[]

  constructor(core: GatewayCore, id: string, identity: ClientIdentity, session: Session) {
    this.id = id
    this.identity = identity
    this.#core = core
    this.#session = session
    const { principal, view, transport } = identity
    this.#record = core.clients.enter({ principal, profile: view.profile, era: 'legacy', transport })
    const description = serverDescription(core, identity.view, 'legacy')
    this.server = new RawServer(description, (method, params, ctx) =>
      this.#record.count(method, this.#answer(method, params, ctx)),
    )
    this.server.oninitialized = () => this.#record.introduce(this.server.getClientVersion())
    const standing = new LegacyLine(this, this.server)
    this.#leave = [core.audience.add(this), core.traffic.stand(core.connections.keyOf(standing), standing)]
    this.server.setNotificationHandler('notifications/roots/list_changed', () => core.rootsChanged(standing))
  }

  get view(): View {
    return this.identity.view
  }

  get principal(): string {
    return this.identity.principal.id
  }

  get askTimeoutMs(): number {
    return this.#core.limits.askTimeoutMs
  }

  surface(): Surface {
    return this.#session.surface()
  }

  changed(method: string): void {
    void this.server.tell({ method })
  }

  async close(): Promise<void> {
    this.#core.clients.leave(this.#record)
    for (const leave of this.#leave) leave()
    for (const stop of this.#watched.values()) stop()
    this.#watched.clear()
    await this.server.close().catch(() => {})
    await this.#core.connections.closeOwner(this.id)
    await this.#core.closeSession(this.#session)
  }

  async #answer(method: string, params: Json, ctx: ServerContext): Promise<Json> {
    if (method === 'logging/setLevel') return this.#setLevel(params)
    if (method === 'resources/subscribe') return this.#watch(String(params.uri))
    if (method === 'resources/unsubscribe') return this.#unwatch(String(params.uri))
    const { requests, audience } = this.#core
    const line = new LegacyLine(this, this.server, ctx)
    const result = await requests.answer(method, params, this.#core.scene(this.view, this.#session), line)
    if (method === 'tools/list') audience.listed(this)
    // What a search found is on the list now, for clients that asked for a list that grows.
    if (method === 'tools/call' && this.identity.activation === 'list') audience.recheck(this)
    return result
  }

  #setLevel({ level }: Json): Json {
    this.logLevel = typeof level === 'string' ? level : undefined
    this.#core.wantLogs(this.view, this.logLevel)
    return {}
  }

  async #watch(uri: string): Promise<Json> {
    if (this.#watched.has(uri)) return {}
    if (this.#watched.size >= MAX_WATCHED)
      throw new RpcError(INVALID_PARAMS, `a client may subscribe to ${MAX_WATCHED} resources at most`)
    const offer = await this.#core.offers.resource(uri, this.view)
    const told = { method: 'notifications/resources/updated', params: { uri } }
    this.#watched.set(
      uri,
      this.#core.subscriptions.watch(offer, () => void this.server.tell(told)),
    )
    return {}
  }

  #unwatch(uri: string): Json {
    this.#watched.get(uri)?.()
    this.#watched.delete(uri)
    return {}
  }
}
