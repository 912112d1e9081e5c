import type { ConnectedServers, ServerNotification, ServerRequest } from '@toolcrib/mcp'
import { INTERNAL_ERROR, type Json } from '../json-rpc.ts'
import type { ServerLoad } from '../load/load-limits.ts'
import type { AskingServers } from './asking-servers.ts'
import { type ClientLine, canAnswer, canBeAsked, capabilityFor } from './client-line.ts'
import type { ClientRoots } from './client-roots.ts'
import { type ConnectionUse, connectionUse, ROOTS_AT_START } from './connection-use.ts'
import type { Lease, PrivateConnections } from './private-connections.ts'
import { namedQuestion } from './questions.ts'

/** A server that asks for roots when it starts has asked by then. */
const START_MS = 5_000

/** One request in flight at a server. */
export interface Flight {
  /** The private connection that it uses; undefined for the shared one. */
  readonly sessionKey: string | undefined
  end(outcome: { readonly isAnswered: boolean }): void
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
  readonly #roots: ClientRoots
  readonly #load: ServerLoad
  readonly #lines = new Map<string, Set<ClientLine>>()
  readonly #standing = new Map<string, ClientLine>()
  readonly #now: () => number
  readonly #startedAt = new Map<string, number>()
  /** For each server, owners of requests that it did not answer over the shared connection. */
  readonly #abandoned = new Map<string, Set<string>>()

  constructor(
    servers: ConnectedServers,
    asking: AskingServers,
    connections: PrivateConnections,
    roots: ClientRoots,
    load: ServerLoad,
    now: () => number,
  ) {
    this.#now = now
    this.#roots = roots
    this.#load = load
    this.#servers = servers
    this.#asking = asking
    this.#connections = connections
  }

  /**
   * Sets where questions go that come over a session's own connection while no request is in flight; returns a function
   * that undoes it.
   */
  stand(line: ClientLine): () => void {
    this.#standing.set(line.owner, line)
    return () => void this.#standing.delete(line.owner)
  }

  /** How many requests are in flight. */
  get size(): number {
    let size = 0
    for (const lines of this.#lines.values()) size += lines.size
    return size
  }

  /** Records a new request, and decides which connection it uses. */
  async begin(server: string, line: ClientLine): Promise<Flight> {
    const use = await this.#useOf(server, line)
    line.signal.throwIfAborted()
    const lease = use && (await this.#connections.lease(use, line))
    const key = placeOf(server, lease?.sessionKey)
    const leave = this.#load.enterAtOnce(key, line) ?? (await this.#queued(key, line, lease))
    const lines = this.#lines.get(key) ?? new Set()
    this.#lines.set(key, lines)
    lines.add(line)
    return {
      sessionKey: lease?.sessionKey,
      end: (outcome) => {
        lines.delete(line)
        if (lines.size === 0) this.#lines.delete(key)
        leave()
        if (lease) lease.release(outcome)
        else if (!outcome.isAnswered) this.#abandon(server, line)
      },
    }
  }

  /** Called when a server has a new shared connection. */
  started(server: string): void {
    this.#abandoned.delete(server)
    this.#startedAt.set(server, this.#now())
  }

  #abandon(server: string, { owner }: ClientLine): void {
    const owners = this.#abandoned.get(server) ?? new Set()
    this.#abandoned.set(server, owners)
    // With two, every question may be about a request of somebody else.
    if (owners.size < 2) owners.add(owner)
  }

  async #queued(key: string, line: ClientLine, lease: Lease | undefined): Promise<() => void> {
    try {
      return await this.#load.enter(key, line)
    } catch (error) {
      lease?.release({ isAnswered: true })
      throw error
    }
  }

  /**
   * The private connection that a client's session uses at this server for everything, including lists and
   * subscriptions; undefined for the shared one, also if there are too many others.
   */
  async connectionOf(server: string, line: ClientLine | undefined): Promise<string | undefined> {
    const use = line?.era === 'legacy' ? await this.#useOf(server, line) : undefined
    if (!line || !use) return undefined
    // The session may have ended meanwhile.
    line.signal.throwIfAborted()
    return this.#connections.ofSession(use, line)
  }

  /** Keeps a private connection open until the returned function is called. */
  hold(sessionKey: string | undefined): () => void {
    return this.#connections.hold(sessionKey)
  }

  /** Applies new roots of a client: its next requests use other connections, or the server asks again. */
  rootsChanged({ owner }: Pick<ClientLine, 'owner'>): void {
    this.#roots.forget(owner)
    this.#connections.notify(owner, 'notifications/roots/list_changed')
  }

  /** Closes what belongs to a session that ended. */
  async sessionEnded(owner: string): Promise<void> {
    this.#roots.forget(owner)
    await this.#connections.closeOwner(owner)
  }

