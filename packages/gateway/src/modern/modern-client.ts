import { createHash } from 'node:crypto'
import type { Surface } from '@toolcrib/core'
import type { ServerEvents } from '../asks/server-events.ts'
import type { ClientRequests } from '../calls/client-requests.ts'
import { isJson, type Json } from '../json-rpc.ts'
import type { ClientIdentity } from '../legacy/legacy-client.ts'
import type { ListWatcher } from '../lists/list-watchers.ts'
import { CLIENT_INFO_KEY } from '../protocol.ts'
import type { ClientFacts, ConnectedClients } from '../sessions/connected-clients.ts'
import type { ClientSession, GatewaySessions } from '../sessions/gateway-sessions.ts'
import type { ProfileView } from '../sessions/profile-view.ts'
import type { ModernCalls } from './modern-calls.ts'
import type { ModernRequest } from './pending-call.ts'

/** Requests during which a server may ask questions. */
const INTERACTIVE = ['tools/call', 'prompts/get', 'resources/read']

/** The identity of modern clients, and what they see: their list never grows. */
export type ModernIdentity = Omit<ClientIdentity, 'activation'>

/** What the clients of the modern era work with. */
export interface ModernClientOptions {
  readonly sessions: GatewaySessions
  readonly connected: ConnectedClients
  readonly requests: ClientRequests
  readonly events: ServerEvents
  readonly calls: ModernCalls
}

/** Clients of the modern era with the same token and profile. Each of their requests is independent. */
export class ModernClient implements ListWatcher {
  readonly view: ProfileView
  readonly #options: ModernClientOptions
  readonly #facts: ClientFacts
  readonly #opened: ClientSession
  #surface: Surface | undefined
  readonly #notify: (method: string) => void
  readonly #leave: () => void

  constructor(
    options: ModernClientOptions,
    { principal, view, transport }: ModernIdentity,
    opened: ClientSession,
    notify: (method: string) => void,
  ) {
    this.view = view
    this.#options = options
    this.#facts = {
      principal,
      sessionId: opened.session.id,
      profile: view.profile,
      era: 'modern',
      transport,
    }
    this.#opened = opened
    this.#notify = notify
    this.#leave = options.events.watchers.add(this)
    // It is unknown when a client fetched its list, so the current one counts as seen.
    options.events.watchers.listed(this)
  }

  /** Emits no event, because no client reads this surface. */
  surface(): Surface {
    this.#surface = this.#opened.session.scope().surface(this.#surface)
    return this.#surface
  }

  changed(method: string): void {
    this.#notify(method)
  }

  /** Returns the result of a request. Throws an `RpcError` if it must be answered with an error. */
  answer(method: string, params: Json, request: ModernRequest): Promise<Json> {
    const record = this.#options.connected.modern(this.#facts, request.envelope[CLIENT_INFO_KEY])
    return record.count(method, this.#answer(method, params, request))
  }

  /** Counts a client with this `_meta` as listening; returns a function that ends it. */
  listens(meta: unknown): () => void {
    const info = isJson(meta) ? meta[CLIENT_INFO_KEY] : undefined
    return this.#options.connected.modern(this.#facts, info).opened()
  }

  async close(): Promise<void> {
    this.#leave()
    await this.#options.sessions.end(this.#opened)
  }

  #answer(method: string, params: Json, request: ModernRequest): Promise<Json> {
    const { requests, calls } = this.#options
    const { id: principal } = this.#facts.principal
    if (!INTERACTIVE.includes(method))
      return requests.answer(method, params, this.#opened, calls.lineOf(request, principal))
    const boundTo = () => JSON.stringify([principal, this.view.profile ?? null, method, digestOf(params)])
    return calls.run({ params, request, principal, boundTo }, (sent, line) =>
      requests.answer(method, sent, this.#opened, line),
    )
  }
}

/**
 * Equal only for the same request: behind `call_tool`, the tool is one of the arguments. `_meta` may differ each time.
 */
function digestOf({ _meta, ...params }: Json): string {
  const sorted = JSON.stringify({ ...params, arguments: params.arguments ?? {} }, (_key, value: unknown) =>
    isJson(value) ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))) : value,
  )
  return createHash('sha256').update(sorted).digest('base64url')
}
