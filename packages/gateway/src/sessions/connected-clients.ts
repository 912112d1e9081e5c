import { createHash } from 'node:crypto'
import type { Principal } from '../access/principal.ts'
import { isJson, type Json } from '../json-rpc.ts'
import { makingRoom } from '../load/shares.ts'
import type { Era } from '../protocol.ts'

/** A client of the gateway, as an inspector shows it. */
export interface ConnectedClient {
  /** Unlike a session id, it grants no access. */
  readonly id: string
  /**
   * Names its session: the first 8 hex digits of the SHA-256 of the id in the registry's events. It grants no access.
   */
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
   * Whether it has a connection now: stdio, an open stream, or a request in flight. A client that only sends HTTP
   * requests has none in between.
   */
  readonly isOpen: boolean
  /** When it connected, and the time of its last request or the end of its stream, in milliseconds. */
  readonly since: number
  readonly lastSeenAt: number
  /** All requests, tool calls among them, and failed calls. */
  readonly requests: number
  readonly calls: number
  readonly failedCalls: number
}

/** Modern clients have no session: they are shown for this long after their last request. */
const MODERN_IDLE_MS = 10 * 60 * 1_000
const MAX_MODERN = 1_000
const MAX_TEXT = 200

/** What is known about a client when it connects. */
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

  /** Adds a client with a session or its own connection; `leave()` removes it. */
  enter(facts: ClientFacts): ClientRecord {
    const record = this.#newRecord(facts)
    this.#connected.add(record)
    return record
  }

  leave(record: ClientRecord): void {
    this.#connected.delete(record)
  }

  /** The record of a modern client: requests with the same token, profile and client info belong to one client. */
  modern(facts: ClientFacts, info: unknown): ClientRecord {
    const { name, version } = nameOf(info)
    const key = JSON.stringify([facts.principal.id, facts.profile, name, version])
    const known = this.#modern.get(key)
    if (!known && this.#modern.size >= MAX_MODERN) this.#forgetQuietest(facts.principal.id)
    const record = known ?? this.#newRecord(facts)
    record.introduce(info)
    // The least recently active client comes first.
    this.#modern.delete(key)
    this.#modern.set(key, record)
    return record
  }

  #newRecord(facts: ClientFacts): ClientRecord {
    return new ClientRecord(`client-${++this.#nextId}`, facts, this.#now)
  }

  /** Removes the least recently active client of the token with the most that has no open stream. */
  #forgetQuietest(newcomer: string): void {
    const candidates = makingRoom([...this.#modern], ([, { principal }]) => principal, newcomer)
    const quiet = candidates.find(([, { isOpen }]) => !isOpen) ?? candidates[0]
    this.#modern.delete(quiet?.[0] ?? '')
  }

  #forgetIdle(): void {
    for (const [key, { lastSeenAt, isOpen }] of this.#modern)
      if (!isOpen && this.#now() - lastSeenAt > MODERN_IDLE_MS) this.#modern.delete(key)
  }
}

/** The activity of one client. */
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

  /** Stores the client's `clientInfo`. */
  introduce(info: unknown): void {
    this.#info = nameOf(info)
  }

  /** The id of its token. */
  get principal(): string {
    return this.#facts.principal.id
  }

  get isOpen(): boolean {
    return this.#open > 0 || this.#facts.canBeReached?.() === true
  }

  /** Counts an open stream or request; returns a function that ends it, once. */
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

/** Copies the text, because a slice would keep a long text in memory. */
function beginningOf(text: unknown): string | undefined {
  if (typeof text !== 'string' || text.length <= MAX_TEXT) return typeof text === 'string' ? text : undefined
  return Buffer.from(text.slice(0, MAX_TEXT)).toString()
}
