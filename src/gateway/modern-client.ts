import type { ServerContext } from '@modelcontextprotocol/server'
import type { Session, Surface } from 'toolcrib'
import type { Attendee } from './audience.ts'
import type { Json } from './client-line.ts'
import type { ClientFacts } from './connected-clients.ts'
import type { GatewayCore } from './core.ts'
import type { ClientIdentity } from './legacy-client.ts'
import { RawServer } from './mcp-server.ts'
import { PendingCall } from './pending-call.ts'
import { serverDescription } from './server-description.ts'
import { CLIENT_INFO_KEY } from './upstream.ts'
import type { View } from './view.ts'

/** Requests that a server may ask something about before it answers. */
const INTERACTIVE = ['tools/call', 'prompts/get', 'resources/read']

/** Clients of the modern era with the same token and profile. Each of their requests stands alone. */
export class ModernClient implements Attendee {
  readonly view: View
  readonly #core: GatewayCore
  readonly #facts: ClientFacts
  readonly #session: Session
  readonly #tell: (method: string) => void
  readonly #leave: () => void

  constructor(
    core: GatewayCore,
    { principal, view, transport }: Omit<ClientIdentity, 'activation'>,
    session: Session,
    tell: (method: string) => void,
  ) {
    this.view = view
    this.#core = core
    this.#facts = { principal, profile: view.profile, era: 'modern', transport }
    this.#session = session
    this.#tell = tell
    this.#leave = core.audience.add(this)
    // Nobody says when a list was fetched: what there is now counts as seen.
    core.audience.listed(this)
  }

  /** A server of the SDK that answers for the gateway: one for each request over HTTP, one for all over stdio. */
  server(): RawServer {
    const description = serverDescription(this.#core, this.view, 'modern')
    return new RawServer(description, (method, params, ctx) => {
      const envelope: Json = ctx.mcpReq.envelope ?? {}
      const record = this.#core.clients.modern(this.#facts, envelope[CLIENT_INFO_KEY])
      return record.count(method, this.#answer(method, params, ctx))
    })
  }

  surface(): Surface {
    return this.#session.surface()
  }

  changed(method: string): void {
    this.#tell(method)
  }

  async close(): Promise<void> {
    this.#leave()
    await this.#core.closeSession(this.#session)
  }

  async #answer(method: string, params: Json, ctx: ServerContext): Promise<Json> {
    const { requests, modernCalls, newId } = this.#core
    const scene = this.#core.scene(this.view, this.#session)
    const { id: principal } = this.#facts.principal
    if (!INTERACTIVE.includes(method))
      return requests.answer(method, params, scene, new PendingCall(ctx, { owner: newId(), principal }))
    const boundTo = JSON.stringify([principal, this.view.profile ?? null, method, params.name ?? params.uri])
    return modernCalls.run({ params, ctx, principal, boundTo }, (sent, line) =>
      requests.answer(method, sent, scene, line),
    )
  }
}