  /** A client that cannot be asked gets no questions of others, whichever connection it shares. */
  async #useOf(server: string, line: ClientLine): Promise<ConnectionUse | undefined> {
    if (this.#servers.info(server)?.era === 'modern' || !canBeAsked(line.capabilities)) return undefined
    if (!this.#servers.mayAsk(server)) return undefined
    const asked = await this.#asking.askedBy(server)
    line.signal.throwIfAborted()
    return connectionUse(server, line, asked, (client) => this.#roots.of(client))
  }

  /** Passes a server's question to the client whose request it must belong to. */
  async ask(request: ServerRequest): Promise<Json> {
    const { server, sessionKey, method } = request
    this.#asking.add(server, capabilityFor(method))
    if (method === 'roots/list') {
      this.#noteRoots(server, sessionKey)
      const roots = this.#rootsFor(server, sessionKey)
      if (roots) return roots
    }
    if (sessionKey === undefined) return this.#askClient(request)
    const ended = this.#connections.asked(sessionKey)
    try {
      const answer = await this.#askClient(request)
      if (method === 'roots/list') this.#connections.toldRoots(sessionKey)
      return answer
    } finally {
      ended()
    }
  }

  /** Remembers a server that asks for roots whatever is called. A question during a call may be due to that call. */
  #noteRoots(server: string, sessionKey: string | undefined): void {
    const isEachTime =
      sessionKey === undefined ? this.#isNew(server) : this.#connections.askedForRoots(server, sessionKey)
    const isUnprompted = !this.#lines.has(placeOf(server, sessionKey))
    if (isUnprompted || isEachTime) this.#asking.add(server, ROOTS_AT_START)
  }

  #isNew(server: string): boolean {
    const now = this.#now()
    return now - (this.#startedAt.get(server) ?? now) <= START_MS
  }

  /** The roots that a server gets without asking a client; throws if it gets none. Undefined if the client is asked. */
  #rootsFor(server: string, sessionKey: string | undefined): Json | undefined {
    if (sessionKey !== undefined) {
      const roots = this.#connections.rootsOf(sessionKey)
      if (roots === null) throw refusal(INTERNAL_ERROR, 'the client did not tell its roots')
      return roots
    }
    // Many servers ask for roots as soon as they start. No client caused that, so the answer is an empty list; requests
    // of clients with roots use private connections from now on.
    if (!this.#lines.has(placeOf(server, undefined))) return { roots: [] }
    // Servers ask for roots at any time and remember them: over a shared connection they would affect other clients'
    // calls.
    throw refusal(INTERNAL_ERROR, 'roots are not shared between clients')
  }

  #askClient({ server, sessionKey, method, params, signal }: ServerRequest): Promise<Json> {
    const line = this.#onlyClient(server, sessionKey)
    if (!line) throw refusal(INTERNAL_ERROR, this.#lines.has(placeOf(server, sessionKey)) ? SEVERAL : NOBODY)
    // Whoever the question is for, this client does not see it: its own call ends, if the line says so.
    if (!canAnswer(line.capabilities, method, params)) return line.ask(method, params, signal)
    const abandoned =
      sessionKey === undefined ? this.#abandoned.get(server) : this.#connections.abandonedBy(sessionKey)
    // The server may ask about a request that was cancelled.
    if ([...(abandoned ?? [])].some((owner) => owner !== line.owner)) throw refusal(INTERNAL_ERROR, SEVERAL)
    return line.ask(method, namedQuestion(server, method, params ?? {}), signal)
  }

  /** Passes a log message on to the client whose request it must belong to, or drops it. */
  log({ server, sessionKey, params }: ServerNotification): void {
    if (params) this.#onlyClient(server, sessionKey)?.log(params)
  }

  #onlyClient(server: string, sessionKey: string | undefined): ClientLine | undefined {
    const lines = [...(this.#lines.get(placeOf(server, sessionKey)) ?? [])]
    const last = lines.at(-1)
    if (!last) return this.#standing.get((sessionKey && this.#connections.ownerOf(sessionKey)) ?? '')
    return lines.every(({ owner }) => owner === last.owner) ? last : undefined
  }
}

const NOBODY = 'no client has a request in flight that this could be for'
/** Clients get private connections as soon as a server has asked once. */
const SEVERAL =
  'it is not known which of several requests this is for; call the tool again: from now on each client has its own connection'

function placeOf(server: string, sessionKey: string | undefined): string {
  return sessionKey === undefined ? `shared:${server}` : JSON.stringify([server, sessionKey])
}

function refusal(code: number, message: string): Error {
  return Object.assign(new Error(message), { code })
}
