import { isInitializeRequest } from '@modelcontextprotocol/server'
import type { Principal } from './access.ts'
import type { GatewayCore } from './core.ts'
import { rpcResponse } from './http-answers.ts'
import { LegacySession } from './legacy-session.ts'
import type { Activation, View } from './view.ts'

/** Serves clients of the older era over HTTP: each opens a session, which only its own token can use. */
export class LegacyDoor {
  readonly #core: GatewayCore
  readonly #sessions = new Map<string, LegacySession>()

  constructor(core: GatewayCore) {
    this.#core = core
  }

  /** How many sessions are open. */
  get size(): number {
    return this.#sessions.size
  }

  async fetch(
    request: Request,
    client: { readonly principal: Principal; readonly view: View; readonly activation: Activation },
    parsedBody?: unknown,
  ): Promise<Response> {
    const id = request.headers.get('mcp-session-id')
    if (id !== null) {
      const session = this.#sessions.get(id)
      // Another token's session looks the same as none.
      if (!session?.belongsTo(client)) return rpcResponse(404, -32_001, 'Session not found')
      return session.fetch(request, parsedBody)
    }
    if (!isInitializeRequest(parsedBody))
      return rpcResponse(400, -32_000, 'Mcp-Session-Id header is required')
    const session = await LegacySession.open(this.#core, client, { id: this.#core.newId() })
    this.#sessions.set(session.id, session)
    session.onClose(() => this.#sessions.delete(session.id))
    return session.fetch(request, parsedBody)
  }

  async close(): Promise<void> {
    await Promise.all([...this.#sessions.values()].map((session) => session.close()))
  }
}
