import { isInitializeRequest } from '@modelcontextprotocol/server'
import type { GatewayCore } from './core.ts'
import { rpcResponse } from './http-answers.ts'
import type { ClientIdentity } from './legacy-client.ts'
import { LegacySession } from './legacy-session.ts'
import { SessionRecords } from './session-records.ts'

const SWEEP_MS = 60_000

/**
 * Serves clients of the older era over HTTP: each opens a session, which only its own token can use, and which goes on
 * after a restart when there is a store.
 */
export class LegacyDoor {
  readonly #core: GatewayCore
  readonly #records: SessionRecords
  readonly #sessions = new Map<string, Promise<LegacySession>>()
  #stopSweeping = () => {}

  constructor(core: GatewayCore) {
    this.#core = core
    this.#records = new SessionRecords(core.options.store, core.limits.sessionIdleMs, (text) =>
      core.warn(text),
    )
    this.#sweepLater()
  }

  /** How many sessions are open. */
  get size(): number {
    return this.#sessions.size
  }

  async fetch(request: Request, client: ClientIdentity, parsedBody?: unknown): Promise<Response> {
    const id = request.headers.get('mcp-session-id')
    if (id !== null) {
      const session = await (this.#sessions.get(id) ?? this.#restore(id, client))
      // Another token's session looks the same as none.
      if (!session?.belongsTo(client)) return rpcResponse(404, -32_001, 'Session not found')
      const response = await session.fetch(request, parsedBody)
      if (request.method === 'DELETE' && response.ok) await this.#records.remove(id)
      return response
    }
    if (!isInitializeRequest(parsedBody))
      return rpcResponse(400, -32_000, 'Mcp-Session-Id header is required')
    await this.#makeRoom()
    const opened = this.#core.newId()
    const session = await this.#open(opened, client)
    const response = await session.fetch(request, parsedBody)
    const { principal, view, activation } = client
    const record = {
      principal: principal.id,
      profile: view.profile,
      activation,
      initialize: parsedBody.params,
    }
    await this.#records.save(opened, record)
    return response
  }

  async close(): Promise<void> {
    this.#stopSweeping()
    await Promise.all([...this.#sessions.values()].map(async (session) => (await session).close()))
  }

  /** Opens a session again that another process, or an earlier start, had open. */
  async #restore(id: string, client: ClientIdentity): Promise<LegacySession | undefined> {
    const record = await this.#records.load(id)
    if (record?.principal !== client.principal.id || record.profile !== client.view.profile) return undefined
    // Two requests may have come at once.
    const known = this.#sessions.get(id)
    if (known) return known
    const session = await this.#open(id, { ...client, activation: record.activation }, record.initialize)
    await this.#records.save(id, record)
    return session
  }

  #open(id: string, identity: ClientIdentity, initialize?: object): Promise<LegacySession> {
    const onClose = () => void this.#sessions.delete(id)
    const opening = LegacySession.open(this.#core, { id, identity, onClose }).then(async (session) => {
      if (initialize) await session.replay(initialize)
      return session
    })
    this.#sessions.set(id, opening)
    opening.catch(onClose)
    return opening
  }

  /** The session that was idle the longest makes room; with a store it can come back. */
  async #makeRoom(): Promise<void> {
    const { maxSessions } = this.#core.limits
    if (maxSessions === 0 || this.#sessions.size < maxSessions) return
    const open = await Promise.all(this.#sessions.values())
    await open.reduce((oldest, one) => (one.lastUsedAt < oldest.lastUsedAt ? one : oldest)).close()
  }

  #sweepLater(): void {
    this.#stopSweeping = this.#core.schedule(SWEEP_MS, () => void this.#sweep())
  }

  async #sweep(): Promise<void> {
    this.#sweepLater()
    const { now, limits } = this.#core
    const open = await Promise.all(this.#sessions.values())
    for (const session of open) if (now() - session.lastUsedAt > limits.sessionIdleMs) await session.close()
  }
}
