import type { ClientOptions, ServerListener, ServerNotification } from '../connection/server-messages.ts'

/** Who listens to the shared connections: the `client` of the options, and whoever was attached since. */
export class ServerListeners {
  readonly #own: ServerListener
  #attached: readonly ServerListener[] = []

  constructor(own: ServerListener = {}) {
    this.#own = own
  }

  attach(listener: ServerListener): () => void {
    this.#attached = [...this.#attached, listener]
    return () => {
      this.#attached = this.#attached.filter((attached) => attached !== listener)
    }
  }

  /** The same client, whose messages go to everyone who listens. */
  asClient(client: ClientOptions): ClientOptions {
    const current = () => this.#answerer
    return {
      ...client,
      get onRequest() {
        return current()
      },
      onNotification: (notification) => this.#notify(notification),
    }
  }

  get #answerer(): ServerListener['onRequest'] {
    const answering = [this.#own, ...this.#attached].filter(({ onRequest }) => onRequest !== undefined)
    return answering.at(-1)?.onRequest
  }

  #notify(notification: ServerNotification): void {
    for (const { onNotification } of [this.#own, ...this.#attached]) {
      try {
        onNotification?.(notification)
      } catch {
        // One listener that fails must not silence the others.
      }
    }
  }
}
