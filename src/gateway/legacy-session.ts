import { WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/server'
import type { GatewayCore } from './core.ts'
import { type ClientIdentity, LegacyClient } from './legacy-client.ts'

/** One session of a client of the older era, over HTTP. */
export class LegacySession {
  readonly id: string
  lastUsedAt: number
  readonly #core: GatewayCore
  readonly #client: LegacyClient
  readonly #transport: WebStandardStreamableHTTPServerTransport
  readonly #onClose: () => void
  #isClosed = false

  private constructor(core: GatewayCore, client: LegacyClient, onClose: () => void) {
    this.id = client.id
    this.lastUsedAt = core.now()
    this.#core = core
    this.#client = client
    this.#onClose = onClose
    this.#transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: () => client.id,
      maxRequestBodySize: core.limits.maxBodyBytes,
      onsessionclosed: () => this.close(),
    })
  }

  static async open(
    core: GatewayCore,
    { id, identity, onClose }: { id: string; identity: ClientIdentity; onClose: () => void },
  ): Promise<LegacySession> {
    const { view, activation } = identity
    const session = await core.openSession(view, id, { activation })
    const opened = new LegacySession(core, new LegacyClient(core, id, identity, session), onClose)
    await opened.#client.server.connect(opened.#transport)
    return opened
  }

  /** Whether a client with this token, at this address, may use the session. */
  belongsTo({ principal, view }: Pick<ClientIdentity, 'principal' | 'view'>): boolean {
    const { identity } = this.#client
    return principal.id === identity.principal.id && view === identity.view
  }

  /** Greets the client again as it was greeted before: it knows nothing of a restart. */
  async replay(initialize: object): Promise<void> {
    await this.#send({ jsonrpc: '2.0', id: 'again', method: 'initialize', params: initialize })
    await this.#send({ jsonrpc: '2.0', method: 'notifications/initialized' })
  }

  fetch(request: Request, parsedBody?: unknown): Promise<Response> {
    this.lastUsedAt = this.#core.now()
    return this.#transport.handleRequest(request, parsedBody === undefined ? {} : { parsedBody })
  }

  async #send(message: { readonly method: string; readonly [field: string]: unknown }): Promise<void> {
    const headers = {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...(message.method === 'initialize' ? {} : { 'mcp-session-id': this.id }),
    }
    const body = JSON.stringify(message)
    const request = new Request('http://localhost/mcp', { method: 'POST', headers, body })
    const response = await this.#transport.handleRequest(request, { parsedBody: message })
    await response.text()
  }

  async close(): Promise<void> {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#onClose()
    await this.#client.close()
  }
}
