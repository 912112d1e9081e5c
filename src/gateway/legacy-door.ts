import { isInitializeRequest } from '@modelcontextprotocol/server'
import type { GatewayCore } from './core.ts'
import { rpcResponse } from './http-answers.ts'
import type { ClientIdentity } from './legacy-client.ts'
import { LegacySession } from './legacy-session.ts'

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

  async fetch(request: Request, client: ClientIdentity, parsedBody?: unknown): Promise<Response> {
    const id = request.headers.get('mcp-session-id')
    if (id !== null) {
      const session = this.#sessions.get(id)
      // Another token's session looks the same as none.
      if (!session?.belongsTo(client)) return rpcResponse(404, -32_001, 'Session not found')
      return session.fetch(request, parsedBody)
    }
    if (!isInitializeRequest(parsedBody))
      return rpcResponse(400, -32_000, 'Mcp-Session-Id header is required')
    const session = await this.#open(this.#core.newId(), client)
    return session.fetch(request, parsedBody)
  }

  async #open(id: string, identity: ClientIdentity): Promise<LegacySession> {
    const onClose = () => void this.#sessions.delete(id)
    const session = await LegacySession.open(this.#core, { id, identity, onClose })
    this.#sessions.set(id, session)
    return session
  }

  async close(): Promise<void> {
    await Promise.all([...this.#sessions.values()].map((session) => session.close()))
  }
}
