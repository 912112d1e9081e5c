import type { WatchedStore } from '@toolcrib/mcp/stores'
import type { Access } from '../access/access.ts'
import type { GatewayLog } from '../gateway-log.ts'
import type { Limits } from '../gateway-options.ts'
import type { Json } from '../json-rpc.ts'
import { makingRoom } from '../load/shares.ts'
import type { ClientIdentity } from './legacy-client.ts'
import { LegacySession, type LegacySessionOptions } from './legacy-session.ts'
import { isSessionId, type SessionRecord, SessionRecords } from './session-records.ts'
import { SessionSearches } from './session-searches.ts'

const SWEEP_MS = 60_000
/** The delays after which the store is asked again for a session that another replica is writing. */
const LOOK_AGAIN_MS = [10, 40, 150, 300, 500, 1_000, 1_000]

/** Where sessions of older clients are kept, and within which limits. */
export interface LegacySessionsOptions extends LegacySessionOptions {
  readonly store: WatchedStore | undefined
  readonly limits: Limits
  readonly log: GatewayLog
}

/**
 * The sessions of older clients over HTTP: open ones, and closed ones that can be reopened, after a restart or because
 * they made room for others. Only the token that opened a session can use it.
 */
export class LegacySessions {
  readonly #options: LegacySessionsOptions
  readonly #access: Access
  readonly #records: SessionRecords
  readonly #open = new Map<string, Promise<LegacySession>>()
  /** Sessions that were closed here and can be reopened, and their tokens; the first one to be closed at the head. */
  readonly #closed = new Map<string, string>()
  readonly #searches: SessionSearches
  readonly #stopListening: () => void
  #stopSweeping = () => {}

  constructor(options: LegacySessionsOptions, access: Access) {
    this.#options = options
    const { store, limits, log, time } = options
    this.#access = access
    this.#records = new SessionRecords(store, { limits, now: time.now, warn: (warning) => log.warn(warning) })
    this.#searches = new SessionSearches(time.now)
    // A store that was unreachable may have missed writes, or may have lost data.
    this.#stopListening = store?.onBack(() => void this.rewrite()) ?? (() => {})
    this.#sweepLater()
  }

  /** How many sessions are open. */
  get size(): number {
    return this.#open.size
  }

