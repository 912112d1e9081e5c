import type { ConnectedServers, ServerNotification } from '@toolcrib/mcp'
import { isJson, type Json } from '../json-rpc.ts'
import type { ProfileView } from '../sessions/profile-view.ts'
import type { OwnedItem, PromptsAndResources } from './prompts-and-resources.ts'

/** A resource, and the connection over which it is watched: the shared one when `sessionKey` is undefined. */
export interface WatchedResource extends OwnedItem {
  readonly sessionKey?: string | undefined
}

interface Watched extends WatchedResource {
  readonly listeners: Set<() => void>
  /** Ends the subscription at the server. */
  end: () => void
}

/** Subscriptions to resources: one per connection for all clients that watch the same resource. */
export class Subscriptions {
  readonly #servers: ConnectedServers
  readonly #watched = new Map<string, Watched>()

  constructor(servers: ConnectedServers) {
    this.#servers = servers
  }

  /** Calls the listener whenever the resource changes; returns a function that stops it. */
  watch(offer: WatchedResource, listener: () => void): () => void {
    const id = idOf(offer)
    const watched = this.#watched.get(id) ?? this.#start(id, offer)
    watched.listeners.add(listener)
    return () => {
      watched.listeners.delete(listener)
      if (watched.listeners.size > 0 || this.#watched.get(id) !== watched) return
      this.#watched.delete(id)
      watched.end()
    }
  }

  /** Handles a notification that a resource changed. */
  notified({ server, sessionKey, method, params }: ServerNotification): void {
    if (method !== 'notifications/resources/updated') return
    const watched = this.#watched.get(idOf({ server, sessionKey, key: String(params?.uri) }))
    for (const listener of [...(watched?.listeners ?? [])]) listener()
  }

  /** Subscribes again over the shared connection after a server restarted. */
  restarted(server: string): void {
    for (const watched of this.#watched.values()) {
      if (watched.server !== server || watched.sessionKey !== undefined) continue
      watched.end()
      watched.end = this.#subscribe(watched)
    }
  }

  close(): void {
    for (const { end } of this.#watched.values()) end()
    this.#watched.clear()
  }

  #start(id: string, offer: WatchedResource): Watched {
    const watched = { ...offer, listeners: new Set<() => void>(), end: this.#subscribe(offer) }
    this.#watched.set(id, watched)
    return watched
  }

  #subscribe(offer: WatchedResource): () => void {
    const { server, key: uri } = offer
    if (this.#servers.info(server)?.era !== 'modern') {
      this.#tell(offer, 'resources/subscribe')
      return () => this.#tell(offer, 'resources/unsubscribe')
    }
    // Such a request is answered when it ends, so nobody waits for it.
    const abort = new AbortController()
    const params = { notifications: { resourceSubscriptions: [uri] } }
    this.#servers
      .request(server, { method: 'subscriptions/listen', params }, { timeoutMs: 0, signal: abort.signal })
      .catch(() => {})
    return () => abort.abort(new Error('nobody watches the resource any more'))
  }

  #tell({ server, sessionKey, key: uri }: WatchedResource, method: string): void {
    this.#servers.request(server, { method, params: { uri } }, { sessionKey }).catch(() => {})
  }
}

function idOf({
  server,
  sessionKey = null,
  key,
}: {
  server: string
  sessionKey?: string | null | undefined
  key: string
}): string {
  return JSON.stringify([server, sessionKey, key])
}

const MAX_WATCHED = 1_000

/**
 * Watches the resources in a modern client's `subscriptions/listen`, and calls `updated` when one of them changes.
 * Resolves, once they are found, with a function that stops it.
 */
export async function watchListened(
  { items, subscriptions }: { readonly items: PromptsAndResources; readonly subscriptions: Subscriptions },
  view: ProfileView,
  listen: Json,
  updated: (uri: string) => void,
): Promise<() => void> {
  const watching = namedResources(listen).map(async (uri) => {
    // No server has this resource, so it cannot change.
    const offer = await items.resource(uri, { view }).catch(() => undefined)
    return offer && subscriptions.watch(offer, () => updated(uri))
  })
  const stops = await Promise.all(watching)
  return () => {
    for (const stop of stops) stop?.()
  }
}

function namedResources({ params }: Json): readonly string[] {
  const { notifications } = isJson(params) ? params : {}
  const uris = isJson(notifications) ? notifications.resourceSubscriptions : undefined
  return Array.isArray(uris) ? uris.filter((uri) => typeof uri === 'string').slice(0, MAX_WATCHED) : []
}
