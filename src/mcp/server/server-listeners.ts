import type { ClientOptions, ServerListener, ServerNotification } from '../connection/server-messages.ts'

/** The listeners of the shared connections: the `client` of the options, and those attached later. */
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

  /** Returns the same client, with its messages forwarded to every listener. */
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
        // A failing listener must not affect the others.
      }
    }
  }
}
