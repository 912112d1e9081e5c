import type { ConnectedServers, Schedule, ServerListener } from '@toolcrib/mcp'
import type { Limits } from '../gateway-options.ts'
import type { Json } from '../json-rpc.ts'
import { hasFullShare, makingRoom } from '../load/shares.ts'
import { WaitingCalls } from '../load/waiting-calls.ts'
import type { ClientLine } from './client-line.ts'
import type { ConnectionUse } from './connection-use.ts'

/** A connection reserved for one request until it is released. */
export interface Lease {
  readonly sessionKey: string
  /** A server that did not answer may still work on the request, and ask about it later. */
  release(outcome: { readonly isAnswered: boolean }): void
}

/** How many connections to a server one client may have that carry one request at a time. */
const MAX_PER_CLIENT = 4
/** A request that takes longer does not make the client's other requests wait. */
const SLOW_MS = 1_000
/** The first request also waits for the server's start. */
const SLOW_START_MS = 10_000
/** How long a connection is kept for clients that have no session. */
const IDLE_MS = 60_000

interface PrivateConnection {
  readonly sessionKey: string
  readonly use: ConnectionUse
  /** The sessions that use it. */
  readonly sessions: Set<string>
  /** Owners of requests that the server did not answer. */
  readonly abandonedBy: Set<string>
  requests: number
  /** Lists that are being read over it, and subscriptions. */
  holds: number
  /** Questions that wait for an answer. */
  questions: number
  hasAskedForRoots: boolean
  /** Whether the server has started, as far as is known. */
  hasAnswered: boolean
  /** Whether no further request may use it. */
  isSpent: boolean
  lastUsedAt: number
  stopIdling: () => void
}

interface Services {
  readonly limits: Pick<Limits, 'maxConnectionsPerServer' | 'maxQueuedPerServer'>
  readonly now: () => number
  readonly schedule: Schedule
}

/**
 * Connections for servers that ask their clients questions: each is for the requests of one `ConnectionUse`. Their number
 * is limited; requests that find none free wait, and connections that are not in use make room.
 */
export class PrivateConnections {
  readonly #servers: ConnectedServers
  readonly #listener: () => ServerListener
  readonly #services: Services
  readonly #open = new Map<string, PrivateConnection>()
  readonly #pools = new Map<string, Set<PrivateConnection>>()
  readonly #waiting = new Map<string, WaitingCalls<ConnectionUse, PrivateConnection>>()
  /** Servers that answered a request over a new connection without asking for the client's roots. */
  readonly #withoutRoots = new Set<string>()
  #opened = 0

  /** `listener` is requested with the first connection. */
  constructor(servers: ConnectedServers, listener: () => ServerListener, services: Services) {
    this.#servers = servers
    this.#listener = listener
    this.#services = services
  }

  /** Reserves a connection; rejects if too many requests wait for one, and with the signal's reason. */
  async lease(use: ConnectionUse, line: ClientLine): Promise<Lease> {
    const connection = this.#find(use) ?? (await this.#wait(use, line.signal))
    this.#joins(connection, line)
    let isReleased = false
    return {
      sessionKey: connection.sessionKey,
      release: ({ isAnswered }) => {
        if (isReleased) return
        isReleased = true
        connection.requests--
        connection.hasAnswered ||= isAnswered
        if (isAnswered && use.capabilities.roots !== undefined && !connection.hasAskedForRoots)
          this.#withoutRoots.add(use.server)
        if (!isAnswered && connection.abandonedBy.size < 2) connection.abandonedBy.add(line.owner)
        connection.isSpent ||= use.isExclusive && !isAnswered
        this.#unused(connection)
      },
    }
  }

  /** The connection that a session uses for lists and subscriptions; undefined if there is none to be had now. */
  ofSession(use: ConnectionUse, line: ClientLine): string | undefined {
    const connection = this.#find(use)
    if (!connection) return undefined
    connection.requests--
    this.#joins(connection, line)
    this.#unused(connection)
    return connection.sessionKey
  }

  /** Keeps a connection open until the returned function is called. */
  hold(sessionKey: string | undefined): () => void {
    const connection = this.#open.get(sessionKey ?? '')
    if (!connection) return () => {}
    connection.holds++
    connection.stopIdling()
    return () => {
      connection.holds--
      this.#unused(connection)
    }
  }

  /** The owners of requests that the server may still work on, though nobody waits for them. */
  abandonedBy(sessionKey: string): ReadonlySet<string> | undefined {
    return this.#open.get(sessionKey)?.abandonedBy
  }

  /** The session whose client is asked what comes over this connection while no request is in flight. */
  ownerOf(sessionKey: string): string | undefined {
    return this.#open.get(sessionKey)?.use.owner
  }

  /** The roots that belong to a connection, null for a client that does not tell them; undefined if it is to be asked. */
  rootsOf(sessionKey: string): Json | null | undefined {
    return this.#open.get(sessionKey)?.use.roots
  }

  /** Records a question to a client over a connection; returns a function that ends it. */
  asked(sessionKey: string): () => void {
    const connection = this.#open.get(sessionKey)
    if (!connection) return () => {}
    connection.hasAnswered = true
    connection.questions++
    // The client's other requests need not wait for its answer.
    this.#admit(connection.use.server)
    return () => {
      connection.questions--
    }
  }

  /** Records a question for roots; returns whether this server asks for them over every connection, as far as is known. */
  askedForRoots(server: string, sessionKey: string): boolean {
    const connection = this.#open.get(sessionKey)
    if (connection) connection.hasAskedForRoots = true
    return !this.#withoutRoots.has(server)
  }

  /** Records that a client told its roots: the server may remember them, and the next client may have others. */
  toldRoots(sessionKey: string): void {
    const connection = this.#open.get(sessionKey)
    if (connection && connection.use.owner === undefined) connection.isSpent = true
  }

