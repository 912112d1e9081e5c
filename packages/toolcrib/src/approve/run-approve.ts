import {
  approveChanges,
  changeDigest,
  changeMatcher,
  compareWithLock,
  type LockChange,
  type Lockfile,
  splitDigest,
  writeLocks,
} from '@toolcrib/mcp'
import pc from 'picocolors'
import { reloadGateways } from '../gateway/require-gateway.ts'
import { askServers, type Observation, requireLockfile, unapprovedServers } from '../servers/ask-servers.ts'
import { mendServer } from '../servers/mend-server.ts'
import { findingsOf, showChanges, summarise, withDigests } from '../servers/show-changes.ts'
import { confirm } from '../terminal/confirm.ts'
import type { ServerFlags } from '../terminal/flags.ts'
import type { Terminal } from '../terminal/terminal.ts'
import { plural, shellWord } from '../terminal/text.ts'
import { UsageError } from '../terminal/usage-error.ts'

export interface ApproveFlags extends ServerFlags {
  readonly all?: boolean
  /** Approve without asking. */
  readonly yes?: boolean
}

/** Writes changes to the lockfile. */
export async function runApprove(
  terminal: Terminal,
  names: readonly string[],
  flags: ApproveFlags,
): Promise<number> {
  if (names.length === 0 && !flags.all)
    throw new UsageError('name what to approve, or pass --all; see "toolcrib diff"')
  if (names.length > 0 && flags.all)
    throw new UsageError('--all approves every change; name changes or pass --all, not both')
  const found = await requireLockfile(terminal, flags)
  const mustConfirm = mustAsk(names, flags)
  if (mustConfirm && (flags.json || !terminal.isInteractive))
    throw new UsageError(`nothing was approved: ${whyAsked(names)}`)
  const { lockfile, lockPath } = found
  const isMeant = flags.all ? () => true : changeMatcher(names)
  const unapproved = unapprovedServers(found)
  const mayStart = (server: string) => {
    if (lockfile.exempt?.has(server)) return false
    const change = unapproved.get(server)
    if (change === undefined || isMeant(change)) return true
    return namesToolOf(server, Object.keys(found.config.servers), names)
  }
  const { observed, failed, findings } = await askServers(terminal, flags, found, mayStart)
  const { lockfile: next, approved } = approveChanges(
    lockfile,
    withPinned(names, lockfile, observed),
    isMeant,
  )
  if (!flags.json) showChanges(terminal, approved, findings)
  const isAsked = approved.length > 0 && mustConfirm
  if (isAsked && !(await isConfirmed(terminal, approved))) {
    terminal.say('nothing was approved')
    return 1
  }
  await writeLocks(found.locks, next)
  await reloadGateways(terminal, found)
  const waiting = compareWithLock(next, observed)
  const changes = [...compareWithLock(lockfile, observed), ...approved]
  const unmatched = names.filter((name) => !changes.some(changeMatcher([name])))
  if (flags.json)
    terminal.printJson({
      lockfile: lockPath,
      approved: withDigests(approved),
      waiting: withDigests(waiting),
      findings: findingsOf([...approved, ...waiting], findings),
      unmatched,
      failed,
    })
  else showOutcome(terminal, { approved, waiting, failed })
  for (const name of unmatched) terminal.warn(`${explainUnmatched(name, changes)}`)
  const isDone = approved.length > 0 || (flags.all === true && waiting.length === 0)
  const missed = failed.filter(({ server }) => !approvesCommand(approved, server))
  return isDone && missed.length + unmatched.length === 0 ? 0 : 1
}

/** Why the changes must be confirmed, and how to avoid that: an invalid digest is not part of the name. */
function whyAsked(names: readonly string[]): string {
  const wrong = names.find((name) => notDigest(name) !== undefined)
  if (wrong === undefined)
    return 'without a terminal, name the digest that "toolcrib diff" prints, or pass --yes'
  return `"${notDigest(wrong)}" of "${wrong}" is not a digest; copy name@digest from "toolcrib diff"`
}

