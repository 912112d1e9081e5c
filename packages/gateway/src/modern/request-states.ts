import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import type { WatchedStore } from '@toolcrib/mcp/stores'
import type { Limits } from '../gateway-options.ts'
import { isJson, type Json } from '../json-rpc.ts'

const KEY = 'gateway:state-key'
const KEY_BYTES = 32
const MAX_KNOWN = 3

/**
 * Seals the state that a client sends back with its answers, so that it cannot be changed, used after its expiry, or
 * used for another token, profile or request.
 */
export class RequestStates {
  readonly #store: WatchedStore | undefined
  readonly #limits: Pick<Limits, 'askTimeoutMs'>
  readonly #now: () => number
  readonly #fresh = randomBytes(KEY_BYTES).toString('hex')
  /** The keys in the store, latest first. */
  #known: readonly string[] = []
  #key: Promise<string>
  #isLoading = false
  #isRead = false

  constructor(
    store: WatchedStore | undefined,
    { limits, now }: { readonly limits: Pick<Limits, 'askTimeoutMs'>; readonly now: () => number },
  ) {
    this.#store = store
    this.#limits = limits
    this.#now = now
    this.#key = this.#load()
    // While the store was away, each replica may have created its own key.
    store?.onBack(() => this.refresh())
  }

  async seal(content: Json, boundTo: string): Promise<string> {
    const text = JSON.stringify({ content, until: this.#now() + this.#limits.askTimeoutMs })
    const sealed = Buffer.from(text).toString('base64url')
    this.refresh()
    return `${sealed}.${sign(sealed, boundTo, await this.#key)}`
  }

  /** Seals without expiry; equal contents give equal texts. */
  async sealForever(content: Json, boundTo: string): Promise<string> {
    const sealed = Buffer.from(JSON.stringify({ content })).toString('base64url')
    return `${sealed}.${sign(sealed, boundTo, await this.#current())}`
  }

  /** Reads the key again: the store may have lost it, and may have another replica's now. */
  refresh(): void {
    if (this.#isLoading) return
    this.#isLoading = true
    this.#key = this.#load().finally(() => {
      this.#isLoading = false
    })
  }

  /**
   * Whether the last attempt to read the key from the store succeeded: without it, states that others sealed cannot be
   * opened.
   */
  get isSure(): boolean {
    return this.#isRead || !this.#store
  }

  /** The content, or undefined if it was not sealed for this. */
  async open(state: string, boundTo: string): Promise<Json | undefined> {
    const [sealed = '', signature = ''] = state.split('.')
    const isOurs = async (key: Promise<string>) =>
      [await key, this.#fresh, ...this.#known].some((each) => isSigned(sealed, signature, boundTo, each))
    if (!(await isOurs(this.#key))) {
      this.refresh()
      if (!(await isOurs(this.#key))) return undefined
    }
    return this.#read(sealed)
  }

  /** The content of a state, unverified: only the replica with its key can tell whether it is genuine. */
  peek(state: string): Json | undefined {
    const [sealed = ''] = state.split('.')
    try {
      return this.#read(sealed)
    } catch {
      return undefined
    }
  }

  /** The content, unless it has expired. */
  #read(sealed: string): Json | undefined {
    const opened: unknown = JSON.parse(Buffer.from(sealed, 'base64url').toString())
    const { content, until = Number.POSITIVE_INFINITY } = isJson(opened) ? opened : {}
    return isJson(content) && Number(until) >= this.#now() ? content : undefined
  }

  /**
   * The key to seal with. If reading it failed before, it is read again, because other replicas could not open what is
   * sealed with another key.
   */
  async #current(): Promise<string> {
    const key = await this.#key
    if (this.#isRead || !this.#store) return key
    this.#key = this.#load()
    return this.#key
  }

  /**
   * The key in the store, so that another replica, or the next start, can open what this one sealed. If the store lost
   * it, it is written again; while none can be read, the last one stays in use.
   */
  async #load(): Promise<string> {
    const [own = this.#fresh] = this.#known
    try {
      const known = await this.#store?.get(KEY)
      const kept =
        typeof known === 'string'
          ? known
          : await this.#store?.update(KEY, (current) => (typeof current === 'string' ? current : own))
      this.#isRead = true
      if (typeof kept !== 'string') return own
      this.#known = [kept, ...this.#known.filter((key) => key !== kept)].slice(0, MAX_KNOWN)
      return kept
    } catch {
      this.#isRead = false
      return own
    }
  }
}

function isSigned(sealed: string, signature: string, boundTo: string, key: string): boolean {
  const expected = Buffer.from(sign(sealed, boundTo, key))
  const given = Buffer.from(signature)
  return given.length === expected.length && timingSafeEqual(given, expected)
}

function sign(sealed: string, boundTo: string, key: string): string {
  return createHmac('sha256', Buffer.from(key, 'hex')).update(`${boundTo}\n${sealed}`).digest('base64url')
}
