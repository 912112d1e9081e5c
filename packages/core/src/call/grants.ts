import type { Grant } from './ask.ts'

const SESSION_GRANT_MS = 60 * 60_000
const MAX_SESSION_GRANTS = 10_000

/** What persons granted for longer than one call. Bounded: the least recently used are forgotten, and asked about again. */
export class Grants {
  /** When each was last used. */
  readonly #sessions = new Map<string, WeakMap<object, number>>()
  readonly #always = new WeakSet<object>()

  /** Whether a grant covers a call of the tool with this definition; using it extends it. */
  covers(sessionId: string, definition: object, now: number): boolean {
    if (this.#always.has(definition)) return true
    const last = this.#sessions.get(sessionId)?.get(definition)
    if (last === undefined || now - last > SESSION_GRANT_MS) return false
    this.add('session', sessionId, definition, now)
    return true
  }

  add(grant: Grant, sessionId: string, definition: object, now: number): void {
    if (grant === 'always') this.#always.add(definition)
    if (grant !== 'session') return
    const ofSession = this.#sessions.get(sessionId) ?? new WeakMap()
    this.#sessions.delete(sessionId)
    this.#sessions.set(sessionId, ofSession.set(definition, now))
    const [oldest] = this.#sessions.keys()
    if (this.#sessions.size > MAX_SESSION_GRANTS && oldest !== undefined) this.#sessions.delete(oldest)
  }
}
