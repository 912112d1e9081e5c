import type { Finding, ServerStatus } from '@toolcrib/core'
import { describeUnmatched, type LockChange } from '@toolcrib/mcp'
import type { PendingApproval } from '../../approvals/approval-book.ts'
import type { Inspection } from '../inspection.ts'
import type { Activity } from '../record/activity.ts'
import { invalid, oneOf, reading, text, writing } from './route.ts'
import { type NamedChange, readChanges } from './safety.ts'

/** Something that needs the user's decision. */
export interface Decision {
  readonly kind: 'call' | 'change' | 'quarantine' | 'server' | 'finding' | 'pattern' | 'miss' | 'lock'
  readonly title: string
  readonly step: string
  /** The command to run in a terminal. */
  readonly command?: string
  /** The view to open. */
  readonly to: string
  /** The call to allow or refuse. */
  readonly call?: PendingApproval
}

/** The pending decisions, for every view. */
export const waiting = reading({}, decisionsOf)

/** All pending decisions, the most urgent first. */
export async function decisionsOf(inspection: Inspection): Promise<readonly Decision[]> {
  const { servers, history } = inspection
  const changes = (await readChanges(inspection)).changes.filter(({ settled }) => settled === undefined)
  const unapproved = changes.flatMap(({ kind, server }) =>
    kind === 'server-added' || kind === 'command-changed' ? [server] : [],
  )
  const failed = servers
    .status()
    .flatMap((status) => (status.state === 'failed' ? [status] : []))
    .filter(({ server, needs }) => !unapproved.includes(server) || needs !== 'approval')
  const { misses } = await history.activity()
  const { pending = [] } = (await inspection.approvals?.list()) ?? {}
  return [
    ...pending.map(callToDecide),
    ...replacements(changes, inspection),
    ...failures(failed),
    ...approvals(changes.flatMap(({ kind, server }) => (kind === 'server-added' ? [server] : []))),
    ...additions(changes),
    ...suspicions(inspection, changes),
    ...(await unmatchedRules(inspection)),
    ...missedSearches(misses, inspection.now()),
    ...(await missingLock(inspection)),
  ]
}

/** The tool is named as it is registered: nothing of the server's own words. */
function callToDecide(call: PendingApproval): Decision {
  const { tool, client, profile } = call
  const by = client ?? profile
  return {
    kind: 'call',
    title: `${by === undefined ? 'A client' : by} wants to run ${tool}`,
    step: effectOf(call),
    to: `#/tools/${encodeURIComponent(tool)}`,
    call,
  }
}

function effectOf({ annotations }: PendingApproval): string {
  if (annotations?.destructiveHint === true) return 'It says that it may delete or overwrite something.'
  return annotations?.readOnlyHint === true ? 'It says that it only reads.' : 'It may change something.'
}

/** Allows or refuses a call that waits. */
export const decideCall = writing(
  { id: text, answer: oneOf('once', 'session', 'always', 'deny') },
  async ({ approvals }, { id, answer }) => {
    if (await approvals?.decide(id, answer)) return { answer }
    throw invalid(`no call with the id "${id}" is waiting any more`)
  },
)

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
  return [...named, { kind: 'server', title, step: `Look at ${listOf(others)}.`, to: '#/servers' }]
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

/** What was approved once and is something else now: the first ones by name, the others together. */
function replacements(changes: readonly NamedChange[], { servers }: Inspection): Decision[] {
  const findings = servers.findings({ soFar: true })
  const changed = changes
    .filter(({ kind }) => kind.endsWith('-changed'))
    .map((change): Decision & { readonly concern: number } => {
      const own = findings.filter((finding) => isAbout(finding, change))
      const concern = Math.max(0, ...own.map(({ severity }) => SEVERITIES.indexOf(severity)))
      const warning = own.find(({ severity }) => concern > 0 && SEVERITIES[concern] === severity)
      const step =
        warning === undefined
          ? 'Held back. Compare what was removed and what is new, then decide.'
          : `Held back. The scanner warns: ${warning.message}.`
      const title =
        change.kind === 'command-changed'
          ? `${change.server} would run something else than you approved`
          : `${titleOf(change)} changed after you approved it`
      return { kind: 'change', title, step, to: '#/safety', concern }
    })
    .sort((first, second) => second.concern - first.concern)
    .map(({ concern, ...decision }): Decision => decision)
  if (changed.length <= LISTED_CHANGES) return changed
  const rest = changed.slice(LISTED_CHANGES)
  const step = listOf(rest.map(({ title }) => title.split(' changed ')[0] ?? title))
  const title = `${rest.length} more definitions changed after you approved them`
  return [...changed.slice(0, LISTED_CHANGES), { kind: 'change', title, step, to: '#/safety' }]
}

