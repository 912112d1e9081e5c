import { createHash } from 'node:crypto'
import type { ToolcribEvent, ToolRegistry } from '@toolcrib/core'
import type { Schedule } from '@toolcrib/mcp'
import type { Store } from '@toolcrib/mcp/stores'
import {
  type Activity,
  addActivity,
  addCounts,
  addTotals,
  dayAt,
  NO_ACTIVITY,
  NO_COUNTS,
  NO_TOTALS,
  readActivity,
  type ToolCounts,
  type Totals,
} from './activity.ts'
import { beginningOf } from './beginning-of.ts'
import { EventLog } from './event-log.ts'
import { aliasOf, SessionLog } from './session-log.ts'
import { CLIENT_SESSION } from './session-record.ts'

export interface HistoryOptions {
  readonly registry: ToolRegistry
  readonly store?: Store | undefined
  /** The config files of the registry: each config has its own counts. Without them, all that use the store share some. */
  readonly files?: readonly string[] | undefined
  readonly schedule: Schedule
  /** The average tokens of a tool that clients of this profile may use, to compute what a surface saved. */
  readonly tokensPerTool: (profile: string | undefined) => number
  /** The client of a session; undefined if none is connected. */
  readonly clientOf: (session: string) => SessionClient | undefined
}

/** What is known about the client of a session. */
export interface SessionClient {
  /** The name that it gave. */
  readonly name?: string | undefined
  readonly profile?: string | undefined
}

/** The id prefix of sessions that the page itself opens; they are shown live, but not counted. */
export const PAGE_SESSION = 'page:'
/** The id prefix of the sessions that the tour plays in. */
export const TOUR_SESSION = 'demo:'
/** The session that measures the cost of a first turn; it is left out of the history. */
export const MEASURING_SESSION = `${PAGE_SESSION}cost`

const SAVE_AFTER_MS = 10_000
const NAME_EVERY_MS = 1_000
const MAX_NAMED = 1_000

/**
 * Activity in bounded memory: counts by hour, day, client and tool, the steps of sessions, and the latest events. The
 * counts are kept in the store, where those of several processes add up.
 */
export class History {
  readonly events = new EventLog()
  readonly sessions = new SessionLog()
  readonly #options: HistoryOptions
  readonly #key: string
  readonly #unsubscribe: () => void
  readonly #loaded: Promise<void>
  #saved: Activity = NO_ACTIVITY
  #unsaved = new ActivityBuilder()
  #cancelSave: (() => void) | undefined
  readonly #named = new Map<string, { readonly at: number; readonly client: SessionClient | undefined }>()
  #latest: { readonly sessionId: string; readonly alias: string } | undefined

  constructor(options: HistoryOptions) {
    this.#options = options
    this.#key = storeKey('activity', options.files)
    this.#loaded = this.#load()
    this.#unsubscribe = options.registry.subscribe((event) => this.#note(event))
  }

  /** Everything counted so far, by this process and those before it. */
  async activity(): Promise<Activity> {
    await this.#loaded
    return addActivity(this.#saved, this.#unsaved.value())
  }

  /** Names the client of a session, if none is connected. */
  name(sessionId: string, client: string): void {
    this.#unsaved.name(aliasOf(sessionId), { name: client })
  }

  async close(): Promise<void> {
    this.#unsubscribe()
    this.#cancelSave?.()
    await this.#save()
  }

  #note(event: ToolcribEvent): void {
    const { sessionId } = event
    if (sessionId === MEASURING_SESSION) return
    const isOfPage = sessionId?.startsWith(PAGE_SESSION) === true
    const alias = sessionId === undefined || isOfPage ? undefined : this.#aliasOf(sessionId)
    this.events.note(event, isOfPage ? 'page' : alias)
    if (alias === undefined) return
    const added = this.sessions.note(event, alias, () =>
      this.#options.tokensPerTool(this.#clientOf(alias, event.at)?.profile),
    )
    if (added.turns === undefined) this.#unsaved.add(event, added, alias)
    else {
      const client = this.#clientOf(alias, event.at)
      // Recorded now: a client may be gone by the time the page is opened.
      this.#unsaved.name(alias, client)
      this.#unsaved.add(event, isOfModel(sessionId, client) ? added : withoutTurns(added), alias)
    }
    if (this.#options.store) this.#cancelSave ??= this.#options.schedule(SAVE_AFTER_MS, () => this.#save())
  }

  /** Consecutive events often belong to one session, and hashing takes as long as everything else about an event. */
  #aliasOf(sessionId: string): string {
    if (this.#latest?.sessionId !== sessionId) this.#latest = { sessionId, alias: aliasOf(sessionId) }
    return this.#latest.alias
  }

  /** Looking up a client reads all connected clients, so it is done once a second per session. */
  #clientOf(alias: string, now: number): SessionClient | undefined {
    const known = this.#named.get(alias)
    if (known !== undefined && now - known.at < NAME_EVERY_MS) return known.client
    if (this.#named.size >= MAX_NAMED) this.#named.clear()
    const client = this.#options.clientOf(alias)
    this.#named.set(alias, { at: now, client })
    return client
  }

  async #load(): Promise<void> {
    try {
      this.#saved = readActivity(await this.#options.store?.get(this.#key))
    } catch {
      // The registry reports a failing store; a page without yesterday's figures is better than none.
    }
  }

