import type { GatewayServices } from './gateway-services.ts'
import { isJson, type Json } from './json-rpc.ts'
import { watchListened } from './listened-resources.ts'
import type { ProfileView } from './profile-view.ts'

/**
 * The resources that a modern client over stdio listens to. The SDK answers its `subscriptions/listen` and forwards
 * notifications of resources, but does not report which resources these are, so the requests are read here.
 */
export class StdioListens {
  /** Notifies the client that a resource changed; set once the client is known to be modern. */
  tell: (uri: string) => void = () => {}
  readonly #services: GatewayServices
  readonly #view: ProfileView
  readonly #stops = new Map<unknown, Promise<() => void>>()

  constructor(services: GatewayServices, view: ProfileView) {
    this.#services = services
    this.#view = view
  }

  /** Reads which subscriptions a message of the client begins or ends. */
  noticed(message: Json): void {
    const { id, method, params } = message
    if (method === 'notifications/cancelled' && isJson(params)) void this.#stop(params.requestId)
    if (method !== 'subscriptions/listen' || id === undefined || this.#stops.has(id)) return
    this.#stops.set(
      id,
      watchListened(this.#services, this.#view, message, (uri) => this.tell(uri)),
    )
  }

  async close(): Promise<void> {
    await Promise.all([...this.#stops.keys()].map((id) => this.#stop(id)))
  }

  async #stop(id: unknown): Promise<void> {
    const watching = this.#stops.get(id)
    this.#stops.delete(id)
    const stop = await watching
    stop?.()
  }
}
