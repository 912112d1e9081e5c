import { hash, timingSafeEqual } from 'node:crypto'
import type { InspectorAccess } from 'toolcrib/inspector'
import type { AccessToken } from '../access-token.ts'

/**
 * Accepts the token of the page, in addition to those that the gateway accepts. The gateway does not know that token:
 * it opens only the page, and does not count as a second client.
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
