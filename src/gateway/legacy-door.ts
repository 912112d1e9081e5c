import type { Access } from './access.ts'
import type { Json } from './client-line.ts'
import { type Exchange, refuseRpc } from './exchange.ts'
import type { GatewayServices } from './gateway-services.ts'
import type { ClientIdentity } from './legacy-client.ts'
import { LEGACY_VERSIONS, LegacySession, refuseUnknown } from './legacy-session.ts'
import type { RelayTarget } from './replica-duties.ts'
import { isSessionId, type SessionRecord, SessionRecords } from './session-records.ts'
import { SessionSearches } from './session-searches.ts'
import { isJson } from './upstream.ts'

const SWEEP_MS = 60_000
const MAX_BATCH = 100
/** When the store is asked again for a session that another replica has open and is writing. */
const LOOK_AGAIN_MS = [10, 40, 150, 300, 500, 1_000, 1_000]

/**
 * Serves clients of the older era over HTTP: each opens a session, which only its own token can use, and which goes on
 * after a restart when there is a store.
 */
export class LegacyDoor implements RelayTarget {
  readonly #services: GatewayServices
  readonly #access: Access
  readonly #records: SessionRecords
  readonly #sessions = new Map<string, Promise<LegacySession>>()
  readonly #stopListening: () => void
  readonly #searches: SessionSearches
  #stopSweeping = () => {}

  constructor(services: GatewayServices, access: Access) {
    this.#services = services
    this.#access = access
    this.#records = new SessionRecords(services.store, services.limits.sessionIdleMs, services)
    this.#searches = new SessionSearches(services.now)
    services.relayTarget = this
    // A store that was away may have taken nothing meanwhile, or have lost what it had.
    this.#stopListening = services.store?.onBack(() => void this.rewrite()) ?? (() => {})
    this.#sweepLater()
  }

  /** How many sessions are open. */
  get size(): number {
    return this.#sessions.size
  }

  /** Answers a GET: opens the stream of a session. */
  async get(exchange: Exchange, client: ClientIdentity): Promise<void> {
    if (!exchange.header('accept')?.includes('text/event-stream'))
      return refuseRpc(exchange, 406, { code: -32_000, message: 'accept text/event-stream' })
    const session = await this.#sessionOf(exchange, client)
    session?.listen(exchange)
  }

  /** Answers a DELETE: ends a session. */
  async delete(exchange: Exchange, client: ClientIdentity): Promise<void> {
    const session = await this.#sessionOf(exchange, client)
    if (!session) return
    await session.close()
    await this.#remove(session.id)
    this.#services.replicas?.ended(session.id)
    exchange.respond(200, {})
  }

  async post(exchange: Exchange, client: ClientIdentity, body: unknown): Promise<void> {
    const fault = headerFault(exchange)
    if (fault) return refuseRpc(exchange, fault.status, { code: -32_000, message: fault.message })
    const messages = messagesOf(body)
    if (!messages) return refuseRpc(exchange, 400, { code: -32_600, message: 'Invalid Request' })
    const [first] = messages
    if (first && isInitialize(first)) return this.#initialize(exchange, client, messages)
    const session = await this.#sessionOf(exchange, client)
    await session?.post(exchange, messages)
  }

  /** Takes a message that came to another replica, if the session is open here. */
  async take(id: string, message: Json): Promise<void> {
    const session = await this.#sessions.get(id)
    session?.take(message)
  }