  /**
   * Opens a session for a client that sent these parameters of `initialize`; undefined if its token is no longer
   * accepted. `greet` runs while the session is being saved.
   */
  async begin<Greeting>(
    client: ClientIdentity,
    initialize: Json,
    greet: (session: LegacySession) => Greeting,
  ): Promise<{ readonly id: string; readonly greeting: Greeting } | undefined> {
    await this.#makeRoom(client.principal.id)
    const current = this.#current(client)
    if (!current) return undefined
    const id = this.#options.time.newId()
    const session = await this.#start(id, current, initialize)
    const { principal, view, activation } = current
    const record = { principal: principal.id, profile: view.profile, activation, initialize }
    const saved = this.#records.save(id, record)
    const greeting = greet(session)
    await saved
    // Nothing is kept for a token that was revoked meanwhile.
    if (!this.#access.stillAccepts(principal)) await this.remove(id)
    return { id, greeting }
  }

  /**
   * The session with this id, if it belongs to the client, with the current view of its profile. Rejects if it cannot
   * be determined whether there is one.
   */
  async find(id: string, client: ClientIdentity): Promise<LegacySession | undefined> {
    const session = await (this.#open.get(id) ?? this.#restore(id, client))
    const current = this.#current(client)
    if (!current || !session?.belongsTo(current)) return undefined
    await session.show(current.view)
    this.#records.used(id)
    return session
  }

  /** Ends a session for good. */
  async end(session: LegacySession): Promise<void> {
    await session.close()
    await this.remove(session.id)
  }

  /** Deletes the stored state of a session. */
  async remove(id: string): Promise<void> {
    this.#closed.delete(id)
    await this.#records.remove(id)
    await this.#options.sessions.forget(id)
  }

  /**
   * Ends all sessions that their clients may no longer use. If a profile's settings changed, its sessions continue with
   * the new ones; if a profile is gone, its sessions end after the calls in flight.
   */
  async review(): Promise<void> {
    const reviewed = [...this.#open.values()].map(async (opening) => {
      const session = await opening.catch(() => undefined)
      if (session) await this.#review(session)
    })
    await Promise.all(reviewed)
  }

  async close(): Promise<void> {
    this.#stopSweeping()
    this.#stopListening()
    await Promise.all((await this.#opened()).map((session) => session.close()))
  }

  /** Handles a message that arrived at another replica, if the session is open here. */
  async take(id: string, message: Json): Promise<void> {
    const session = await this.#open.get(id)
    session?.take(message)
  }

  /** Writes all sessions to the store again, which may have lost them. */
  async rewrite(): Promise<void> {
    await this.#records.rewrite()
    for (const session of await this.#opened()) await session.refresh()
  }

  /** Whether a session that another replica looks for is open here. If so, it is written to the store again. */
  wanted(id: string): boolean {
    const opening = this.#open.get(id)
    if (!opening) return false
    // The session's data is written before its record, because a replica that finds the record opens the session.
    opening
      .then((session) => session.refresh())
      .then(() => this.#records.write(id))
      .catch((error) => this.#options.log.warn(String(error)))
    return true
  }

  /** The client ended its session at another replica. */
  async ended(id: string): Promise<void> {
    const session = await this.#open.get(id)
    await session?.close()
  }

  async #review(session: LegacySession): Promise<void> {
    if (!this.#access.stillAccepts(session.identity.principal)) return this.end(session)
    const current = this.#current(session.identity)
    // If this fails, the next request tries again.
    if (current) await session.show(current.view).catch((error) => this.#options.log.warn(String(error)))
    else await session.retire()
  }

  /** A client with the current view of its profile; undefined if it may no longer connect. */
  #current(client: ClientIdentity): ClientIdentity | undefined {
    if (!this.#access.stillAccepts(client.principal)) return undefined
    const view = this.#options.sessions.view(client.view.profile, client.principal)
    return view && { ...client, view }
  }

  /** Reopens a session that another process, or an earlier start, had open. */
  async #restore(id: string, client: ClientIdentity): Promise<LegacySession | undefined> {
    const record = (await this.#records.load(id)) ?? (await this.#seek(id, client.principal.id))
    if (record?.principal !== client.principal.id || record.profile !== client.view.profile) return undefined
    // Making room for it closes another session.
    this.#closed.delete(id)
    await this.#makeRoom(client.principal.id)
    // Two requests may have arrived at once.
    const known = this.#open.get(id)
    if (known) return known
    // Tokens and profiles may have changed while the record was loading.
    const current = this.#current(client)
    if (!current) return undefined
    const session = await this.#start(id, { ...current, activation: record.activation }, record.initialize)
    await this.#records.save(id, record)
    if (!this.#access.stillAccepts(current.principal)) await this.remove(id)
    return session
  }

  /** The record of a session that is missing in the store, from the replica that has it open. */
  async #seek(id: string, principal: string): Promise<SessionRecord | undefined> {
    const { replicas, time } = this.#options
    if (!replicas || !isSessionId(id) || this.#searches.isMissing(id)) return undefined
    const end = this.#searches.begin(principal)
    try {
      const held = await replicas.wanted(id)
      if (held === 'none') {
        this.#searches.noteMissing(id)
        return undefined
      }
      for (const delayMs of held === 'held' ? LOOK_AGAIN_MS : [0]) {
        await new Promise<void>((resolve) => void time.schedule(delayMs, resolve))
        const record = await this.#records.load(id)
        if (record) return record
      }
      return undefined
    } finally {
      end()
    }
  }

  #start(id: string, identity: ClientIdentity, initialize: Json): Promise<LegacySession> {
    const { log } = this.#options
    const client = { token: identity.principal.name, profile: identity.view.profile }
    log.info('session opened', client)
    const onClose = () => {
      log.info('session ended', client)
      this.#open.delete(id)
      this.#records.forget(id)
      this.#noteClosed(id, identity.principal.id)
    }
    const opening = LegacySession.open(this.#options, { id, identity, onClose }, initialize)
    this.#open.set(id, opening)
    this.#closed.delete(id)
    opening.catch(onClose)
    return opening
  }

  /**
   * The number of closed sessions is limited too, because a client can open any number, one after another. With
   * replicas, another one may have the session open.
   */
  #noteClosed(id: string, principal: string): void {
    const { limits, replicas } = this.#options
    if (replicas) return
    const { maxSessions } = limits
    const kept = [...this.#closed]
    this.#closed.set(id, principal)
    if (maxSessions === 0 || this.#closed.size <= maxSessions) return
    const [first] = makingRoom(kept, ([, holder]) => holder, principal)
    if (first) void this.remove(first[0])
  }

  /**
   * Closes the session that was idle the longest, of the token with the most; with a store it can be reopened. A session
   * with a call in flight stays.
   */
  async #makeRoom(principal: string): Promise<void> {
    const { maxSessions } = this.#options.limits
    if (maxSessions === 0 || this.#open.size < maxSessions) return
    const candidates = makingRoom(await this.#opened(), ({ identity }) => identity.principal.id, principal)
    const [first, ...others] = candidates.filter(({ isIdle }) => isIdle)
    if (!first) return
    await others.reduce((oldest, one) => (one.lastUsedAt < oldest.lastUsedAt ? one : oldest), first).close()
  }

  #sweepLater(): void {
    this.#stopSweeping = this.#options.time.schedule(SWEEP_MS, () => void this.#sweep())
  }

  async #sweep(): Promise<void> {
    this.#sweepLater()
    const { time, limits } = this.#options
    for (const session of await this.#opened())
      if (session.isIdle && time.now() - session.lastUsedAt > limits.sessionIdleMs) await session.close()
  }

  async #opened(): Promise<readonly LegacySession[]> {
    const opening = await Promise.allSettled(this.#open.values())
    return opening.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []))
  }
}
