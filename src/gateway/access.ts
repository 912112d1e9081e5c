import { createHash, timingSafeEqual } from 'node:crypto'
import type { GatewayToken } from './gateway-options.ts'

/** Who sent a request. */
export interface Principal {
  /** A hash of the token: sessions and handles are bound to it, and it is safe to store. */
  readonly id: string
  readonly name: string
  /** The only profile it may use; any when absent. */
  readonly profile: string | undefined
}

/** Everybody, where no token is asked for. */
const ANYONE: Principal = { id: 'anyone', name: 'anyone', profile: undefined }

/** The tokens of a gateway. Only their hashes are kept. */
export class Access {
  readonly #known: readonly { readonly digest: Buffer; readonly principal: Principal }[]

  constructor(tokens: readonly GatewayToken[]) {
    this.#known = tokens.map(({ token, profile, name }, index) => {
      const digest = digestOf(token)
      const id = digest.toString('hex').slice(0, 32)
      return { digest, principal: { id, name: name ?? `client-${index + 1}`, profile } }
    })
  }

  get isOpen(): boolean {
    return this.#known.length === 0
  }

  /** Who an `Authorization` header belongs to; undefined for a stranger. */
  identify(header: string | null): Principal | undefined {
    if (this.isOpen) return ANYONE
    const token = /^Bearer +([^\s]+) *$/i.exec(header ?? '')?.[1] ?? ''
    const digest = digestOf(token)
    // Every token is compared, in constant time: how long it takes says nothing about which comes close.
    let found: Principal | undefined
    for (const known of this.#known) if (timingSafeEqual(known.digest, digest)) found = known.principal
    return found
  }
}

function digestOf(token: string): Buffer {
  return createHash('sha256').update(token).digest()
}
