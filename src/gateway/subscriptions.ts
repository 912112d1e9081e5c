import type { ConnectedServers, ServerNotification } from 'toolcrib/mcp'
import type { Offer } from './offers.ts'

/** A resource, and the connection over which it is watched: the shared one when `sessionKey` is undefined. */
export interface WatchedOffer extends Offer {
  readonly sessionKey?: string | undefined
}

/** A watched resource. */
interface Watched extends WatchedOffer {
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
  watch(offer: WatchedOffer, listener: () => void): () => void {
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

  #start(id: string, offer: WatchedOffer): Watched {
    const watched = { ...offer, listeners: new Set<() => void>(), end: this.#subscribe(offer) }
    this.#watched.set(id, watched)
    return watched
  }

  #subscribe(offer: WatchedOffer): () => void {
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

  #tell({ server, sessionKey, key: uri }: WatchedOffer, method: string): void {
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
