import type { Store } from 'toolcrib/stores'
import type { Json } from './client-line.ts'
import { isJson } from './upstream.ts'
import type { Activation } from './view.ts'

/** What is needed to open a session of an older client again. */
export interface SessionRecord {
  readonly principal: string
  readonly profile: string | undefined
  readonly activation: Activation
  /** The parameters of the client's `initialize`. */
  readonly initialize: Json
}

/** The sessions of older clients in the store. A store that fails costs the continuation, and nothing else. */
export class SessionRecords {
  readonly #store: Store | undefined
  readonly #ttlMs: number
  readonly #now: () => number
  readonly #warn: (warning: string) => void
  /** What each session of this process was saved as, and when. */
  readonly #saved = new Map<string, { readonly text: string; at: number }>()

  constructor(
    store: Store | undefined,
    { ttlMs, now, warn }: { ttlMs: number; now: () => number; warn: (warning: string) => void },
  ) {
    this.#store = store
    this.#ttlMs = ttlMs
    this.#now = now
    this.#warn = warn
  }

  async save(id: string, { principal, profile, activation, initialize }: SessionRecord): Promise<void> {
    // As text: what a client sends is stored as it is, whatever it holds.
    const text = JSON.stringify({ principal, profile, activation, initialize })
    this.#saved.set(id, { text, at: this.#now() })
    await this.#write(id, text)
  }

  /** Notes that a session is used. Its record is written again from time to time, so that it does not expire. */
  touch(id: string): void {
    const saved = this.#saved.get(id)
    if (!saved || this.#now() - saved.at < this.#ttlMs / TOUCHES) return
    saved.at = this.#now()
    void this.#write(id, saved.text)
  }

  /** Stops keeping a session alive; its record expires, unless the session is opened again. */
  closed(id: string): void {
    this.#saved.delete(id)
  }

  async load(id: string): Promise<SessionRecord | undefined> {
    if (!ID.test(id)) return undefined
    const stored = await this.#try(() => this.#store?.get(keyOf(id)))
    const record: unknown = typeof stored === 'string' ? JSON.parse(stored) : undefined
    if (!isJson(record) || !isJson(record.initialize) || typeof record.principal !== 'string')
      return undefined
    return {
      principal: record.principal,
      profile: typeof record.profile === 'string' ? record.profile : undefined,
      activation: record.activation === 'list' ? 'list' : 'doors',
      initialize: record.initialize,
    }
  }

  async remove(id: string): Promise<void> {
    this.#saved.delete(id)
    await this.#try(() => this.#store?.delete(keyOf(id)))
  }

  async #write(id: string, text: string): Promise<void> {
    await this.#try(() => this.#store?.set(keyOf(id), text, { ttlMs: this.#ttlMs }))
  }

  async #try<Value>(work: () => Promise<Value> | undefined): Promise<Value | undefined> {
    try {
      return await work()
    } catch (error) {
      this.#warn(error instanceof Error ? error.message : 'the store failed')
      return undefined
    }
  }
}

/** How often a record in use is written before it would expire. */
const TOUCHES = 8

/** Strangers choose what they send as a session id. */
const ID = /^[\w.:-]{1,128}$/

function keyOf(id: string): string {
  return `gateway:client:${id}`
}
