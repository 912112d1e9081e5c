import { createMcpHandler, type McpHttpHandler } from '@modelcontextprotocol/server'
import type { Principal } from './access.ts'
import type { GatewayCore } from './core.ts'
import { ModernClient } from './modern-client.ts'
import { whenEnded } from './stream-end.ts'
import { isJson } from './upstream.ts'
import type { View } from './view.ts'

const MAX_WATCHED = 1_000

/** Serves clients of the modern era over HTTP, for one token and profile. */
export class ModernDoor {
  readonly #core: GatewayCore
  readonly #handler: McpHttpHandler
  readonly #client: ModernClient

  private constructor(core: GatewayCore, client: ModernClient, handler: McpHttpHandler) {
    this.#core = core
    this.#client = client
    this.#handler = handler
  }

  static async open(core: GatewayCore, principal: Principal, view: View): Promise<ModernDoor> {
    const session = await core.openSession(view, `${principal.id}:${view.profile ?? ''}`)
    const client = new ModernClient(core, { principal, view, transport: 'http' }, session, (method) =>
      notify(handler, method),
    )
    const handler = createMcpHandler(() => client.server(), {
      legacy: 'reject',
      maxRequestBodySize: core.limits.maxBodyBytes,
      onerror: ({ message }) => core.warn(message),
    })
    return new ModernDoor(core, client, handler)
  }

  async fetch(request: Request, parsedBody: unknown): Promise<Response> {
    const response = await this.#handler.fetch(request, { parsedBody })
    const watched = watchedResources(parsedBody)
    if (watched.length === 0 || !response.ok) return response
    const stops = await Promise.all(watched.map((uri) => this.#watch(uri)))
    return whenEnded(response, () => {
      for (const stop of stops) stop()
    })
  }

  async close(): Promise<void> {
    await this.#handler.close()
    await this.#client.close()
  }

  async #watch(uri: string): Promise<() => void> {
    try {
      const offer = await this.#core.offers.resource(uri, this.#client.view)
      return this.#core.subscriptions.watch(offer, () => this.#handler.notify.resourceUpdated(uri))
    } catch {
      // Nobody has this resource, so it cannot change.
      return () => {}
    }
  }
}

function notify({ notify }: McpHttpHandler, method: string): void {
  if (method === 'notifications/tools/list_changed') notify.toolsChanged()
  if (method === 'notifications/prompts/list_changed') notify.promptsChanged()
  if (method === 'notifications/resources/list_changed') notify.resourcesChanged()
}

/** The resources that a request of a client subscribes to. */
function watchedResources(body: unknown): readonly string[] {
  if (!isJson(body) || body.method !== 'subscriptions/listen' || !isJson(body.params)) return []
  const { notifications } = body.params
  const uris = isJson(notifications) ? notifications.resourceSubscriptions : undefined
  return Array.isArray(uris) ? uris.filter((uri) => typeof uri === 'string').slice(0, MAX_WATCHED) : []
}
