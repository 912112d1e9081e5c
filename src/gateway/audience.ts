import type { Surface, ToolRegistry } from 'toolcrib'
import type { Schedule, ServerNotification } from 'toolcrib/mcp'
import type { ProfileView } from './profile-view.ts'

/** A client that is notified when a list changes. */
export interface Attendee {
  readonly view: ProfileView
  /** The tools it is shown: the fingerprint is equal for equal lists. */
  surface(): Pick<Surface, 'fingerprint' | 'deferredCount'>
  /** Sends one of the notifications about a changed list. */
  changed(method: string): void
}

const TOOLS_CHANGED = 'notifications/tools/list_changed'
const PASSED_ON = ['notifications/prompts/list_changed', 'notifications/resources/list_changed']

/** Events after which a client may see other tools. */
const CHANGES = [
  'tool-registered',
  'tool-unregistered',
  'server-synced',
  'tool-quarantined',
  'tool-released',
  'mode-changed',
]
/** Changes come in bursts, a server's whole list at once. */
const SETTLE_MS = 100
/** Usually long enough for a server's list to be read again. A slower server is waited for several times as long. */
const ANNOUNCED_MS = 700
const MAX_WAITS = 5

interface Seen {
  /** What was on the list that the client fetched; undefined when it never did. */
  fingerprint: string | undefined
  notifiedAt: number
}

/** Notifies clients of changed lists, once per burst, and only those whose list did change. */
export class Audience {
  readonly #schedule: Schedule
  readonly #unsubscribe: () => void
  readonly #attendees = new Map<Attendee, Seen>()
  readonly #pending = new Map<string, () => void>()
  /** Servers whose list was read since they last announced a change. */
  readonly #synced = new Set<string>()
  #sequence = 0

  constructor(registry: ToolRegistry, schedule: Schedule) {
    this.#schedule = schedule
    this.#unsubscribe = registry.subscribe((event) => {
      if (event.type === 'server-synced') this.#synced.add(event.server)
      if (CHANGES.includes(event.type)) this.#soon(TOOLS_CHANGED, () => this.#toolsChanged())
    })
  }

  /** Notifies this client from now on; returns how to stop. */
  add(attendee: Attendee): () => void {
    this.#attendees.set(attendee, { fingerprint: undefined, notifiedAt: 0 })
    return () => void this.#attendees.delete(attendee)
  }

  /** Records what a client has listed, to notify it when that changes. */
  listed(attendee: Attendee): void {
    const seen = this.#attendees.get(attendee)
    if (seen) seen.fingerprint = attendee.surface().fingerprint
  }

  /** Notifies one client if it sees other tools than when it last listed them. */
  recheck(attendee: Attendee): void {
    const seen = this.#attendees.get(attendee)
    // A client that never listed tools has nothing that could be out of date.
    if (!seen || seen.fingerprint === undefined) return
    const fingerprint = attendee.surface().fingerprint
    if (fingerprint === seen.fingerprint) return
    seen.fingerprint = fingerprint
    seen.notifiedAt = ++this.#sequence
    attendee.changed(TOOLS_CHANGED)
  }

  /**
   * Passes on that a server announced another list. Tools that it shows over one session's connection are not listed:
   * clients are notified if the list that they share turns out to be another one.
   */
  notified({ server, sessionKey, method }: ServerNotification): void {
    if (method === TOOLS_CHANGED && sessionKey === undefined) this.#announced(server)
    if (!PASSED_ON.includes(method)) return
    this.#soon(`${server} ${method}`, () => {
      for (const attendee of this.#attendees.keys())
        if (attendee.view.permitsServer(server)) attendee.changed(method)
    })
  }

  close(): void {
    this.#unsubscribe()
    for (const stop of this.#pending.values()) stop()
    this.#pending.clear()
  }

  /**
   * A change is noticed once the server's list has been read again. Clients that see the whole list are notified
   * anyway, because the server announced a change.
   */
  #announced(server: string): void {
    this.#synced.delete(server)
    this.#tellAfterSync(server, this.#sequence, MAX_WAITS)
  }

  #tellAfterSync(server: string, since: number, waits: number): void {
    this.#after(ANNOUNCED_MS, `${server} ${TOOLS_CHANGED}`, () => {
      if (!this.#synced.has(server) && waits > 0) {
        this.#tellAfterSync(server, since, waits - 1)
        return
      }
      for (const [attendee, seen] of this.#attendees) {
        const isNotified = seen.notifiedAt > since || seen.fingerprint === undefined
        if (isNotified || !attendee.view.permitsServer(server) || attendee.surface().deferredCount > 0)
          continue
        attendee.changed(TOOLS_CHANGED)
      }
    })
  }

  #toolsChanged(): void {
    for (const attendee of [...this.#attendees.keys()]) this.recheck(attendee)
  }

  #soon(what: string, tell: () => void): void {
    this.#after(SETTLE_MS, what, tell)
  }

  #after(delayMs: number, what: string, tell: () => void): void {
    if (this.#pending.has(what)) return
    const stop = this.#schedule(delayMs, () => {
      this.#pending.delete(what)
      tell()
    })
    this.#pending.set(what, stop)
  }
}
