/** Activity in a period of time, or of a client. Token figures are estimates. */
export interface Totals {
  readonly turns: number
  /** Tokens of tools that models saw. */
  readonly shown: number
  /** Tokens of tools that models did not see. */
  readonly saved: number
  readonly searches: number
  readonly misses: number
  readonly calls: number
  readonly errors: number
}

/** How often a tool was found, called, and failed. */
export interface ToolCounts {
  readonly found: number
  readonly called: number
  readonly failed: number
  /** The total of all calls. */
  readonly durationMs: number
}

/** A search without matches, or an unknown name. */
export interface Miss {
  readonly at: number
  readonly what: 'search' | 'name'
  readonly text: string
  /** Absent in older records. */
  readonly session?: string
}

/** All counts, as a value that can be stored and added to another. */
export interface Activity {
  /** By ISO hour: `2026-11-16T09`. */
  readonly hours: Readonly<Record<string, Totals>>
  /** By day where the process runs: `2026-11-16`. */
  readonly days: Readonly<Record<string, Totals>>
  /** By session, since the first record. */
  readonly clients: Readonly<Record<string, Totals>>
  /** The client of each session, if it gave a name. */
  readonly names: Readonly<Record<string, string>>
  /** The profile of each session, if it has one. */
  readonly profiles: Readonly<Record<string, string>>
  readonly tools: Readonly<Record<string, ToolCounts>>
  readonly misses: readonly Miss[]
}

/** How much is kept; the oldest is removed first. */
const KEPT = { hours: 72, days: 120, clients: 200, tools: 20_000, misses: 200 } as const

export const NO_TOTALS: Totals = {
  turns: 0,
  shown: 0,
  saved: 0,
  searches: 0,
  misses: 0,
  calls: 0,
  errors: 0,
}
export const NO_COUNTS: ToolCounts = { found: 0, called: 0, failed: 0, durationMs: 0 }
export const NO_ACTIVITY: Activity = {
  hours: {},
  days: {},
  clients: {},
  names: {},
  profiles: {},
  tools: {},
  misses: [],
}

/** Adds two records. Pure, so that a store can apply it atomically for many processes. */
export function addActivity(first: Activity, second: Activity): Activity {
  return {
    hours: lastKeys(addEach(first.hours, second.hours, addTotals), KEPT.hours),
    days: lastKeys(addEach(first.days, second.days, addTotals), KEPT.days),
    clients: newestKeys(addEach(first.clients, second.clients, addTotals), KEPT.clients),
    names: newestKeys({ ...first.names, ...second.names }, KEPT.clients),
    profiles: newestKeys({ ...first.profiles, ...second.profiles }, KEPT.clients),
    tools: newestKeys(addEach(first.tools, second.tools, addCounts), KEPT.tools),
    misses: [...first.misses, ...second.misses].slice(-KEPT.misses),
  }
}

export function addTotals(first: Totals, second: Partial<Totals>): Totals {
  return {
    turns: first.turns + (second.turns ?? 0),
    shown: first.shown + (second.shown ?? 0),
    saved: first.saved + (second.saved ?? 0),
    searches: first.searches + (second.searches ?? 0),
    misses: first.misses + (second.misses ?? 0),
    calls: first.calls + (second.calls ?? 0),
    errors: first.errors + (second.errors ?? 0),
  }
}

export function addCounts(first: ToolCounts, second: Partial<ToolCounts>): ToolCounts {
  return {
    found: first.found + (second.found ?? 0),
    called: first.called + (second.called ?? 0),
    failed: first.failed + (second.failed ?? 0),
    durationMs: first.durationMs + (second.durationMs ?? 0),
  }
}

/** The day of a time in the process's time zone, which is its user's: `2026-11-16`. */
export function dayAt(at: number): string {
  const date = new Date(at)
  const [month, day] = [date.getMonth() + 1, date.getDate()].map((part) => String(part).padStart(2, '0'))
  return `${date.getFullYear()}-${month}-${day}`
}

/** Reads a stored value. Parts that cannot be read count as empty, so that no request fails because of them. */
export function readActivity(stored: unknown): Activity {
  if (typeof stored !== 'object' || stored === null) return NO_ACTIVITY
  const { hours, days, clients, names, profiles, tools, misses } = stored as Partial<
    Record<keyof Activity, unknown>
  >
  return addActivity(NO_ACTIVITY, {
    hours: tableOf(hours),
    days: tableOf(days),
    clients: tableOf(clients),
    names: tableOf(names),
    profiles: tableOf(profiles),
    tools: tableOf(tools),
    misses: Array.isArray(misses) ? misses : [],
  })
}

function tableOf<Value>(stored: unknown): Record<string, Value> {
  return typeof stored === 'object' && stored !== null ? { ...stored } : {}
}

function addEach<Value>(
  first: Readonly<Record<string, Value>>,
  second: Readonly<Record<string, Value>>,
  add: (first: Value, second: Value) => Value,
): Record<string, Value> {
  const sum = new Map(Object.entries(first))
  for (const [key, value] of Object.entries(second)) {
    const known = sum.get(key)
    // The newest last, so that the oldest can be removed first.
    sum.delete(key)
    sum.set(key, known === undefined ? value : add(known, value))
  }
  return Object.fromEntries(sum)
}

function lastKeys<Value>(table: Record<string, Value>, kept: number): Record<string, Value> {
  const keys = Object.keys(table).sort().slice(-kept)
  return Object.fromEntries(keys.flatMap((key) => (table[key] === undefined ? [] : [[key, table[key]]])))
}

function newestKeys<Value>(table: Record<string, Value>, kept: number): Record<string, Value> {
  const entries = Object.entries(table)
  return entries.length <= kept ? table : Object.fromEntries(entries.slice(-kept))
}
