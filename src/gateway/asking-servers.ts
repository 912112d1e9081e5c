import type { Store } from 'toolcrib/stores'

const KEY = 'gateway:asking-servers'

/** Older servers that have asked their clients a question. Remembered in the store. */
export class AskingServers {
  readonly #names: Set<string>
  readonly #store: Store | undefined
  readonly #loaded: Promise<void>

  constructor(known: readonly string[], store: Store | undefined) {
    this.#names = new Set(known)
    this.#store = store
    this.#loaded = this.#load()
  }

  async has(server: string): Promise<boolean> {
    await this.#loaded
    return this.#names.has(server)
  }

  add(server: string): void {
    if (this.#names.has(server)) return
    this.#names.add(server)
    // If the store fails, the server is noticed again with its next question.
    this.#store?.update(KEY, (current) => [...new Set([...namesOf(current), server])]).catch(() => {})
  }

  async #load(): Promise<void> {
    try {
      for (const name of namesOf(await this.#store?.get(KEY))) this.#names.add(name)
    } catch {
      // The servers are noticed again when they ask.
    }
  }
}

function namesOf(stored: unknown): readonly string[] {
  return Array.isArray(stored) ? stored.filter((name) => typeof name === 'string') : []
}