  async rewrite(): Promise<void> {
    await this.#records.rewrite()
    for (const session of await this.#opened()) await session.refresh()
  }

  wanted(id: string): boolean {
    const opening = this.#sessions.get(id)
    if (!opening) return false
    // What belongs to the session comes first: whoever finds its record opens it.
    opening
      .then((session) => session.refresh())
      .then(() => this.#records.write(id))
      .catch((error) => this.#services.warn(String(error)))
    return true
  }

  async ended(id: string): Promise<void> {
    const session = await this.#sessions.get(id)
    await session?.close()
  }

  /**
   * Ends the sessions that their clients may no longer use, all at once. One whose profile has other settings now goes on
   * with them; one whose profile is gone ends after the calls that are under way.
   */
  async review(): Promise<void> {
    const reviewed = [...this.#sessions.values()].map(async (opening) => {
      const session = await opening.catch(() => undefined)
      if (session) await this.#review(session)
    })
    await Promise.all(reviewed)
  }

  async #review(session: LegacySession): Promise<void> {
    const { principal } = session.identity
    if (!this.#access.stillAccepts(principal)) {
      await session.close()
      return this.#remove(session.id)
    }
    const current = this.#current(session.identity)
    // What fails here is tried again by the next request.
    if (current) await session.show(current.view).catch((error) => this.#services.warn(String(error)))
    else await session.retire()
  }

  /** A client with the view that its profile has now; undefined when it may no longer come in. */
  #current(client: ClientIdentity): ClientIdentity | undefined {
    if (!this.#access.stillAccepts(client.principal)) return undefined
    const view = this.#services.sessions.view(client.view.profile, client.principal)
    return view && { ...client, view }
  }

  async close(): Promise<void> {
    this.#stopSweeping()
    this.#stopListening()
    await Promise.all((await this.#opened()).map((session) => session.close()))
  }

  async #initialize(exchange: Exchange, client: ClientIdentity, messages: readonly Json[]): Promise<void> {
    const [{ id, params } = {}, ...others] = messages
    if (others.length > 0 || exchange.header('mcp-session-id') !== undefined)
      return refuseRpc(exchange, 400, { id, code: -32_600, message: 'initialize opens a session by itself' })
    if (!isJson(params) || !isJson(params.capabilities) || typeof params.protocolVersion !== 'string')
      return refuseRpc(exchange, 400, { id, code: -32_602, message: 'initialize lacks parameters' })
    await this.#makeRoom()
    const current = this.#current(client)
    if (!current) return refuseRpc(exchange, 401, { id, code: -32_000, message: 'a token is needed' })
    const opened = this.#services.newId()
    const session = await this.#open(opened, current, params)
    const { principal, view, activation } = current
    const saved = this.#records.save(opened, {
      principal: principal.id,
      profile: view.profile,
      activation,
      initialize: params,
    })
    // Made while the disk is busy: the first one takes as long.
    const greeting = session.greeting(params)
    await saved
    // Nothing is kept for a token that was revoked meanwhile.
    if (!this.#access.stillAccepts(principal)) await this.#remove(opened)
    const reply = this.#services.replyTo(exchange, { headers: { 'mcp-session-id': opened } })
    reply.finish({ jsonrpc: '2.0', id, result: greeting })
  }

  /** The session that a request names; refuses the request, and returns undefined, where there is none. */
  async #sessionOf(exchange: Exchange, client: ClientIdentity): Promise<LegacySession | undefined> {
    const id = exchange.header('mcp-session-id')
    if (id === undefined) {
      refuseRpc(exchange, 400, { code: -32_000, message: 'Mcp-Session-Id header is required' })
      return undefined
    }
    const session = await this.#find(id, client).catch((error) => {
      this.#services.warn(error instanceof Error ? error.message : 'the store failed')
      return 'unknown' as const
    })
    // Another replica may have it open, or the store may say more in a moment.
    if (session === 'unknown') {
      const message = 'the session cannot be looked up now; try again'
      refuseRpc(exchange, 503, { code: -32_000, message }, { 'retry-after': '1' })
      return undefined
    }
    if (!session) {
      refuseUnknown(exchange)
      return undefined
    }
    this.#records.used(id)
    const version = exchange.header('mcp-protocol-version')
    if (version === undefined || LEGACY_VERSIONS.includes(version)) return session
    const message = `Unsupported protocol version: ${version.slice(0, 40)}; use one of ${LEGACY_VERSIONS.join(', ')}`
    refuseRpc(exchange, 400, { code: -32_000, message })
    return undefined
  }

  /** The session with this id, if it is the client's, with the view that its profile has now. */
  async #find(id: string, client: ClientIdentity): Promise<LegacySession | undefined> {
    const session = await (this.#sessions.get(id) ?? this.#restore(id, client))
    const current = this.#current(client)
    if (!current || !session?.belongsTo(current)) return undefined
    await session.show(current.view)
    return session
  }

  /** Opens a session again that another process, or an earlier start, had open. */
  async #restore(id: string, client: ClientIdentity): Promise<LegacySession | undefined> {
    const record = (await this.#records.load(id)) ?? (await this.#seek(id, client.principal.id))
    if (record?.principal !== client.principal.id || record.profile !== client.view.profile) return undefined
    await this.#makeRoom()
    // Two requests may have come at once.
    const known = this.#sessions.get(id)
    if (known) return known
    // The record took a while: tokens and profiles may have changed.
    const current = this.#current(client)
    if (!current) return undefined
    const session = await this.#open(id, { ...current, activation: record.activation }, record.initialize)
    await this.#records.save(id, record)
    if (!this.#access.stillAccepts(current.principal)) await this.#remove(id)
    return session
  }

  /** The record of a session that was not saved, or that the store has lost, from the replica that has it open. */
  async #seek(id: string, principal: string): Promise<SessionRecord | undefined> {
    const { replicas, schedule } = this.#services
    if (!replicas || !isSessionId(id) || this.#searches.isMissing(id)) return undefined
    const end = this.#searches.begin(principal)
    try {
      const held = await replicas.wanted(id)
      if (held === 'none') {
        this.#searches.noteMissing(id)
        return undefined
      }
      for (const delayMs of held === 'held' ? LOOK_AGAIN_MS : [0]) {
        await new Promise<void>((resolve) => void schedule(delayMs, resolve))
        const record = await this.#records.load(id)
        if (record) return record
      }
      return undefined
    } finally {
      end()
    }
  }

  async #remove(id: string): Promise<void> {
    await this.#records.remove(id)
    await this.#services.sessions.forget(id)
  }

  #open(id: string, identity: ClientIdentity, initialize: Json): Promise<LegacySession> {
    const { log } = this.#services
    const client = { token: identity.principal.name, profile: identity.view.profile }
    log.info('session opened', client)
    const onClose = () => {
      log.info('session ended', client)
      this.#sessions.delete(id)
      this.#records.forget(id)
    }
    const opening = LegacySession.open(this.#services, { id, identity, onClose }, initialize)
    this.#sessions.set(id, opening)
    opening.catch(onClose)
    return opening
  }

  /** The session that was idle the longest makes room; with a store it can come back. One with a call under way stays. */
  async #makeRoom(): Promise<void> {
    const { maxSessions } = this.#services.limits
    if (maxSessions === 0 || this.#sessions.size < maxSessions) return
    const idle = (await this.#opened()).filter(({ isIdle }) => isIdle)
    const [first, ...others] = idle
    if (!first) return
    await others.reduce((oldest, one) => (one.lastUsedAt < oldest.lastUsedAt ? one : oldest), first).close()
  }

  #sweepLater(): void {
    this.#stopSweeping = this.#services.schedule(SWEEP_MS, () => void this.#sweep())
  }

  async #sweep(): Promise<void> {
    this.#sweepLater()
    const { now, limits } = this.#services
    for (const session of await this.#opened())
      if (session.isIdle && now() - session.lastUsedAt > limits.sessionIdleMs) await session.close()
  }

  async #opened(): Promise<readonly LegacySession[]> {
    const opening = await Promise.allSettled(this.#sessions.values())
    return opening.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []))
  }
}

