import type { Access } from './access.ts'
import type { GatewayServices } from './gateway-services.ts'
import { ModernDoor } from './modern-door.ts'
import type { Principal } from './principal.ts'
import type { ProfileView } from './profile-view.ts'

/** A door and its key, which is known before the door is open. */
interface KnownDoor {
  readonly principal: Principal
  readonly view: ProfileView
  readonly opening: Promise<ModernDoor>
}

/** The doors of modern clients over HTTP: one per token and profile. */
export class ModernDoors {
  readonly #services: GatewayServices
  readonly #access: Access
  /** The least recently used door comes first. */
  readonly #doors = new Map<string, KnownDoor>()
  /** Doors of views that are no longer current, until their calls have ended. */
  readonly #retired = new Set<KnownDoor>()

  constructor(services: GatewayServices, access: Access) {
    this.#services = services
    this.#access = access
  }

  /** The door for a token and a view, which opens with its first request. */
  get(principal: Principal, view: ProfileView): Promise<ModernDoor> {
    const key = JSON.stringify([principal.id, view.profile ?? null])
    const known = this.#doors.get(key)
    if (known?.view === view) {
      this.#doors.delete(key)
      this.#doors.set(key, known)
      return known.opening
    }
    if (known) this.#retire(known)
    void this.#makeRoom()
    const opening = ModernDoor.open(this.#services, principal, view)
    const door = { principal, view, opening }
    this.#doors.set(key, door)
    opening.catch(() => {
      if (this.#doors.get(key) === door) this.#doors.delete(key)
    })
    return opening
  }

  /**
   * Cancels what is in flight for tokens that are no longer accepted. Calls for a view that is no longer current
   * finish; the next request uses the current view.
   */
  async review(): Promise<void> {
    for (const [key, door] of [...this.#doors]) {
      if (this.#access.stillAccepts(door.principal) && this.#services.sessions.isCurrent(door.view)) continue
      this.#doors.delete(key)
      this.#retire(door)
    }
    const revoked = [...this.#retired].filter(({ principal }) => !this.#access.stillAccepts(principal))
    await Promise.all(revoked.map(async ({ opening }) => (await opening.catch(() => undefined))?.cut()))
  }

  async close(): Promise<void> {
    const doors = [...this.#doors.values(), ...this.#retired]
    await Promise.all(doors.map(async ({ opening }) => (await opening).close()))
  }

  #retire(door: KnownDoor): void {
    this.#retired.add(door)
    door.opening
      .then((opened) => opened.retire())
      .catch((error) => this.#services.warn(String(error)))
      .finally(() => this.#retired.delete(door))
  }

  /** An OAuth issuer can have any number of users. */
  async #makeRoom(): Promise<void> {
    const { maxSessions } = this.#services.limits
    if (maxSessions === 0 || this.#doors.size < maxSessions) return
    for (const [key, known] of [...this.#doors]) {
      const door = await known.opening.catch(() => undefined)
      if (door?.isIdle !== true || this.#doors.get(key) !== known) continue
      this.#doors.delete(key)
      await door.close()
      return
    }
  }
}
