import type { Surface, ToolRegistry } from '@toolcrib/core'
import type { Schedule, ServerNotification } from '@toolcrib/mcp'
import type { ProfileView } from '../sessions/profile-view.ts'

/** A client that is notified when a list changes. */
export interface ListWatcher {
  readonly view: ProfileView
  /** The tools that the client sees; equal lists have equal fingerprints. */
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
/** Changes come in bursts, such as a server's whole list. */
const SETTLE_MS = 100
/** Usually long enough to read a server's list again. For a slower server, several times as long. */
const ANNOUNCED_MS = 700
const MAX_WAITS = 5

interface Seen {
  /** The fingerprint of the last list that the client fetched; undefined if it never fetched one. */
  fingerprint: string | undefined
  notifiedAt: number
}

/** Notifies clients of changed lists: once per burst, and only clients whose list changed. */
export class ListWatchers {
  readonly #schedule: Schedule
  readonly #unsubscribe: () => void
  readonly #watchers = new Map<ListWatcher, Seen>()
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

  /** Notifies this client from now on; returns a function that stops it. */
  add(watcher: ListWatcher): () => void {
    this.#watchers.set(watcher, { fingerprint: undefined, notifiedAt: 0 })
    return () => void this.#watchers.delete(watcher)
  }

  /** Records what a client has listed, so that it is notified when that changes. */
  listed(watcher: ListWatcher): void {
    const seen = this.#watchers.get(watcher)
    if (seen) seen.fingerprint = watcher.surface().fingerprint
  }

  /** Notifies one client if it now sees other tools than when it last listed them. */
  recheck(watcher: ListWatcher): void {
    const seen = this.#watchers.get(watcher)
    // A client that never listed tools has no outdated list.
    if (!seen || seen.fingerprint === undefined) return
    const fingerprint = watcher.surface().fingerprint
    if (fingerprint === seen.fingerprint) return
    seen.fingerprint = fingerprint
    seen.notifiedAt = ++this.#sequence
    watcher.changed(TOOLS_CHANGED)
  }

  /**
   * Handles a server's announcement of a changed list. Tools that the server shows only over a private connection are
   * not listed; clients are notified if the shared list changed.
   */
  notified({ server, sessionKey, method }: ServerNotification): void {
    if (method === TOOLS_CHANGED && sessionKey === undefined) this.#announced(server)
    if (!PASSED_ON.includes(method)) return
    this.#soon(`${server} ${method}`, () => {
      for (const watcher of this.#watchers.keys())
        if (watcher.view.permitsServer(server)) watcher.changed(method)
    })
  }

  close(): void {
    this.#unsubscribe()
    for (const stop of this.#pending.values()) stop()
    this.#pending.clear()
  }

  /**
   * A change is noticed once the server's list has been read again. Clients that see the whole list are notified in any
   * case, because the server announced a change.
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
      for (const [watcher, seen] of this.#watchers) {
        const isNotified = seen.notifiedAt > since || seen.fingerprint === undefined
        if (isNotified || !watcher.view.permitsServer(server) || watcher.surface().deferredCount > 0) continue
        watcher.changed(TOOLS_CHANGED)
      }
    })
  }

  #toolsChanged(): void {
    for (const watcher of [...this.#watchers.keys()]) this.recheck(watcher)
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