function headerFault(exchange: Exchange): { readonly status: number; readonly message: string } | undefined {
  const accept = exchange.header('accept') ?? ''
  if (!accept.includes('application/json') || !accept.includes('text/event-stream'))
    return { status: 406, message: 'accept both application/json and text/event-stream' }
  const [type = ''] = (exchange.header('content-type') ?? '').split(';')
  // A web page may send other types to any address, without asking first.
  if (type.trim().toLowerCase() !== 'application/json')
    return { status: 415, message: 'the content type must be application/json' }
  return undefined
}

/** The messages of a body: one, or a batch as revision 2025-03-26 has them. Undefined for anything else. */
function messagesOf(body: unknown): readonly Json[] | undefined {
  const messages: readonly unknown[] = Array.isArray(body) ? body : [body]
  if (messages.length === 0 || messages.length > MAX_BATCH) return undefined
  return messages.every(isMessage) ? messages : undefined
}

function isMessage(message: unknown): message is Json {
  if (!isJson(message) || message.jsonrpc !== '2.0') return false
  const { id, method, params, result, error } = message
  const isId = typeof id === 'string' || typeof id === 'number'
  if (typeof method === 'string')
    return (id === undefined || isId) && (params === undefined || isJson(params))
  return isId && (isJson(result) || isJson(error))
}

function isInitialize({ method, id }: Json): boolean {
  return method === 'initialize' && id !== undefined
}
