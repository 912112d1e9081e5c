import pc from 'picocolors'
import { ToolcribError } from 'toolcrib'
import {
  approveChanges,
  changeMatcher,
  compareWithLock,
  type LockChange,
  splitDigest,
  writeLocks,
} from 'toolcrib/mcp'
import { askServers, type Observation, requireLockfile, unapprovedServers } from '../ask-servers.ts'
import { confirm } from '../confirm.ts'
import type { ServerFlags } from '../flags.ts'
import { RunningGateway } from '../running-gateway.ts'
import { findingsOf, showChanges, summarise, withDigests } from '../show-changes.ts'
import type { Terminal } from '../terminal.ts'
import { plain, plural } from '../text.ts'

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
    throw new ToolcribError('config-invalid', 'name what to approve, or pass --all; see "toolcrib diff"')
  const found = await requireLockfile(terminal, flags)
  const mustConfirm = mustAsk(names, flags)
  if (mustConfirm && (flags.json || !terminal.isInteractive))
    throw new ToolcribError(
      'config-invalid',
      'nothing was approved: without a terminal, name the digest that "toolcrib diff" prints, or pass --yes',
    )
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
  const { lockfile: next, approved } = approveChanges(lockfile, observed, isMeant)
  if (!flags.json) showChanges(terminal, approved, findings)
  const isAsked = approved.length > 0 && mustConfirm
  if (isAsked && !(await isConfirmed(terminal, approved))) {
    terminal.say('nothing was approved')
    return 1
  }
  await writeLocks(found.locks, next)
  await (await RunningGateway.find(found, terminal.env))?.reload()
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
  else showOutcome(terminal, approved, waiting, failed)
  for (const name of unmatched) terminal.note(`${pc.yellow('note')} ${explainUnmatched(name, changes)}`)
  const isDone = approved.length > 0 || (flags.all === true && waiting.length === 0)
  return isDone && failed.length + unmatched.length === 0 ? 0 : 1
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
  return `"${name}" matches no change; see "toolcrib diff"`
}

/**
 * Naming a tool allows its server to run. When several servers match, the longest name wins: `mcp__a__b__sun` does
 * not run `a` when there is an `a__b`. A digest was printed for a server that was already running, so it does not
 * allow another command.
 */
function namesToolOf(server: string, servers: readonly string[], names: readonly string[]): boolean {
  const fits = (name: string) => (each: string) =>
    name.startsWith(`mcp__${each}__`) || name.startsWith(`${each}.`)
  return names.some((name) => {
    if (splitDigest(name).digest !== undefined) return false
    const longest = servers.filter(fits(name)).sort((a, b) => b.length - a.length)[0]
    return longest === server
  })
}

function showOutcome(
  terminal: Terminal,
  approved: readonly LockChange[],
  waiting: readonly LockChange[],
  failed: Observation['failed'],
): void {
  terminal.say(
    approved.length > 0 ? `\n${pc.green('approved')} ${summarise(approved)}` : 'nothing to approve',
  )
  if (waiting.length > 0)
    terminal.say(pc.yellow(`not approved yet: ${summarise(waiting)}; see "toolcrib diff"`))
  for (const { server, reason } of failed) terminal.note(`${pc.red('failed')} ${server}: ${plain(reason)}`)
}
