/** Notifications that are on their way to a client. */
export class NoticeQueue {
  readonly #sending = new Set<Promise<unknown>>()

  /** Notes one; it is dropped when it cannot be sent. */
  add(sent: Promise<unknown>): void {
    const settled = sent.catch(() => {}).finally(() => this.#sending.delete(settled))
    this.#sending.add(settled)
  }

  /** Resolves once all of them are sent. */
  async flushed(): Promise<void> {
    while (this.#sending.size > 0) await Promise.all(this.#sending)
  }
}
