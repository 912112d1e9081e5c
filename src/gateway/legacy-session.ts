import { type ServerContext, WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/server'
import type { Session } from 'toolcrib'
import type { Principal } from './access.ts'
import type { Json } from './client-line.ts'
import type { GatewayCore } from './core.ts'
import { type LegacyClient, LegacyLine } from './legacy-line.ts'
import { RawServer } from './mcp-server.ts'
import { serverDescription } from './server-description.ts'
import type { Activation, View } from './view.ts'

/** Who a session belongs to, and what it sees. */
export interface LegacyOwner {
  readonly principal: Principal
  readonly view: View
  readonly activation: Activation
}

/** One session of a client of the older era, over HTTP. */
export class LegacySession implements LegacyClient {
  readonly id: string
  logLevel: string | undefined
  lastUsedAt: number
  readonly #core: GatewayCore
  readonly #owner: LegacyOwner
  readonly #session: Session
  readonly #server: RawServer
  readonly #transport: WebStandardStreamableHTTPServerTransport
  #onClose = () => {}
  #isClosed = false

  private constructor(core: GatewayCore, owner: LegacyOwner, id: string, session: Session) {
    this.id = id
    this.lastUsedAt = core.now()
    this.#core = core
    this.#owner = owner
    this.#session = session
    const description = serverDescription(core, owner.view, 'legacy')
    this.#server = new RawServer(description, (method, params, ctx) => this.#answer(method, params, ctx))
    this.#transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: () => id,
      maxRequestBodySize: core.limits.maxBodyBytes,
      onsessionclosed: () => this.close(),
    })
  }

  static async open(
    core: GatewayCore,
    owner: LegacyOwner,
    { id }: { readonly id: string },
  ): Promise<LegacySession> {
    const session = await core.openSession(owner.view, id, owner.activation)
    const opened = new LegacySession(core, owner, id, session)
    await opened.#server.connect(opened.#transport)
    return opened
  }

  get owner(): string {
    return this.id
  }

  get principal(): string {
    return this.#owner.principal.id
  }

  get askTimeoutMs(): number {
    return this.#core.limits.askTimeoutMs
  }

  /** Whether a client with this token, at this address, may use the session. */
  belongsTo({ principal, view }: Pick<LegacyOwner, 'principal' | 'view'>): boolean {
    return principal.id === this.#owner.principal.id && view === this.#owner.view
  }

  fetch(request: Request, parsedBody?: unknown): Promise<Response> {
    this.lastUsedAt = this.#core.now()
    return this.#transport.handleRequest(request, parsedBody === undefined ? {} : { parsedBody })
  }

  onClose(listener: () => void): void {
    this.#onClose = listener
  }

  async close(): Promise<void> {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#onClose()
    await this.#server.close()
    await this.#core.connections.closeOwner(this.id)
    await this.#session.close().catch(() => {})
  }

  #answer(method: string, params: Json, ctx: ServerContext): Promise<Json> {
    const line = new LegacyLine(this, this.#server, ctx)
    return this.#core.requests.answer(method, params, this.#core.scene(this.#owner.view, this.#session), line)
  }
}
