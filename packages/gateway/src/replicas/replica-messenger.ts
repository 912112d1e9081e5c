import type { Schedule } from '@toolcrib/mcp'
import { type Announcements, type JsonValue, MAX_ANNOUNCEMENT_CHARS, type Store } from '@toolcrib/mcp/stores'
import type { Limits } from '../gateway-options.ts'
import { isJson, type Json } from '../json-rpc.ts'

/** How a replica keeps, times and names its messages. */
export interface ReplicaOptions {
  readonly store: Store | undefined
  readonly schedule: Schedule
  readonly newId: () => string
  /** Messages are kept for as long as a client may take to answer. */
  readonly limits: Pick<Limits, 'askTimeoutMs'>
  warn(warning: string): void
}

/** How long a message that is too long for an announcement is kept in the store. */
const STORED_MS = 60_000
/** How often sending is retried. */
const RETRY_MS = 500
/** How many messages may wait to be sent, in all and per session. */
const MAX_WAITING = 1_000
const MAX_WAITING_CHARS = 32_000_000
const MAX_WAITING_OF_ONE = 100

interface Waiting {
  readonly topic: string
  readonly text: string
  readonly about: string
  readonly stopTimer: () => void
}

/** Sends messages to the other replicas, and queues them while these cannot be reached. */
export class ReplicaMessenger {
  /** Names this replica to the others. */
  readonly id: string
  readonly #announcements: Announcements
  readonly #options: ReplicaOptions
  /** Messages that could not be sent yet, in order. */
  readonly #waiting = new Set<Waiting>()
  #waitingChars = 0
  #stopRetrying = () => {}
  #isClosed = false

  constructor(announcements: Announcements, options: ReplicaOptions) {
    this.#announcements = announcements
    this.#options = options
    this.id = options.newId()
  }

  /** Returns false, with a warning, if the message could not be sent. */
  async send(topic: string, message: Json): Promise<boolean> {
    return this.#try(topic, this.#textOf(message), true)
  }

  /**
   * Sends a message that must not be lost. While the others cannot be reached it is queued, for as long as a client may
   * take to answer. It may be sent twice. Returns false if the queue is full.
   */
  async sendOrQueue(topic: string, message: Json): Promise<boolean> {
    const text = this.#textOf(message)
    if (this.#waiting.size === 0 && (await this.#try(topic, text, true))) return true
    return this.#keep(topic, text, String(message.session ?? ''))
  }

  /** The complete message, from the store if necessary; undefined if it is for another replica. */
  async whole(message: Json): Promise<Json | undefined> {
    const { kept, to, by } = message
    if (by === this.id || (to !== undefined && to !== this.id)) return undefined
    if (typeof kept !== 'string') return message
    try {
      const text = await this.#options.store?.get(kept)
      const whole: unknown = typeof text === 'string' ? JSON.parse(text) : undefined
      return isJson(whole) ? whole : undefined
    } catch {
      return undefined
    }
  }

  /** Tries once more to send the queued messages, and drops them. */
  close(): void {
    this.#isClosed = true
    this.#stopRetrying()
    for (const waiting of [...this.#waiting]) {
      this.#drop(waiting)
      void this.#try(waiting.topic, waiting.text, false)
    }
  }

  #textOf(message: Json): string {
    // What came from clients and servers arrived as JSON.
    return JSON.stringify({ ...message, by: this.id })
  }

  async #try(topic: string, text: string, isWarned: boolean): Promise<boolean> {
    try {
      await this.#publish(topic, text)
      return true
    } catch (error) {
      const reason = error instanceof Error ? error.message : 'the other replicas cannot be reached'
      if (isWarned) this.#options.warn(reason)
      return false
    }
  }

  async #publish(topic: string, text: string): Promise<void> {
    const announcements = this.#announcements
    const { store, newId } = this.#options
    const message = JSON.parse(text) as { readonly [key: string]: JsonValue }
    if (text.length <= MAX_ANNOUNCEMENT_CHARS) return announcements.publish(topic, message)
    const key = `announcement:${newId()}`
    await store?.set(key, text, { ttlMs: STORED_MS })
    const { to } = message
    await announcements.publish(topic, { kept: key, by: this.id, ...(to === undefined ? {} : { to }) })
  }

  #keep(topic: string, text: string, about: string): boolean {
    const ofOne = [...this.#waiting].filter((waiting) => waiting.about === about).length
    const isFull =
      this.#isClosed ||
      this.#waiting.size >= MAX_WAITING ||
      this.#waitingChars + text.length > MAX_WAITING_CHARS ||
      (about !== '' && ofOne >= MAX_WAITING_OF_ONE)
    if (isFull) return false
    const stopTimer = this.#options.schedule(this.#options.limits.askTimeoutMs, () => this.#drop(waiting))
    const waiting: Waiting = { topic, text, about, stopTimer }
    this.#waiting.add(waiting)
    this.#waitingChars += text.length
    if (this.#waiting.size === 1) this.#retryLater()
    return true
  }

  #drop(waiting: Waiting): void {
    if (!this.#waiting.delete(waiting)) return
    waiting.stopTimer()
    this.#waitingChars -= waiting.text.length
  }

  #retryLater(): void {
    this.#stopRetrying()
    if (!this.#isClosed) this.#stopRetrying = this.#options.schedule(RETRY_MS, () => void this.#retry())
  }

  /** Sends queued messages in order, until one cannot be sent. */
  async #retry(): Promise<void> {
    for (const waiting of this.#waiting) {
      if (!(await this.#try(waiting.topic, waiting.text, false))) return this.#retryLater()
      this.#drop(waiting)
    }
  }
}
