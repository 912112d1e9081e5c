import type { ServerContext } from '@modelcontextprotocol/server'
import type { Session } from 'toolcrib'
import type { Principal } from './access.ts'
import type { Era, Json } from './client-line.ts'
import type { GatewayCore } from './core.ts'
import { type LegacyClient, LegacyLine } from './legacy-line.ts'
import { RawServer } from './mcp-server.ts'
import { answerModern } from './modern-door.ts'
import { serverDescription } from './server-description.ts'
import type { View } from './view.ts'

/** One client that has a connection to itself, as over stdio. */
export class PinnedClient implements LegacyClient {
  readonly owner: string
  readonly server: RawServer
  logLevel: string | undefined
  readonly #core: GatewayCore
  readonly #view: View
  readonly #principal: Principal
  readonly #era: Era
  readonly #session: Session

  private constructor(core: GatewayCore, view: View, principal: Principal, era: Era, session: Session) {
    this.owner = core.newId()
    this.#core = core
    this.#view = view
    this.#principal = principal
    this.#era = era
    this.#session = session
    this.server = new RawServer(serverDescription(core, view, era), (method, params, ctx) =>
      this.#answer(method, params, ctx),
    )
  }

  static async open(core: GatewayCore, view: View, principal: Principal, era: Era): Promise<PinnedClient> {
    const session = await view.openSession({ id: core.newId() })
    return new PinnedClient(core, view, principal, era, session)
  }

  get principal(): string {
    return this.#principal.id
  }

  get askTimeoutMs(): number {
    return this.#core.limits.askTimeoutMs
  }

  async close(): Promise<void> {
    await this.server.close().catch(() => {})
    await this.#core.connections.closeOwner(this.owner)
    await this.#session.close().catch(() => {})
  }

  #answer(method: string, params: Json, ctx: ServerContext): Promise<Json> {
    const scene = this.#core.scene(this.#view, this.#session)
    if (this.#era === 'modern')
      return answerModern(this.#core, { method, params, ctx, scene, principal: this.principal })
    return this.#core.requests.answer(method, params, scene, new LegacyLine(this, this.server, ctx))
  }
}
