import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import type { WatchedStore } from 'toolcrib/stores'
import type { Json } from './client-line.ts'
import { isJson } from './upstream.ts'

const KEY = 'gateway:state-key'
const KEY_BYTES = 32

/**
 * Seals what a client has to send back with its answers, so that nobody can change it, use it after its time, or use it
 * for another token, profile or tool.
 */
export class RequestStates {
  readonly #store: WatchedStore | undefined
  readonly #ttlMs: number
  readonly #now: () => number
  readonly #fresh = randomBytes(KEY_BYTES).toString('hex')
  #key: Promise<string>

  constructor(
    store: WatchedStore | undefined,
    { ttlMs, now }: { readonly ttlMs: number; readonly now: () => number },
  ) {
    this.#store = store
    this.#ttlMs = ttlMs
    this.#now = now
    this.#key = this.#load()
    // While the store was away, each replica may have made a key of its own.
    store?.onBack(() => {
      this.#key = this.#load()
    })
  }

  async seal(content: Json, boundTo: string): Promise<string> {
    const text = JSON.stringify({ content, until: this.#now() + this.#ttlMs })
    const sealed = Buffer.from(text).toString('base64url')
    return `${sealed}.${sign(sealed, boundTo, await this.#key)}`
  }

  /** Seals without a time limit; equal for equal contents. */
  async sealForever(content: Json, boundTo: string): Promise<string> {
    const sealed = Buffer.from(JSON.stringify({ content })).toString('base64url')
    return `${sealed}.${sign(sealed, boundTo, await this.#key)}`
  }

  /** The content, or undefined when it is not what was sealed for this. */
  async open(state: string, boundTo: string): Promise<Json | undefined> {
    const [sealed = '', signature = ''] = state.split('.')
    const keys = [await this.#key, this.#fresh]
    if (!keys.some((key) => isSigned(sealed, signature, boundTo, key))) return undefined
    const opened: unknown = JSON.parse(Buffer.from(sealed, 'base64url').toString())
    const { content, until = Number.POSITIVE_INFINITY } = isJson(opened) ? opened : {}
    return isJson(content) && Number(until) >= this.#now() ? content : undefined
  }

  /** The key of the store, so that another replica, or the next start, opens what this one sealed. */
  async #load(): Promise<string> {
    try {
      const kept = await this.#store?.update(KEY, (current) =>
        typeof current === 'string' ? current : this.#fresh,
      )
      return typeof kept === 'string' ? kept : this.#fresh
    } catch {
      return this.#fresh
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
