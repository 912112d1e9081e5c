import type { ConnectedServers, ServerListener } from 'toolcrib/mcp'
import type { ClientLine } from './client-line.ts'

/** A connection reserved for one user until it is released. */
export interface Lease {
  readonly sessionKey: string
  release(): void
}

/** How many unused connections are kept for clients without sessions. */
const MAX_IDLE = 16

/**
 * Connections for servers that ask their clients questions. An older client has one as long as its session lasts.
 * Modern clients have no session: each request gets a connection that no other request uses at the same time. After
 * that, only requests with the same token may use it, and none once a question was asked over it.
 */
export class PrivateConnections {
  readonly #servers: ConnectedServers
  readonly #listener: () => ServerListener
  readonly #sessions = new Set<string>()
  readonly #idle: { readonly kind: string; readonly sessionKey: string }[] = []
  readonly #used = new Set<string>()
  #opened = 0

  /** `listener` is requested with the first connection. */
  constructor(servers: ConnectedServers, listener: () => ServerListener) {
    this.#servers = servers
    this.#listener = listener
  }

  lease(server: string, line: ClientLine): Lease {
    if (line.era === 'legacy') return { sessionKey: this.ofSession(line), release: () => {} }
    const kind = JSON.stringify([server, line.principal, line.capabilities])
    const at = this.#idle.findIndex((idle) => idle.kind === kind)
    const [reused] = at < 0 ? [] : this.#idle.splice(at, 1)
    const sessionKey = reused?.sessionKey ?? `request:${++this.#opened}`
    if (!reused) this.#open(sessionKey, line)
    return { sessionKey, release: () => this.#release(kind, sessionKey) }
  }

  /** The connections of a client's session, which open with their first requests. */
  ofSession(line: ClientLine): string {
    const sessionKey = this.keyOf(line)
    if (!this.#sessions.has(sessionKey)) this.#open(sessionKey, line)
    return sessionKey
  }

  /**
   * Records that a question was asked over a connection: the server may remember the answer, so the connection is not
   * reused.
   */
  asked(sessionKey: string): void {
    this.#used.add(sessionKey)
  }

  /** The key of a session's private connections. */
  keyOf({ owner }: Pick<ClientLine, 'owner'>): string {
    return `client:${owner}`
  }

  /** Sends a notification over the connections of a session, if there are any. */
  async notify(line: ClientLine, server: string, method: string): Promise<void> {
    const sessionKey = this.keyOf(line)
    if (this.#sessions.has(sessionKey))
      await this.#servers.notify(server, { method }, { sessionKey }).catch(() => {})
  }

  /** Closes the connections of a client's session. */
  async closeOwner(owner: string): Promise<void> {
    await this.#close(this.keyOf({ owner }))
  }

  async close(): Promise<void> {
    this.#idle.length = 0
    await Promise.all([...this.#sessions].map((sessionKey) => this.#close(sessionKey)))
  }

  #open(sessionKey: string, { capabilities }: ClientLine): void {
    this.#servers.openSession(sessionKey, { capabilities, ...this.#listener() })
    this.#sessions.add(sessionKey)
  }

  #release(kind: string, sessionKey: string): void {
    if (!this.#sessions.has(sessionKey)) return
    if (this.#used.has(sessionKey)) {
      void this.#close(sessionKey)
      return
    }
    this.#idle.unshift({ kind, sessionKey })
    const excess = this.#idle.splice(MAX_IDLE)
    for (const { sessionKey: oldest } of excess) void this.#close(oldest)
  }

  async #close(sessionKey: string): Promise<void> {
    this.#used.delete(sessionKey)
    if (this.#sessions.delete(sessionKey)) await this.#servers.closeSession(sessionKey)
  }
}