function isAbout({ server, tool, item }: Finding, change: LockChange): boolean {
  if (server !== change.server) return false
  if ('tool' in change) return item === undefined && tool === change.tool
  return 'list' in change && item === change.list && (item === 'instructions' || tool === change.item)
}

/** `weather · get_rain` */
function titleOf(change: LockChange): string {
  if ('tool' in change) return `${change.server} · ${change.tool}`
  if (!('list' in change)) return change.server
  return `${change.server} · ${change.list === 'instructions' ? change.list : change.item}`
}

/** What is new or gone, server by server. */
function additions(changes: readonly NamedChange[]): Decision[] {
  const byServer = new Map<string, NamedChange[]>()
  for (const change of changes)
    if ('name' in change && !change.kind.endsWith('-changed'))
      byServer.set(change.server, [...(byServer.get(change.server) ?? []), change])
  return [...byServer].map(([server, own]) => ({
    kind: 'quarantine',
    title: `${server}: ${describeNews(own)}`,
    step: `Compare, then decide: ${listOf(own.map((change) => titleOf(change).slice(`${server} · `.length)))}`,
    to: '#/safety',
  }))
}

/** `2 tools are new`, `a prompt is gone`, `3 are new or gone` */
function describeNews(changes: readonly NamedChange[]): string {
  const kinds = new Set(changes.map(({ kind }) => kind))
  const [kind = 'tool-added'] = kinds
  const count = changes.length
  if (kinds.size > 1) return `${count} tools, prompts or resources are new or gone`
  const [what = '', how = ''] = kind.split('-')
  const state = how === 'added' ? 'new' : 'gone'
  return count === 1 ? `a ${what} is ${state}` : `${count} ${what}s are ${state}`
}

/** What the scanner found in tools that do not wait as a change anyway, with its warning. */
function suspicions({ servers }: Inspection, changes: readonly NamedChange[]): Decision[] {
  const changed = changes.filter(({ kind }) => kind.endsWith('-changed'))
  const suspicious = servers
    .findings({ soFar: true })
    .filter((finding) => finding.severity === 'high' && !changed.some((change) => isAbout(finding, change)))
  const tools = new Set(suspicious.map(({ server, tool }) => `${server} · ${tool}`))
  const [first] = tools
  const suspects = [...new Set(suspicious.map(({ server }) => server))]
  if (first === undefined) return []
  return [
    {
      kind: 'finding',
      title:
        tools.size === 1 ? `${first} has a suspicious description` : `${tools.size} suspicious descriptions`,
      step: `The scanner found text that speaks to the model behind your back${tools.size === 1 ? '' : `, in ${listOf(suspects)}`}.`,
      to: '#/safety',
    },
  ]
}

async function unmatchedRules({ config }: Inspection): Promise<Decision[]> {
  const unmatched = (await config?.unmatched()) ?? []
  const [first] = unmatched
  if (first === undefined) return []
  const isDeny = unmatched.some(({ list }) => list === 'deny')
  const count = unmatched.length === 1 ? 'A rule' : `${unmatched.length} rules`
  const denied = isDeny ? ', so what they should deny can be called' : ''
  return [
    {
      kind: 'pattern',
      title: `${count} of the config ${unmatched.length === 1 ? 'matches' : 'match'} no tool${denied}`,
      step: listOf(unmatched.map(describeUnmatched)),
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

const RECENT_MS = 3 * 24 * 60 * 60 * 1_000
const NOT_APPROVED = 'It is not approved; look at what it would run.'
const LISTED_FAILURES = 3
const LISTED_CHANGES = 3
/** The least concern first. */
const SEVERITIES: readonly Finding['severity'][] = ['low', 'medium', 'high']
const LISTED_NAMES = 4

/** `a, b, c, d and 3 more` */
function listOf(names: readonly string[]): string {
  const shown = names.slice(0, LISTED_NAMES).join(', ')
  return names.length > LISTED_NAMES ? `${shown} and ${names.length - LISTED_NAMES} more` : shown
}
