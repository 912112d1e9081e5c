import type { ServerStatus } from 'toolcrib'
import type { Inspection } from '../inspection.ts'
import type { Activity } from '../record/activity.ts'
import { reading } from './route.ts'
import { type NamedChange, readChanges } from './safety.ts'

/** Something that needs the user's decision. */
export interface Decision {
  readonly kind: 'quarantine' | 'server' | 'finding' | 'miss' | 'lock'
  readonly title: string
  readonly step: string
  /** The command to run in a terminal. */
  readonly command?: string
  /** The view to open. */
  readonly to: string
}

/** The pending decisions, for every view. */
export const waiting = reading({}, decisionsOf)

/** All pending decisions, the most urgent first. */
export async function decisionsOf(inspection: Inspection): Promise<readonly Decision[]> {
  const { servers, history } = inspection
  const { changes } = await readChanges(inspection)
  const unapproved = changes.flatMap(({ kind, server }) =>
    kind === 'server-added' || kind === 'command-changed' ? [server] : [],
  )
  const failed = servers
    .status()
    .flatMap((status) => (status.state === 'failed' ? [status] : []))
    .filter(({ server, needs }) => !unapproved.includes(server) || needs !== 'approval')
  const { misses } = await history.activity()
  return [
    ...failures(failed),
    ...approvals(unapproved),
    ...changedTools(changes),
    ...suspicions(inspection),
    ...missedSearches(misses, inspection.now()),
    ...(await missingLock(inspection)),
  ]
}

type Failed = Extract<ServerStatus, { readonly state: 'failed' }>

/** The first ones by name, the others together. */
function failures(failed: readonly Failed[]): Decision[] {
  const named = failed.slice(0, LISTED_FAILURES).map(
    ({ server, reason, needs }): Decision => ({
      kind: 'server',
      title: needs === 'sign-in' ? `${server} waits for you to sign in` : `${server} does not run`,
      step: reason,
      to: `#/servers/${encodeURIComponent(server)}`,
    }),
  )
  const others = failed.slice(LISTED_FAILURES).map(({ server }) => server)
  if (others.length === 0) return named
  const title = `${others.length} more ${others.length === 1 ? 'server does' : 'servers do'} not run`
  return [...named, { kind: 'server', title, step: listOf(others), to: '#/servers' }]
}

function approvals(unapproved: readonly string[]): Decision[] {
  const [first, ...more] = unapproved
  if (first === undefined) return []
  return [
    {
      kind: 'quarantine',
      title: more.length === 0 ? `${first} does not run` : `${unapproved.length} servers are not approved`,
      step: more.length === 0 ? NOT_APPROVED : `Look at what they would run: ${listOf(unapproved)}.`,
      to: '#/safety',
    },
  ]
}

function changedTools(changes: readonly NamedChange[]): Decision[] {
  const kinds = changes.flatMap((change) => ('tool' in change ? [change.kind] : []))
  if (kinds.length === 0) return []
  return [
    {
      kind: 'quarantine',
      title: changesTitle(kinds),
      step: 'Compare what changed, then approve it or leave it in quarantine.',
      to: '#/safety',
    },
  ]
}

function suspicions({ servers }: Inspection): Decision[] {
  const suspicious = servers.findings().filter(({ severity }) => severity === 'high')
  const tools = new Set(suspicious.map(({ server, tool }) => `${server} ${tool}`)).size
  if (tools === 0) return []
  return [
    {
      kind: 'finding',
      title: tools === 1 ? 'A suspicious description' : `${tools} suspicious descriptions`,
      step: 'The scanner found text that speaks to the model behind your back.',
      to: '#/safety',
    },
  ]
}

/** Recent searches without matches. */
function missedSearches(misses: Activity['misses'], now: number): Decision[] {
  const recent = misses.filter(({ what, at }) => what === 'search' && now - at < RECENT_MS)
  const texts = new Set(recent.map(({ text }) => text)).size
  if (texts === 0) return []
  return [
    {
      kind: 'miss',
      title: texts === 1 ? 'A search found nothing' : `${texts} searches found nothing`,
      step: 'Say which tool should have come.',
      to: '#/search',
    },
  ]
}

async function missingLock(inspection: Inspection): Promise<Decision[]> {
  const { config, servers } = inspection
  if (!config || servers.status().length === 0) return []
  if ((await config.found()).lockfile !== undefined) return []
  return [
    {
      kind: 'lock',
      title: 'No lockfile',
      step: 'With one, a server that changes its tools is held back until you approve it. Run once:',
      command: (await inspection.commandLine()).of('lock', ...config.lockOption),
      to: '#/safety',
    },
  ]
}

function changesTitle(kinds: readonly NamedChange['kind'][]): string {
  const [kind = 'tool-changed'] = kinds
  const count = kinds.length
  if (kinds.some((other) => other !== kind)) return `${count} tools are new, changed or gone`
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
