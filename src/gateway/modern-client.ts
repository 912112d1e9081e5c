import type { Session, Surface } from 'toolcrib'
import type { Attendee } from './audience.ts'
import type { ClientFacts } from './connected-clients.ts'
import type { GatewayServices } from './gateway-services.ts'
import { isJson, type Json } from './json-rpc.ts'
import type { ClientIdentity } from './legacy-client.ts'
import { type ModernRequest, PendingCall } from './pending-call.ts'
import type { ProfileView } from './profile-view.ts'
import { CLIENT_INFO_KEY } from './protocol.ts'

/** Requests during which a server may ask questions. */
const INTERACTIVE = ['tools/call', 'prompts/get', 'resources/read']

/** The identity of modern clients, and what they see: their list never grows. */
export type ModernIdentity = Omit<ClientIdentity, 'activation'>

/** Clients of the modern era with the same token and profile. Each of their requests is independent. */
export class ModernClient implements Attendee {
  readonly view: ProfileView
  readonly #services: GatewayServices
  readonly #facts: ClientFacts
  readonly #session: Session
  #surface: Surface | undefined
  readonly #notify: (method: string) => void
  readonly #leave: () => void

  constructor(
    services: GatewayServices,
    { principal, view, transport }: ModernIdentity,
    session: Session,
    notify: (method: string) => void,
  ) {
    this.view = view
    this.#services = services
    this.#facts = {
      principal,
      sessionId: session.id,
      profile: view.profile,
      era: 'modern',
      transport,
    }
    this.#session = session
    this.#notify = notify
    this.#leave = services.audience.add(this)
    // It is unknown when a client fetched its list, so the current one counts as seen.
    services.audience.listed(this)
  }

  /** Emits no event, because no client reads this surface. */
  surface(): Surface {
    this.#surface = this.#session.currentTurn().surface(this.#surface)
    return this.#surface
  }

  changed(method: string): void {
    this.#notify(method)
  }

  /** Returns the result of a request. Throws an `RpcError` if it must be answered with an error. */
  answer(method: string, params: Json, request: ModernRequest): Promise<Json> {
    const record = this.#services.clients.modern(this.#facts, request.envelope[CLIENT_INFO_KEY])
    return record.count(method, this.#answer(method, params, request))
  }

  /** Counts a client with this `_meta` as listening; returns a function that ends it. */
  listens(meta: unknown): () => void {
    const info = isJson(meta) ? meta[CLIENT_INFO_KEY] : undefined
    return this.#services.clients.modern(this.#facts, info).opened()
  }

  async close(): Promise<void> {
    this.#leave()
    await this.#services.sessions.end(this.#session)
  }

  #answer(method: string, params: Json, request: ModernRequest): Promise<Json> {
    const { requests, modernCalls, newId } = this.#services
    const scene = this.#services.sessions.scene(this.view, this.#session)
    const { id: principal } = this.#facts.principal
    if (!INTERACTIVE.includes(method))
      return requests.answer(method, params, scene, new PendingCall(request, { owner: newId(), principal }))
    const boundTo = JSON.stringify([principal, this.view.profile ?? null, method, params.name ?? params.uri])
    return modernCalls.run({ params, request, principal, boundTo }, (sent, line) =>
      requests.answer(method, sent, scene, line),
    )
  }
}