  async #save(): Promise<void> {
    this.#cancelSave = undefined
    const { store } = this.#options
    if (!store || this.#unsaved.isEmpty) return
    await this.#loaded
    const unsaved = this.#unsaved
    this.#unsaved = new ActivityBuilder()
    const added = unsaved.value()
    this.#saved = addActivity(this.#saved, added)
    try {
      const stored = await store.update(this.#key, (current) =>
        toStored(addActivity(readActivity(current), added)),
      )
      this.#saved = readActivity(stored)
    } catch {
      // Kept in memory; lost with this process.
    }
  }
}

/** Where the page keeps something. Servers and tools of one name may differ between configs. */
export function storeKey(what: string, files: readonly string[] | undefined): string {
  const key = `inspector:${what}`
  if (files === undefined) return key
  return `${key}:${createHash('sha256').update(files.join('\n')).digest('hex').slice(0, 16)}`
}

/** Our own commands, when they connect as clients. */
const OWN_CLIENT = /^toolcrib\b/i

/**
 * Whether a turn of this session is one of a model: the conversation of the tour has none, nor do our own commands, nor
 * scripts, which call a gateway without saying who they are.
 */
function isOfModel(sessionId: string | undefined, client: SessionClient | undefined): boolean {
  if (sessionId?.startsWith(TOUR_SESSION)) return false
  if (!sessionId?.startsWith(CLIENT_SESSION)) return true
  return client?.name !== undefined && !OWN_CLIENT.test(client.name)
}

/** What no model read was neither shown nor saved; searches and calls count. */
function withoutTurns({ turns, shown, saved, ...others }: Partial<Totals>): Partial<Totals> {
  return others
}

function toStored(activity: Activity) {
  return JSON.parse(JSON.stringify(activity))
}

/** Counts events. Mutable, so that a hundred events per second copy nothing. */
class ActivityBuilder {
  readonly #hours = new Map<string, Totals>()
  readonly #days = new Map<string, Totals>()
  readonly #clients = new Map<string, Totals>()
  readonly #names = new Map<string, string>()
  readonly #profiles = new Map<string, string>()
  readonly #tools = new Map<string, ToolCounts>()
  readonly #misses: Activity['misses'][number][] = []
  isEmpty = true

  add(event: ToolcribEvent, totals: Partial<Totals>, session: string): void {
    this.isEmpty = false
    if (Object.keys(totals).length > 0) {
      const iso = new Date(event.at).toISOString()
      increase(this.#hours, iso.slice(0, 13), totals)
      increase(this.#days, dayAt(event.at), totals)
      increase(this.#clients, session, totals)
    }
    if (event.type === 'searched') for (const name of event.names) this.#count(name, { found: 1 })
    if (event.type === 'call-finished') {
      const { name, ok, durationMs } = event
      this.#count(name, { called: 1, failed: ok ? 0 : 1, durationMs: Math.round(durationMs) })
    }
    if (event.type === 'missed')
      this.#misses.push({ at: event.at, what: event.what, text: beginningOf(event.text, 300), session })
    if (this.#misses.length > 200) this.#misses.shift()
  }

  name(session: string, { name, profile }: SessionClient = {}): void {
    if (name !== undefined) this.#names.set(session, name)
    if (profile !== undefined) this.#profiles.set(session, profile)
  }

  value(): Activity {
    return {
      hours: Object.fromEntries(this.#hours),
      days: Object.fromEntries(this.#days),
      clients: Object.fromEntries(this.#clients),
      names: Object.fromEntries(this.#names),
      profiles: Object.fromEntries(this.#profiles),
      tools: Object.fromEntries(this.#tools),
      misses: this.#misses,
    }
  }

  #count(name: string, counts: Partial<ToolCounts>): void {
    this.#tools.set(name, addCounts(this.#tools.get(name) ?? NO_COUNTS, counts))
  }
}

function increase(table: Map<string, Totals>, key: string, totals: Partial<Totals>): void {
  table.set(key, addTotals(table.get(key) ?? NO_TOTALS, totals))
}
