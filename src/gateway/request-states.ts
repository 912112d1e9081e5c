import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import type { Store } from 'toolcrib/stores'
import type { Json } from './client-line.ts'
import { isJson } from './upstream.ts'

const KEY = 'gateway:state-key'
const KEY_BYTES = 32

/**
 * Seals what a client has to send back with its answers, so that nobody can change it, use it after its time, or use it
 * for another token, profile or tool.
 */
export class RequestStates {
  readonly #key: Promise<string>
  readonly #ttlMs: number
  readonly #now: () => number

  constructor(
    store: Store | undefined,
    { ttlMs, now }: { readonly ttlMs: number; readonly now: () => number },
  ) {
    this.#key = loadKey(store)
    this.#ttlMs = ttlMs
    this.#now = now
  }

  async seal(content: Json, boundTo: string): Promise<string> {
    const text = JSON.stringify({ content, until: this.#now() + this.#ttlMs })
    const sealed = Buffer.from(text).toString('base64url')
    return `${sealed}.${sign(sealed, boundTo, await this.#key)}`
  }

  /** The content, or undefined when it is not what was sealed for this. */
  async open(state: string, boundTo: string): Promise<Json | undefined> {
    const [sealed = '', signature = ''] = state.split('.')
    const expected = Buffer.from(sign(sealed, boundTo, await this.#key))
    const given = Buffer.from(signature)
    if (given.length !== expected.length || !timingSafeEqual(given, expected)) return undefined
    const opened: unknown = JSON.parse(Buffer.from(sealed, 'base64url').toString())
    if (!isJson(opened) || Number(opened.until) < this.#now() || !isJson(opened.content)) return undefined
    return opened.content
  }
}

function sign(sealed: string, boundTo: string, key: string): string {
  return createHmac('sha256', Buffer.from(key, 'hex')).update(`${boundTo}\n${sealed}`).digest('base64url')
}

/** The key of the store, so that another replica, or the next start, opens what this one sealed. */
async function loadKey(store: Store | undefined): Promise<string> {
  const fresh = randomBytes(KEY_BYTES).toString('hex')
  try {
    const kept = await store?.update(KEY, (current) => (typeof current === 'string' ? current : fresh))
    return typeof kept === 'string' ? kept : fresh
  } catch {
    return fresh
  }
}
