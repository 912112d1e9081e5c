import { createInterface } from 'node:readline'
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
import type { ServerFlags } from '../flags.ts'
import { type Observation, observeServers, requireLockfile, unapprovedServers } from '../observe-servers.ts'
import { findingsOf, showChanges, summarise, withDigests } from '../show-changes.ts'
import { note, plain, plural, printJson, say } from '../terminal.ts'

export interface ApproveFlags extends ServerFlags {
  readonly all?: boolean
  /** Ask nothing. */
  readonly yes?: boolean
}

/** `toolcrib approve`: takes changes over into the lockfile. */
export async function runApprove(names: readonly string[], flags: ApproveFlags): Promise<void> {
  if (names.length === 0 && !flags.all)
    throw new ToolcribError('config-invalid', 'say what to approve, by names or --all; see "toolcrib diff"')
  const found = await requireLockfile(flags)
  const { lockfile, lockPath } = found
  const isMeant = flags.all ? () => true : changeMatcher(names)
  const unapproved = unapprovedServers(found)
  const { observed, failed, findings } = await observeServers(
    flags,
    (server) => {
      if (lockfile.exempt?.has(server)) return false
      const change = unapproved.get(server)
      if (change === undefined || isMeant(change)) return true
      return namesToolOf(server, Object.keys(found.config.servers), names)
    },
    found,
  )
  const { lockfile: next, approved } = approveChanges(lockfile, observed, isMeant)
  if (!flags.json) showChanges(approved, findings)
  if (approved.length > 0 && mustAsk(names, flags) && !(await isConfirmed(approved))) {
    say('nothing was approved')
    process.exitCode = 1
    return
  }
  await writeLocks(found.locks, next)
  const waiting = compareWithLock(next, observed)
  const changes = [...compareWithLock(lockfile, observed), ...approved]
  const unmatched = names.filter((name) => !changes.some(changeMatcher([name])))
  if (flags.json)
    printJson({
      lockfile: lockPath,
      approved: withDigests(approved),
      waiting: withDigests(waiting),
      findings: findingsOf([...approved, ...waiting], findings),
      unmatched,
      failed,
    })
  else showOutcome(approved, waiting, failed)
  for (const name of unmatched) note(`${pc.yellow('note')} ${explainUnmatched(name, changes)}`)
  const isDone = approved.length > 0 || (flags.all === true && waiting.length === 0)
  process.exitCode = isDone && failed.length + unmatched.length === 0 ? 0 : 1
}

/** Servers are asked anew, so somebody who is there should see what they say now; a digest stands for having seen it. */
function mustAsk(names: readonly string[], { yes, json, all }: ApproveFlags): boolean {
  if (yes || json || !process.stdin.isTTY || !process.stdout.isTTY) return false
  return all === true || names.some((name) => splitDigest(name).digest === undefined)
}

function isConfirmed(changes: readonly LockChange[]): Promise<boolean> {
  return new Promise((resolve) => {
    const lines = createInterface({ input: process.stdin, output: process.stdout })
    // Ctrl-C and the end of input say no.
    lines.once('close', () => resolve(false))
    lines.question(
      `\nApprove ${changes.length === 1 ? 'this change' : `these ${plural(changes.length, 'change')}`}? [y/N] `,
      (answer) => {
        resolve(/^y(es)?$/i.test(answer.trim()))
        lines.close()
      },
    )
  })
}

function explainUnmatched(name: string, changes: readonly LockChange[]): string {
  const { name: bare, digest } = splitDigest(name)
  if (digest !== undefined && changes.some(changeMatcher([bare])))
    return `"${bare}" is not what ${digest} stood for any more, so it waits; see "toolcrib diff"`
  return `"${name}" fits nothing that changed; see "toolcrib diff"`
}

/**
 * A tool can only be approved with the server it is of, so naming one means to run that server. Where the names of
 * several servers fit, it is of the longest: `mcp__a__b__sun` does not mean to run `a` when there is an `a__b`. With a
 * digest it was seen as a tool of a server that runs already; another command is not meant.
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
  approved: readonly LockChange[],
  waiting: readonly LockChange[],
  failed: Observation['failed'],
): void {
  say(approved.length > 0 ? `\n${pc.green('approved')} ${summarise(approved)}` : 'nothing to approve')
  if (waiting.length > 0) say(pc.yellow(`still waiting: ${summarise(waiting)}; see "toolcrib diff"`))
  for (const { server, reason } of failed) note(`${pc.red('failed')} ${server}: ${plain(reason)}`)
}
