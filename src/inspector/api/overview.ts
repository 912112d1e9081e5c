import type { Inspection } from '../inspection.ts'
import type { Activity, Totals } from '../record/activity.ts'
import { addTotals, dayAt, NO_TOTALS } from '../record/activity.ts'
import { canPlay, TOUR } from './play.ts'
import { reading } from './route.ts'
import { type NamedChange, readChanges } from './safety.ts'

/** Something that waits for a person. */
export interface Decision {
  readonly kind: 'quarantine' | 'server' | 'finding' | 'miss' | 'lock'
  readonly title: string
  readonly step: string
  /** What to run in a terminal. */
  readonly command?: string
  /** Where to go on the page. */
  readonly to: string
}

/** What the page opens with. */
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
    decisions: await decisions(inspection, searchesMissed(activity.misses, now)),
    searcher: registry.searcher.name,
    canPlay: canPlay(registry),
    /** Whether the figures have turns in which no model took part. */
    hasTour: [...names.values()].includes(TOUR),
  }
})

/** What one client did in all its sessions. */
interface ClientRow extends Totals {
  /** Its name, or that of its only session. */
  readonly id: string
  readonly isNamed: boolean
  readonly sessions: number
  /** Its latest session that is still remembered step by step. */
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

/** What the first turn of a conversation shows a model, and what it would take with every tool. */
async function turnCost(inspection: Inspection): Promise<{ lazy: number; full: number }> {
  const rows = await inspection.book.rows()
  const full = rows.reduce((sum, { tokens }) => sum + tokens, 0)
  return { lazy: await inspection.firstTurnTokens(), full }
}

async function decisions(inspection: Inspection, misses: number): Promise<Decision[]> {
  const { servers, config } = inspection
  const { changes } = await readChanges(inspection)
  const unapproved = changes.flatMap(({ kind, server }) =>
    kind === 'server-added' || kind === 'command-changed' ? [server] : [],
  )
  const failed = servers
    .status()
    .flatMap((status) => (status.state === 'failed' ? [status] : []))
    .filter(({ server, needs }) => !unapproved.includes(server) || needs !== 'approval')
  const found: Decision[] = failed.slice(0, LISTED_FAILURES).map(({ server, reason }) => ({
    kind: 'server',
    title: `${server} does not run`,
    step: reason,
    to: `#/servers/${encodeURIComponent(server)}`,
  }))
  const others = failed.slice(LISTED_FAILURES).map(({ server }) => server)
  if (others.length > 0)
    found.push({
      kind: 'server',
      title: `${others.length} more ${others.length === 1 ? 'server does' : 'servers do'} not run`,
      step: listOf(others),
      to: '#/servers',
    })
  const [first = '', ...more] = unapproved
  if (first !== '')
    found.push({
      kind: 'quarantine',
      title: more.length === 0 ? `${first} does not run` : `${unapproved.length} servers are not approved`,
      step: more.length === 0 ? NOT_APPROVED : `Look at what they would run: ${listOf(unapproved)}.`,
      to: '#/safety',
    })
  const tools = changes.flatMap((change) => ('tool' in change ? [change.kind] : []))
  if (tools.length > 0)
    found.push({
      kind: 'quarantine',
      title: changesTitle(tools),
      step: 'Compare what changed, then approve it or leave it in quarantine.',
      to: '#/safety',
    })
  const suspicious = servers.findings().filter(({ severity }) => severity === 'high')
  const high = new Set(suspicious.map(({ server, tool }) => `${server} ${tool}`)).size
  if (high > 0)
    found.push({
      kind: 'finding',
      title: high === 1 ? 'A suspicious description' : `${high} suspicious descriptions`,
      step: 'The scanner found text that speaks to the model behind your back.',
      to: '#/safety',
    })
  if (misses > 0)
    found.push({
      kind: 'miss',
      title: misses === 1 ? 'A search found nothing' : `${misses} searches found nothing`,
      step: 'Say which tool should have come.',
      to: '#/search',
    })
  if (config && (await config.found()).lockfile === undefined)
    found.push({
      kind: 'lock',
      title: 'No lockfile',
      step: 'With one, a server that changes its tools is held back until you approve it. Run once:',
      command: (await inspection.commandLine()).of('lock', ...config.lockOption),
      to: '#/safety',
    })
  return found
}

/** How many texts were searched for in the last days, and not found. */
function searchesMissed(misses: Activity['misses'], now: number): number {
  const recent = misses.filter(({ what, at }) => what === 'search' && now - at < RECENT_MS)
  return new Set(recent.map(({ text }) => text)).size
}

function changesTitle(kinds: readonly NamedChange['kind'][]): string {
  const [kind = 'tool-changed'] = kinds
  const count = kinds.length
  if (kinds.some((other) => other !== kind)) return `${count} tools changed, are new or are gone`
  if (kind === 'tool-added') return count === 1 ? 'A tool is new' : `${count} tools are new`
  if (kind === 'tool-removed') return count === 1 ? 'A tool is gone' : `${count} tools are gone`
  return count === 1 ? 'A definition changed' : `${count} definitions changed`
}

const RECENT_MS = 3 * 24 * 60 * 60 * 1_000
const NOT_APPROVED = 'It is not approved; look at what it would run.'
const LISTED_FAILURES = 3
const LISTED_NAMES = 4

/** `a, b, c, d and 3 more` */
function listOf(names: readonly string[]): string {
  const shown = names.slice(0, LISTED_NAMES).join(', ')
  return names.length > LISTED_NAMES ? `${shown} and ${names.length - LISTED_NAMES} more` : shown
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
