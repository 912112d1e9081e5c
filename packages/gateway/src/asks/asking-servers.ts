import type { Store } from '@toolcrib/mcp/stores'
import { isJson } from '../json-rpc.ts'
import { ASKABLE } from './client-line.ts'

const KEY = 'gateway:asking-servers'

/** What older servers have asked their clients for, as names of capabilities. Remembered in the store. */
export class AskingServers {
  readonly #asked = new Map<string, Set<string>>()
  readonly #store: Store | undefined
  readonly #loaded: Promise<void>

  readonly #expected: ReadonlySet<string>

  /** The expected servers may ask for anything, whether or not they have asked. */
  constructor(expected: readonly string[], store: Store | undefined) {
    this.#expected = new Set(expected)
    this.#store = store
    this.#loaded = this.#load()
  }

  async askedBy(server: string): Promise<AskedCapabilities> {
    await this.#loaded
    const asked = this.#asked.get(server) ?? NOTHING
    return { asked, expected: this.#expected.has(server) ? new Set(ASKABLE) : asked }
  }

  add(server: string, capability: string): void {
    if (this.#asked.get(server)?.has(capability)) return
    this.#note(server, [capability])
    // If the store fails, it is noticed again with the next question.
    this.#store
      ?.update(KEY, (current) => {
        const asked = new Map(askedIn(current))
        asked.set(server, [...new Set([...(asked.get(server) ?? []), capability])])
        return Object.fromEntries(asked)
      })
      .catch(() => {})
  }

  #note(server: string, capabilities: readonly string[]): void {
    this.#asked.set(server, new Set([...(this.#asked.get(server) ?? []), ...capabilities]))
  }

  async #load(): Promise<void> {
    try {
      for (const [server, asked] of askedIn(await this.#store?.get(KEY))) this.#note(server, asked)
    } catch {
      // The servers are noticed again when they ask.
    }
  }
}

/** What a server has asked for, and what it may ask for, as names of capabilities. */
export interface AskedCapabilities {
  readonly asked: ReadonlySet<string>
  readonly expected: ReadonlySet<string>
}

const NOTHING: ReadonlySet<string> = new Set()

/** What each server asked for. Earlier versions kept only the names of the servers. */
function askedIn(stored: unknown): readonly (readonly [string, string[]])[] {
  if (Array.isArray(stored)) return stored.map((server) => [String(server), [...ASKABLE]])
  return Object.entries(isJson(stored) ? stored : {}).map(([server, asked]) => [
    server,
    Array.isArray(asked) ? asked.map(String) : [],
  ])
}
