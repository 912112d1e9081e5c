import { createHash } from 'node:crypto'
import { isJson, type Json } from './json-rpc.ts'
import type { Principal } from './principal.ts'
import type { Era } from './protocol.ts'

/** A client that uses the gateway, as an inspector shows it. */
export interface ConnectedClient {
  /** Unlike the id of a session, it opens nothing. */
  readonly id: string
  /** Names its session: the first 8 hex digits of the SHA-256 of the id that the registry's events have. It opens nothing. */
  readonly session: string
  /** What the client calls itself. */
  readonly name: string | undefined
  readonly version: string | undefined
  /** The name of its token. */
  readonly token: string
  readonly profile: string | undefined
  readonly era: Era
  readonly transport: 'http' | 'stdio'
  /**
   * Whether it has a connection now: its own, a stream that it listens to, or a request under way. A client that sends
   * requests over HTTP and does not listen has none in between.
   */
  readonly isOpen: boolean
  /** When it connected, and when its last request came or its stream ended, in milliseconds. */
  readonly since: number
  readonly lastSeenAt: number
  /** Requests of any kind, calls of tools among them, and calls that failed. */
  readonly requests: number
  readonly calls: number
  readonly failedCalls: number
}

/** Modern clients have no session: they are shown for this long after their last request. */
const MODERN_IDLE_MS = 10 * 60 * 1_000
const MAX_MODERN = 1_000
const MAX_TEXT = 200

/** What is known of a client when it appears. */
export type ClientFacts = Pick<ConnectedClient, 'era' | 'transport' | 'profile'> & {
  readonly sessionId: string
  readonly principal: Principal
  /** Whether it can be reached between its requests. Default: false. */
  readonly canBeReached?: () => boolean
}

/** The clients that use the gateway now. */
export class ConnectedClients {
  readonly #now: () => number
  readonly #connected = new Set<ClientRecord>()
  readonly #modern = new Map<string, ClientRecord>()
  #nextId = 0

  constructor(now: () => number) {
    this.#now = now
  }

  list(): readonly ConnectedClient[] {
    this.#forgetIdle()
    return [...this.#connected, ...this.#modern.values()].map((record) => record.value())
  }

  /** Adds a client that has a session or a connection of its own; `leave()` removes it. */
  enter(facts: ClientFacts): ClientRecord {
    const record = this.#newRecord(facts)
    this.#connected.add(record)
    return record
  }

  leave(record: ClientRecord): void {
    this.#connected.delete(record)
  }

  /** The record of a modern client: requests with the same token, profile and client info are of one. */
  modern(facts: ClientFacts, info: unknown): ClientRecord {
    const { name, version } = nameOf(info)
    const key = JSON.stringify([facts.principal.id, facts.profile, name, version])
    const record = this.#modern.get(key) ?? this.#newRecord(facts)
    record.introduce(info)
    // The one that was quiet the longest comes first.
    this.#modern.delete(key)
    this.#modern.set(key, record)
    if (this.#modern.size > MAX_MODERN) this.#modern.delete(this.#modern.keys().next().value ?? '')
    return record
  }

  #newRecord(facts: ClientFacts): ClientRecord {
    return new ClientRecord(`client-${++this.#nextId}`, facts, this.#now)
  }

  #forgetIdle(): void {
    for (const [key, { lastSeenAt, isOpen }] of this.#modern)
      if (!isOpen && this.#now() - lastSeenAt > MODERN_IDLE_MS) this.#modern.delete(key)
  }
}

/** What one client did so far. */
export class ClientRecord {
  readonly #id: string
  readonly #facts: ClientFacts
  readonly #now: () => number
  readonly #since: number
  lastSeenAt: number
  #info: { readonly name: string | undefined; readonly version: string | undefined } = nameOf(undefined)
  #open = 0
  #requests = 0
  #calls = 0
  #failedCalls = 0

  constructor(id: string, facts: ClientFacts, now: () => number) {
    this.#id = id
    this.#facts = facts
    this.#now = now
    this.#since = now()
    this.lastSeenAt = this.#since
  }

  /** Notes what the client says about itself: its `clientInfo`. */
  introduce(info: unknown): void {
    this.#info = nameOf(info)
  }

  get isOpen(): boolean {
    return this.#open > 0 || this.#facts.canBeReached?.() === true
  }

  /** Notes a stream or a request of the client; returns how to note its end, once. */
  opened(): () => void {
    this.lastSeenAt = this.#now()
    this.#open++
    return () => {
      this.lastSeenAt = this.#now()
      this.#open--
    }
  }

  /** Counts a request and its outcome. */
  count(method: string, answer: Promise<Json>): Promise<Json> {
    const ended = this.opened()
    answer.then(ended, ended)
    this.#requests++
    if (method !== 'tools/call') return answer
    this.#calls++
    const noteFailure = () => void this.#failedCalls++
    answer.then(({ isError }) => (isError === true ? noteFailure() : undefined), noteFailure)
    return answer
  }

  value(): ConnectedClient {
    const { principal, sessionId, profile, era, transport } = this.#facts
    return {
      id: this.#id,
      session: createHash('sha256').update(sessionId).digest('hex').slice(0, 8),
      ...this.#info,
      token: principal.name,
      profile,
      era,
      transport,
      isOpen: this.isOpen,
      since: this.#since,
      lastSeenAt: this.lastSeenAt,
      requests: this.#requests,
      calls: this.#calls,
      failedCalls: this.#failedCalls,
    }
  }
}

function nameOf(info: unknown): { readonly name: string | undefined; readonly version: string | undefined } {
  const { name, version } = isJson(info) ? info : {}
  return { name: beginningOf(name), version: beginningOf(version) }
}

/** A copy: a slice would keep all of a long text in memory. */
function beginningOf(text: unknown): string | undefined {
  if (typeof text !== 'string' || text.length <= MAX_TEXT) return typeof text === 'string' ? text : undefined
  return Buffer.from(text.slice(0, MAX_TEXT)).toString()
}
