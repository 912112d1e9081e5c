import type { Inspection } from '../inspection.ts'
import type { Totals } from '../record/activity.ts'
import { addTotals, dayAt, NO_TOTALS } from '../record/activity.ts'
import { canPlay } from './play.ts'
import { reading } from './route.ts'
import { decisionsOf } from './waiting.ts'

/** The data of the first view. */
export const overview = reading({}, async (inspection) => {
  const { servers, registry, book, history } = inspection
  const rows = await book.rows()
  const activity = await history.activity()
  const now = inspection.now()
  const today = dayAt(now)
  const bySource = new Map<string, { source: string; tools: number; tokens: number }>()
  for (const { source, tokens } of rows) {
    const sum = bySource.get(source) ?? { source, tools: 0, tokens: 0 }
    bySource.set(source, { source, tools: sum.tools + 1, tokens: sum.tokens + tokens })
  }
  const sessions = history.sessions.list()
  const turn = await turnCost(inspection)
  const names = await inspection.clientNames()
  return {
    now,
    today: activity.days[today] ?? NO_TOTALS,
    total: Object.values(activity.days).reduce<Totals>(addTotals, NO_TOTALS),
    since: Object.keys(activity.days)[0] ?? today,
    hours: lastHours(activity.hours, now),
    days: lastDays(activity.days, now),
    clients: byClient(activity.clients, names, new Set(sessions.map(({ id }) => id))),
    turn,
    tools: rows.length,
    sources: [...bySource.values()].sort((first, second) => second.tokens - first.tokens),
    servers: servers.status().map((status) => ({
      ...status,
      tools: bySource.get(status.server)?.tools ?? 0,
      tokens: bySource.get(status.server)?.tokens ?? 0,
    })),
    sessions: sessions.length,
    decisions: await decisionsOf(inspection),
    searcher: registry.searcher.name,
    canPlay: canPlay(registry),
  }
})

/** The activity of one client in all its sessions. */
interface ClientRow extends Totals {
  /** Its name, or that of its only session. */
  readonly id: string
  readonly isNamed: boolean
  readonly sessions: number
  /** Its latest session that is still stored step by step. */
  readonly latest: string | null
}

const LISTED_CLIENTS = 20

/** Adds up the sessions of each client; those without a name are listed one by one. The largest saving comes first. */
function byClient(
  totals: Readonly<Record<string, Totals>>,
  names: ReadonlyMap<string, string>,
  remembered: ReadonlySet<string>,
): ClientRow[] {
  const rows = new Map<string, ClientRow>()
  for (const [session, added] of Object.entries(totals)) {
    const name = names.get(session)
    const key = name === undefined ? `session ${session}` : `client ${name}`
    const row = rows.get(key)
    rows.set(key, {
      id: name ?? session,
      isNamed: name !== undefined,
      sessions: (row?.sessions ?? 0) + 1,
      latest: remembered.has(session) ? session : (row?.latest ?? null),
      ...addTotals(row ?? NO_TOTALS, added),
    })
  }
  return [...rows.values()].sort((first, second) => second.saved - first.saved).slice(0, LISTED_CLIENTS)
}

/** The cost of the first turn of a conversation, what it would be with every tool, and whether each client has only a part. */
async function turnCost(inspection: Inspection) {
  const rows = await inspection.book.rows()
  const full = rows.reduce((sum, { tokens }) => sum + tokens, 0)
  const profiles = Object.values((await inspection.config?.found())?.config.profiles ?? {})
  const isDivided = profiles.some(({ servers }) => servers !== undefined)
  return { lazy: await inspection.firstTurnTokens(), full, isDivided }
}

const HOUR_MS = 60 * 60 * 1_000

function lastHours(hours: Readonly<Record<string, Totals>>, now: number) {
  return Array.from({ length: 24 }, (_, index) => {
    const at = now - (23 - index) * HOUR_MS
    const key = new Date(at).toISOString().slice(0, 13)
    return { at: Date.parse(`${key}:00:00Z`), ...(hours[key] ?? NO_TOTALS) }
  })
}

function lastDays(days: Readonly<Record<string, Totals>>, now: number) {
  const noon = new Date(now).setHours(12, 0, 0, 0)
  return Array.from({ length: 14 }, (_, index) => {
    const key = dayAt(noon - (13 - index) * 24 * HOUR_MS)
    return { day: key, ...(days[key] ?? NO_TOTALS) }
  })
}
