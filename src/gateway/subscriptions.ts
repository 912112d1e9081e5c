import type { ConnectedServers, ServerNotification } from 'toolcrib/mcp'
import type { Offer } from './offers.ts'

/** A resource that somebody watches. */
interface Watched extends Offer {
  readonly listeners: Set<() => void>
  /** Ends the subscription at the server. */
  end: () => void
}

/** Subscriptions to resources: one at the server for all clients that watch the same resource. */
export class Subscriptions {
  readonly #servers: ConnectedServers
  readonly #watched = new Map<string, Watched>()

  constructor(servers: ConnectedServers) {
    this.#servers = servers
  }

  /** Calls the listener whenever the resource changes; returns how to stop. */
  watch(offer: Offer, listener: () => void): () => void {
    const id = JSON.stringify([offer.server, offer.key])
    const watched = this.#watched.get(id) ?? this.#start(id, offer)
    watched.listeners.add(listener)
    return () => {
      watched.listeners.delete(listener)
      if (watched.listeners.size > 0 || this.#watched.get(id) !== watched) return
      this.#watched.delete(id)
      watched.end()
    }
  }

  /** Passes on that a resource changed. */
  notified({ server, method, params }: ServerNotification): void {
    if (method !== 'notifications/resources/updated') return
    const watched = this.#watched.get(JSON.stringify([server, params?.uri]))
    for (const listener of [...(watched?.listeners ?? [])]) listener()
  }

  /** A server that was away knows nothing of earlier subscriptions. */
  restarted(server: string): void {
    for (const watched of this.#watched.values()) {
      if (watched.server !== server) continue
      watched.end()
      watched.end = this.#subscribe(watched)
    }
  }

  close(): void {
    for (const { end } of this.#watched.values()) end()
    this.#watched.clear()
  }

  #start(id: string, offer: Offer): Watched {
    const watched = { ...offer, listeners: new Set<() => void>(), end: this.#subscribe(offer) }
    this.#watched.set(id, watched)
    return watched
  }

  #subscribe({ server, key: uri }: Offer): () => void {
    if (this.#servers.info(server)?.era !== 'modern') {
      this.#tell(server, 'resources/subscribe', uri)
      return () => this.#tell(server, 'resources/unsubscribe', uri)
    }
    // Such a request is answered when it ends, so nobody waits for it.
    const abort = new AbortController()
    const params = { notifications: { resourceSubscriptions: [uri] } }
    this.#servers
      .request(server, { method: 'subscriptions/listen', params }, { timeoutMs: 0, signal: abort.signal })
      .catch(() => {})
    return () => abort.abort(new Error('nobody watches the resource any more'))
  }

  #tell(server: string, method: string, uri: string): void {
    this.#servers.request(server, { method, params: { uri } }).catch(() => {})
  }
}
