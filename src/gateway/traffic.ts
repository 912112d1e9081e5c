import type { ConnectedServers, ServerNotification, ServerRequest } from 'toolcrib/mcp'
import type { AskingServers } from './asking-servers.ts'
import { type ClientLine, canBeAsked } from './client-line.ts'
import { INTERNAL_ERROR, type Json } from './json-rpc.ts'
import type { ServerLoad } from './load-limits.ts'
import type { Lease, PrivateConnections } from './private-connections.ts'

/** One request in flight at a server. */
export interface Flight {
  /** The private connection that it uses; undefined for the shared one. */
  readonly sessionKey: string | undefined
  end(): void
}

/**
 * Tracks which requests are in flight at which server, over which connection. An older server does not say which
 * request made it ask or log something: the recipient is known only if a connection carries requests of a single
 * client. Everything else is refused or dropped, never guessed.
 */
export class Traffic {
  readonly #servers: ConnectedServers
  readonly #asking: AskingServers
  readonly #connections: PrivateConnections
  readonly #load: ServerLoad
  readonly #lines = new Map<string, Set<ClientLine>>()
  readonly #standing = new Map<string, ClientLine>()

  constructor(
    servers: ConnectedServers,
    asking: AskingServers,
    connections: PrivateConnections,
    load: ServerLoad,
  ) {
    this.#load = load
    this.#servers = servers
    this.#asking = asking
    this.#connections = connections
  }

  /**
   * Sets where questions go that come over a session's connection while no request is in flight; returns a function
   * that undoes it.
   */
  stand(sessionKey: string, line: ClientLine): () => void {
    this.#standing.set(sessionKey, line)
    return () => void this.#standing.delete(sessionKey)
  }

  /** How many requests are in flight. */
  get size(): number {
    let size = 0
    for (const lines of this.#lines.values()) size += lines.size
    return size
  }

  /** Records a new request, and decides which connection it uses. */
  async begin(server: string, line: ClientLine): Promise<Flight> {
    const isOwn = this.#mayNeedOwn(server, line) && (await this.#asking.has(server))
    line.signal.throwIfAborted()
    const lease = isOwn ? this.#connections.lease(server, line) : undefined
    const key = placeOf(server, lease?.sessionKey)
    const leave = this.#load.enterAtOnce(key) ?? (await this.#queued(key, line, lease))
    const lines = this.#lines.get(key) ?? new Set()
    this.#lines.set(key, lines)
    lines.add(line)
    return {
      sessionKey: lease?.sessionKey,
      end: () => {
        lines.delete(line)
        if (lines.size === 0) this.#lines.delete(key)
        leave()
        lease?.release()
      },
    }
  }

  async #queued(key: string, { signal }: ClientLine, lease: Lease | undefined): Promise<() => void> {
    try {
      return await this.#load.enter(key, signal)
    } catch (error) {
      lease?.release()
      throw error
    }
  }

  /**
   * The private connection that a client's session uses at this server for everything, including lists and
   * subscriptions; undefined for the shared one.
   */
  async connectionOf(server: string, line: ClientLine | undefined): Promise<string | undefined> {
    if (line?.era !== 'legacy' || !this.#mayNeedOwn(server, line)) return undefined
    if (!(await this.#asking.has(server))) return undefined
    // The session may have ended meanwhile.
    line.signal.throwIfAborted()
    return this.#connections.ofSession(line)
  }

  /** A client that cannot be asked gets no questions of others, whichever connection it shares. */
  #mayNeedOwn(server: string, { capabilities }: ClientLine): boolean {
    return this.#servers.info(server)?.era !== 'modern' && canBeAsked(capabilities)
  }

  /** Passes a server's question to the client whose request it must belong to. */
  async ask({ server, sessionKey, method, params, signal }: ServerRequest): Promise<Json> {
    if (sessionKey === undefined) this.#asking.add(server)
    else this.#connections.asked(sessionKey)
    // Many servers ask for roots as soon as they start. No client caused that, so the answer is an empty list; requests
    // of clients with roots use private connections from now on.
    if (method === 'roots/list' && sessionKey === undefined && !this.#lines.has(placeOf(server, undefined)))
      return { roots: [] }
    const line = this.#onlyClient(server, sessionKey)
    if (!line) throw refusal(INTERNAL_ERROR, this.#lines.has(placeOf(server, sessionKey)) ? SEVERAL : NOBODY)
    // Servers ask for roots at any time and remember them: over a shared connection they would affect other clients'
    // calls.
    if (sessionKey === undefined && method === 'roots/list')
      throw refusal(INTERNAL_ERROR, 'roots are not shared between clients')
    return line.ask(method, params, signal)
  }

  /** Passes a log message on to the client whose request it must belong to, or drops it. */
  log({ server, sessionKey, params }: ServerNotification): void {
    if (params) this.#onlyClient(server, sessionKey)?.log(params)
  }

  #onlyClient(server: string, sessionKey: string | undefined): ClientLine | undefined {
    const lines = [...(this.#lines.get(placeOf(server, sessionKey)) ?? [])]
    const last = lines.at(-1)
    if (!last) return sessionKey === undefined ? undefined : this.#standing.get(sessionKey)
    return lines.every(({ owner }) => owner === last.owner) ? last : undefined
  }
}

const NOBODY = 'no client has a request in flight that this could be for'
/** Clients get private connections as soon as a server has asked once. */
const SEVERAL =
  'several requests are in flight, and it is not known which of them this is for; call the tool again: from now on each client has its own connection'

function placeOf(server: string, sessionKey: string | undefined): string {
  return sessionKey === undefined ? `shared:${server}` : JSON.stringify([server, sessionKey])
}

function refusal(code: number, message: string): Error {
  return Object.assign(new Error(message), { code })
}
