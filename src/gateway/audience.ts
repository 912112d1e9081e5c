import type { ToolRegistry } from 'toolcrib'
import type { Schedule, ServerNotification } from 'toolcrib/mcp'
import type { View } from './view.ts'

/** Someone who is told when lists change. */
export interface Attendee {
  readonly view: View
  /** Equal for equal lists of tools. */
  toolsFingerprint(): string
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

/** Tells clients about changed lists, once for each burst, and only those whose list did change. */
export class Audience {
  readonly #schedule: Schedule
  readonly #unsubscribe: () => void
  readonly #attendees = new Map<Attendee, { fingerprint: string | undefined }>()
  readonly #pending = new Map<string, () => void>()

  constructor(registry: ToolRegistry, schedule: Schedule) {
    this.#schedule = schedule
    this.#unsubscribe = registry.subscribe(({ type }) => {
      if (CHANGES.includes(type)) this.#soon(TOOLS_CHANGED, () => this.#toolsChanged())
    })
  }

  /** Tells this one from now on; returns how to stop. */
  add(attendee: Attendee): () => void {
    this.#attendees.set(attendee, { fingerprint: undefined })
    return () => void this.#attendees.delete(attendee)
  }

  /** Notes what a client has seen, so that it is told when that changes. */
  listed(attendee: Attendee): void {
    const seen = this.#attendees.get(attendee)
    if (seen) seen.fingerprint = attendee.toolsFingerprint()
  }

  /** Tells one client, if it sees other tools than when it last listed them. */
  recheck(attendee: Attendee): void {
    const seen = this.#attendees.get(attendee)
    // Whoever never listed tools has nothing that could be out of date.
    if (!seen || seen.fingerprint === undefined) return
    const fingerprint = attendee.toolsFingerprint()
    if (fingerprint === seen.fingerprint) return
    seen.fingerprint = fingerprint
    attendee.changed(TOOLS_CHANGED)
  }

  /** Passes on that prompts or resources of a server changed. */
  notified({ server, method }: ServerNotification): void {
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

  #toolsChanged(): void {
    for (const attendee of [...this.#attendees.keys()]) this.recheck(attendee)
  }

  #soon(what: string, tell: () => void): void {
    if (this.#pending.has(what)) return
    const stop = this.#schedule(SETTLE_MS, () => {
      this.#pending.delete(what)
      tell()
    })
    this.#pending.set(what, stop)
  }
}