  /** Sends a notification over the connections that belong to a session. */
  notify(owner: string, method: string): void {
    for (const { use, sessionKey } of this.#open.values())
      if (use.owner === owner) this.#servers.notify(use.server, { method }, { sessionKey }).catch(() => {})
  }

  /** Closes the connections of a session that ended. Others may still use those that it shared. */
  async closeOwner(owner: string): Promise<void> {
    const closed = [...this.#open.values()].map(async (connection) => {
      if (connection.use.owner === owner) return this.#close(connection)
      if (connection.sessions.delete(owner)) this.#unused(connection)
    })
    await Promise.all(closed)
  }

  async close(): Promise<void> {
    await Promise.all([...this.#open.values()].map((connection) => this.#close(connection)))
  }

  /** Takes a connection that may carry another request, or opens one; undefined if the request has to wait. */
  #find(use: ConnectionUse): PrivateConnection | undefined {
    const pool = [...(this.#pools.get(use.pool) ?? [])].filter(({ isSpent }) => !isSpent)
    const free = pool.find(({ requests }) => requests === 0 || !use.isExclusive)
    const isFull = pool.length >= MAX_PER_CLIENT || !pool.every((each) => this.#isSlow(each))
    const found = free ?? (isFull || !this.#makeRoom(use) ? undefined : this.#start(use))
    if (!found) return undefined
    found.stopIdling()
    found.requests++
    found.lastUsedAt = this.#services.now()
    return found
  }

  #isSlow({ questions, hasAnswered, lastUsedAt }: PrivateConnection): boolean {
    const busyMs = this.#services.now() - lastUsedAt
    return questions > 0 || busyMs >= (hasAnswered ? SLOW_MS : SLOW_START_MS)
  }

  /** One token has only its share of a server's connections. Returns false if none can be closed for another one. */
  #makeRoom({ server, principal }: ConnectionUse): boolean {
    const { maxConnectionsPerServer: max } = this.#services.limits
    if (max === 0) return true
    const all = [...this.#open.values()].filter(({ use }) => use.server === server)
    const own = all.filter(({ use }) => use.principal === principal)
    const isOverShare = hasFullShare(own.length, max)
    if (!isOverShare && all.length < max) return true
    const candidates = isOverShare ? own : makingRoom(all, ({ use }) => use.principal, principal)
    const [first, ...others] = candidates.filter(isUnused)
    if (!first) return false
    void this.#close(
      others.reduce((oldest, one) => (one.lastUsedAt < oldest.lastUsedAt ? one : oldest), first),
    )
    return true
  }

  #start(use: ConnectionUse): PrivateConnection {
    const sessionKey = `private:${++this.#opened}`
    const { capabilities } = use
    this.#servers.openSession(sessionKey, { capabilities, ...this.#listener() })
    const connection = {
      sessionKey,
      use,
      sessions: new Set<string>(),
      abandonedBy: new Set<string>(),
      requests: 0,
      holds: 0,
      questions: 0,
      hasAskedForRoots: false,
      hasAnswered: false,
      isSpent: false,
      lastUsedAt: this.#services.now(),
      stopIdling: () => {},
    }
    this.#open.set(sessionKey, connection)
    this.#pools.set(use.pool, (this.#pools.get(use.pool) ?? new Set()).add(connection))
    return connection
  }

  async #wait(use: ConnectionUse, signal: AbortSignal): Promise<PrivateConnection> {
    const { server } = use
    const known = this.#waiting.get(server)
    const waiting = known ?? new WaitingCalls<ConnectionUse, PrivateConnection>()
    if (!known) this.#lookAgain(server, waiting)
    this.#waiting.set(server, waiting)
    try {
      return await waiting.add(use, signal, this.#services.limits.maxQueuedPerServer)
    } finally {
      if (waiting.size === 0 && this.#waiting.get(server) === waiting) this.#waiting.delete(server)
    }
  }

  /** Whether a connection is slow changes with time alone. */
  #lookAgain(server: string, waiting: unknown): void {
    this.#services.schedule(SLOW_MS, () => {
      if (this.#waiting.get(server) !== waiting) return
      this.#admit(server)
      this.#lookAgain(server, waiting)
    })
  }

  /** Gives requests that wait for this server the connections that are free now. */
  #admit(server: string): void {
    const busy = new Set<string>()
    for (const { call: use, admit } of this.#waiting.get(server) ?? []) {
      const connection = busy.has(use.pool) ? undefined : this.#find(use)
      if (connection) admit(connection)
      else busy.add(use.pool)
    }
  }

  #joins({ sessions }: PrivateConnection, { era, owner }: ClientLine): void {
    if (era === 'legacy') sessions.add(owner)
  }

  /** Called whenever something ends that used a connection. */
  #unused(connection: PrivateConnection): void {
    if (this.#open.get(connection.sessionKey) !== connection) return
    connection.lastUsedAt = this.#services.now()
    if (isUnused(connection)) {
      connection.stopIdling()
      if (connection.isSpent) void this.#close(connection)
      else if (connection.sessions.size === 0)
        connection.stopIdling = this.#services.schedule(IDLE_MS, () => void this.#close(connection))
    }
    this.#admit(connection.use.server)
  }

  async #close(connection: PrivateConnection): Promise<void> {
    const { sessionKey, use } = connection
    connection.stopIdling()
    if (!this.#open.delete(sessionKey)) return
    const pool = this.#pools.get(use.pool)
    if (pool?.delete(connection) && pool.size === 0) this.#pools.delete(use.pool)
    await this.#servers.closeSession(sessionKey)
  }
}

function isUnused({ requests, holds }: PrivateConnection): boolean {
  return requests === 0 && holds === 0
}
