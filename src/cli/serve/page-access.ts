import { hash, timingSafeEqual } from 'node:crypto'
import type { InspectorAccess } from 'toolcrib/inspector'
import type { AccessToken } from '../access-token.ts'

/**
 * Lets in whoever has the token of the page, besides those whom the gateway lets in. The gateway does not know that token:
 * it opens the page alone, and is no second client that the only user would share the gateway with.
 */
export class PageAccess implements InspectorAccess {
  readonly #digest: Buffer
  readonly #gateway: InspectorAccess

  constructor({ token }: AccessToken, gateway: InspectorAccess) {
    this.#digest = digestOf(token)
    this.#gateway = gateway
  }

  async check(request: Request): Promise<Response | { readonly profile?: string | undefined }> {
    const refused = this.checkAddress(request)
    if (refused) return refused
    const sent = /^Bearer +([^\s]+) *$/i.exec(request.headers.get('authorization') ?? '')?.[1]
    return timingSafeEqual(this.#digest, digestOf(sent ?? '')) ? {} : this.#gateway.check(request)
  }

  checkAddress(request: Request): Response | undefined {
    return this.#gateway.checkAddress(request)
  }
}

function digestOf(text: string): Buffer {
  return hash('sha256', text, 'buffer')
}
