import type { Access } from '../access/access.ts'
import type { Principal } from '../access/principal.ts'
import type { ProfileView } from '../sessions/profile-view.ts'
import { ModernTransport, type ModernTransportOptions } from './modern-transport.ts'

/** A transport and its key, which is known before it is open. */
interface KnownTransport {
  readonly principal: Principal
  readonly view: ProfileView
  readonly opening: Promise<ModernTransport>
}

/** The transports of modern clients over HTTP: one per token and profile. */
export class ModernTransports {
  readonly #options: ModernTransportOptions
  readonly #access: Access
  /** The least recently used transport comes first. */
  readonly #transports = new Map<string, KnownTransport>()
  /** Transports of views that are no longer current, until their calls have ended. */
  readonly #retired = new Set<KnownTransport>()

  constructor(options: ModernTransportOptions, access: Access) {
    this.#options = options
    this.#access = access
  }

  /** The transport for a token and a view, which opens with its first request. */
  get(principal: Principal, view: ProfileView): Promise<ModernTransport> {
    const key = JSON.stringify([principal.id, view.profile ?? null])
    const known = this.#transports.get(key)
    if (known?.view === view) {
      this.#transports.delete(key)
      this.#transports.set(key, known)
      return known.opening
    }
    if (known) this.#retire(known)
    void this.#makeRoom()
    const opening = ModernTransport.open(this.#options, principal, view)
    const transport = { principal, view, opening }
    this.#transports.set(key, transport)
    opening.catch(() => {
      if (this.#transports.get(key) === transport) this.#transports.delete(key)
    })
    return opening
  }

  /**
   * Cancels what is in flight for tokens that are no longer accepted. Calls for a view that is no longer current
   * finish; the next request uses the current view.
   */
  async review(): Promise<void> {
    for (const [key, transport] of [...this.#transports]) {
      if (this.#access.stillAccepts(transport.principal) && this.#options.sessions.isCurrent(transport.view))
        continue
      this.#transports.delete(key)
      this.#retire(transport)
    }
    const revoked = [...this.#retired].filter(({ principal }) => !this.#access.stillAccepts(principal))
    await Promise.all(revoked.map(async ({ opening }) => (await opening.catch(() => undefined))?.cut()))
  }

  async close(): Promise<void> {
    const transports = [...this.#transports.values(), ...this.#retired]
    await Promise.all(transports.map(async ({ opening }) => (await opening).close()))
  }

  #retire(transport: KnownTransport): void {
    this.#retired.add(transport)
    transport.opening
      .then((opened) => opened.retire())
      .catch((error) => this.#options.log.warn(String(error)))
      .finally(() => this.#retired.delete(transport))
  }

  /** An OAuth issuer can have any number of users. */
  async #makeRoom(): Promise<void> {
    const { maxSessions } = this.#options.limits
    if (maxSessions === 0 || this.#transports.size < maxSessions) return
    for (const [key, known] of [...this.#transports]) {
      const transport = await known.opening.catch(() => undefined)
      if (transport?.isIdle !== true || this.#transports.get(key) !== known) continue
      this.#transports.delete(key)
      await transport.close()
      return
    }
  }
}
