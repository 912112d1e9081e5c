import type { Change, Store, StoredValue, WatchedStore } from '@toolcrib/mcp/stores'
import type { Limits } from '../gateway-options.ts'
import { isJson, type Json } from '../json-rpc.ts'
import type { Activation } from '../sessions/profile-view.ts'

/** What is needed to reopen a session of an older client. */
export interface SessionRecord {
  readonly principal: string
  readonly profile: string | undefined
  readonly activation: Activation
  /** The parameters of the client's `initialize`. */
  readonly initialize: Json
}

interface RecordServices {
  readonly limits: Pick<Limits, 'sessionIdleMs'>
  readonly now: () => number
  warn(warning: string): void
}

/** A session in use is written again after this part of its time to live, so that it does not expire or stay lost. */
const REFRESHED_PART = 0.02

/**
 * The sessions of older clients in the store. While the store fails, sessions cannot be continued elsewhere; what it
 * missed is written when it works again.
 */
export class SessionRecords {
  readonly #store: WatchedStore | undefined
  readonly #services: RecordServices
  readonly #open = new Map<string, { readonly text: string; savedAt: number | undefined }>()

  constructor(store: WatchedStore | undefined, services: RecordServices) {
    this.#store = store
    this.#services = services
  }

  async save(id: string, { principal, profile, activation, initialize }: SessionRecord): Promise<void> {
    // As text, so that a client's own data is kept unchanged.
    const text = JSON.stringify({ principal, profile, activation, initialize })
    if (!this.#store) return
    this.#open.set(id, { text, savedAt: undefined })
    await this.write(id)
  }

  /** Records that a session is in use. */
  used(id: string): void {
    const { savedAt } = this.#open.get(id) ?? { savedAt: this.#services.now() }
    if (
      savedAt !== undefined &&
      this.#services.now() - savedAt > this.#services.limits.sessionIdleMs * REFRESHED_PART
    )
      void this.write(id)
  }

  /** Writes all open sessions again: the store may have lost them. */
  async rewrite(): Promise<void> {
    for (const id of [...this.#open.keys()]) await this.write(id)
  }

  /** Forgets a session that is no longer open here. */
  forget(id: string): void {
    this.#open.delete(id)
  }

  /** The record of a session; undefined if there is none. Rejects if the store cannot be read. */
  async load(id: string): Promise<SessionRecord | undefined> {
    if (!isSessionId(id)) return undefined
    const stored = await this.#store?.get(keyOf(id))
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
    this.forget(id)
    await this.#try(() => this.#store?.delete(keyOf(id)))
  }

  /** Writes a session that is open here. */
  async write(id: string): Promise<void> {
    const record = this.#open.get(id)
    if (!record) return
    record.savedAt = this.#services.now()
    await this.#try(async () => {
      try {
        await this.#store?.set(keyOf(id), record.text, { ttlMs: this.#services.limits.sessionIdleMs })
      } catch (error) {
        record.savedAt = undefined
        throw error
      }
    })
  }

  async #try<Value>(work: () => Promise<Value> | undefined): Promise<Value | undefined> {
    try {
      return await work()
    } catch (error) {
      this.#services.warn(error instanceof Error ? error.message : 'the store failed')
      return undefined
    }
  }
}

/** Whether a text has the form of a session id; clients may send anything. */
export function isSessionId(id: string): boolean {
  return /^[\w.:-]{1,128}$/.test(id)
}

function keyOf(id: string): string {
  return `gateway:client:${id}`
}

/** A store whose values expire if they are not written for a while. Closing it does not close the underlying store. */
export class ExpiringStore implements Store {
  readonly #store: Store
  readonly #ttlMs: number

  constructor(store: Store, ttlMs: number) {
    this.#store = store
    this.#ttlMs = ttlMs
  }

  get(key: string): Promise<StoredValue | undefined> {
    return this.#store.get(key)
  }

  set(key: string, value: StoredValue): Promise<void> {
    return this.#store.set(key, value, { ttlMs: this.#ttlMs })
  }

  update(key: string, change: Change): Promise<StoredValue | undefined> {
    return this.#store.update(key, change, { ttlMs: this.#ttlMs })
  }

  delete(key: string): Promise<void> {
    return this.#store.delete(key)
  }

  async close(): Promise<void> {}
}
