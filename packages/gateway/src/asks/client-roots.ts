import type { Schedule } from '@toolcrib/mcp'
import { isJson, type Json } from '../json-rpc.ts'
import type { ClientLine } from './client-line.ts'

/** How long a call waits for the roots of an older client. */
const PATIENCE_MS = 10_000

/**
 * The roots of clients. They are asked for before a request is sent, because they decide which connection it may use.
 * An older client that announces changes of its roots is asked once; any other client is asked with each request.
 */
export class ClientRoots {
  readonly #schedule: Schedule
  readonly #ofSessions = new Map<string, Promise<Json | undefined>>()
  readonly #ofRequests = new WeakMap<ClientLine, Promise<Json | undefined>>()

  constructor(schedule: Schedule) {
    this.#schedule = schedule
  }

  /** The client's answer to `roots/list`; undefined if it gives none. */
  of(line: ClientLine): Promise<Json | undefined> {
    const { roots } = line.capabilities
    const isKept = line.era === 'legacy' && isJson(roots) && roots.listChanged === true
    const known = isKept ? this.#ofSessions.get(line.owner) : this.#ofRequests.get(line)
    if (known) return known
    const asking = this.#ask(line, isKept)
    if (isKept) this.#ofSessions.set(line.owner, asking)
    else this.#ofRequests.set(line, asking)
    return asking
  }

  /** Forgets the roots of a session: they changed, or it ended. */
  forget(owner: string): void {
    this.#ofSessions.delete(owner)
  }

  async #ask(line: ClientLine, isKept: boolean): Promise<Json | undefined> {
    const abort = new AbortController()
    const giveUp = () => abort.abort(line.signal.reason)
    // Other requests wait for the roots of a session too.
    if (!isKept) line.signal.addEventListener('abort', giveUp, { once: true })
    let isLate = false
    const tooLate = () => {
      isLate = true
      abort.abort(new Error('the client did not tell its roots'))
    }
    // A modern client sends its answer with a later request, for which its call waits anyway.
    const stop = line.era === 'legacy' ? this.#schedule(PATIENCE_MS, tooLate) : () => {}
    try {
      const { roots } = await line.ask('roots/list', undefined, abort.signal, true)
      return { roots: Array.isArray(roots) ? roots : [] }
    } catch {
      // A client that was too slow is not waited for again; one that could not be reached may be reachable later.
      if (!isLate) this.forget(line.owner)
      return undefined
    } finally {
      stop()
      line.signal.removeEventListener('abort', giveUp)
    }
  }
}