/** The text after the `@` of a name, if it is not a digest; a digest has 16 hexadecimal digits. */
function notDigest(name: string): string | undefined {
  return splitDigest(name).digest === undefined ? /^.+@(.*)$/s.exec(name)?.[1] : undefined
}

/** A digest pins the command of a server, which can be approved without its tools if the server does not start. */
function withPinned(
  names: readonly string[],
  lockfile: Lockfile,
  observed: Observation['observed'],
): Observation['observed'] {
  const isPinned = changeMatcher(names.filter((name) => splitDigest(name).digest !== undefined))
  const known = new Map(observed)
  for (const change of compareWithLock(lockfile, observed)) {
    const now = observed.get(change.server)
    if (now && now.tools === undefined && isPinned(change)) known.set(change.server, { ...now, tools: [] })
  }
  return known
}

/** Whether a change is about a server itself, not about what it offers. */
function isOfServer(change: LockChange): boolean {
  return !('name' in change)
}

function approvesCommand(changes: readonly LockChange[], server: string): boolean {
  return changes.some((change) => change.server === server && isOfServer(change))
}

/** Servers may have changed since the last diff, so a person confirms what they list now, unless a digest pins it. */
function mustAsk(names: readonly string[], { yes, all }: ApproveFlags): boolean {
  return !yes && (all === true || names.some((name) => splitDigest(name).digest === undefined))
}

function isConfirmed(terminal: Terminal, changes: readonly LockChange[]): Promise<boolean> {
  const what = changes.length === 1 ? 'this change' : `these ${plural(changes.length, 'change')}`
  return confirm(terminal, `Approve ${what}?`)
}

function explainUnmatched(name: string, changes: readonly LockChange[]): string {
  const { name: bare, digest } = splitDigest(name)
  if (digest !== undefined && changes.some(changeMatcher([bare])))
    return `"${bare}" changed since ${digest} was printed, so it was not approved; see "toolcrib diff"`
  const wrong = notDigest(name)
  const why = wrong === undefined ? '' : `: "${wrong}" is not a digest`
  return `"${name}" matches no change${why}; see "toolcrib diff"`
}

/**
 * Naming a tool or a prompt allows its server to run. When several servers match, the longest name wins: `mcp__a__b__sun` does
 * not run `a` when there is an `a__b`. A digest was printed for a server that was already running, so it does not
 * allow another command.
 */
function namesToolOf(server: string, servers: readonly string[], names: readonly string[]): boolean {
  const fits = (name: string) => (each: string) =>
    [`mcp__${each}__`, `${each}.`, `${each}:`].some((prefix) => name.startsWith(prefix))
  return names.some((name) => {
    if (splitDigest(name).digest !== undefined) return false
    const longest = servers.filter(fits(name)).sort((a, b) => b.length - a.length)[0]
    return longest === server
  })
}

interface Outcome {
  readonly approved: readonly LockChange[]
  readonly waiting: readonly LockChange[]
  readonly failed: Observation['failed']
}

function showOutcome(terminal: Terminal, { approved, waiting, failed }: Outcome): void {
  const none = waiting.length > 0 ? 'nothing was approved' : 'nothing to approve'
  terminal.say(approved.length > 0 ? `\n${pc.green('approved')} ${summarise(approved)}` : none)
  if (waiting.length > 0)
    terminal.say(pc.yellow(`not approved yet: ${summarise(waiting)}; see "toolcrib diff"`))
  for (const { server, reason } of failed) {
    const outcome = outcomeOf(server, { approved, waiting })
    terminal.note(`${pc.red('failed')} ${server}: ${mendServer(server, reason).fault}${outcome}`)
  }
}

/** What the failure of a server means for its approval. */
function outcomeOf(server: string, { approved, waiting }: Pick<Outcome, 'approved' | 'waiting'>): string {
  if (approvesCommand(approved, server))
    return '; its command is approved, and its tools can be once it starts'
  const [change] = waiting.filter((each) => each.server === server && isOfServer(each))
  if (change === undefined) return ''
  const step = `"toolcrib approve ${shellWord(`${server}@${changeDigest(change)}`)}"`
  return `; without its tools it was not approved: fix it, or approve its command alone with ${step}`
}
