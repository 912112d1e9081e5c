import pc from 'picocolors'
import { ToolcribError } from 'toolcrib'
import { approveChanges, changeMatcher, compareWithLock, type LockChange, writeLockfile } from 'toolcrib/mcp'
import type { ServerFlags } from './commands/flags.ts'
import { observeServers, requireLockfile, unapprovedServers } from './observe-servers.ts'
import { showChanges, summarise } from './show-changes.ts'
import { note, plain, printJson, say } from './terminal.ts'

export interface ApproveFlags extends ServerFlags {
  readonly all?: boolean
}

/** `toolcrib approve`: takes changes over into the lockfile. */
export async function runApprove(names: readonly string[], flags: ApproveFlags): Promise<void> {
  if (names.length === 0 && !flags.all)
    throw new ToolcribError('config-invalid', 'say what to approve, by names or --all; see "toolcrib diff"')
  const { lockfile, lockPath } = await requireLockfile(flags)
  const isMeant = flags.all ? () => true : changeMatcher(names)
  const { observed, failed } = await observeServers(flags, (server, found) => {
    const unapproved = unapprovedServers(found).get(server)
    if (unapproved === undefined || isMeant(unapproved)) return true
    return namesToolOf(server, Object.keys(found.config.servers), names)
  })
  const { lockfile: next, approved } = approveChanges(lockfile, observed, isMeant)
  if (approved.length > 0) await writeLockfile(lockPath, next)
  const waiting = compareWithLock(next, observed)
  const changes = [...approved, ...waiting]
  const unmatched = names.filter((name) => !changes.some(changeMatcher([name])))
  if (flags.json) printJson({ lockfile: lockPath, approved, waiting, unmatched, failed })
  else show(approved, waiting, failed)
  for (const name of unmatched)
    note(`${pc.yellow('note')} "${name}" fits nothing that changed; see "toolcrib diff"`)
  const isDone = approved.length > 0 || (flags.all === true && waiting.length === 0)
  process.exitCode = isDone && failed.length + unmatched.length === 0 ? 0 : 1
}

/**
 * A tool can only be approved with the server it is of, so naming one means to run that server. Where the names of
 * several servers fit, it is of the longest: `mcp__a__b__sun` does not mean to run `a` when there is an `a__b`.
 */
function namesToolOf(server: string, servers: readonly string[], names: readonly string[]): boolean {
  const fits = (name: string) => (each: string) =>
    name.startsWith(`mcp__${each}__`) || name.startsWith(`${each}.`)
  return names.some((name) => {
    const longest = servers.filter(fits(name)).sort((a, b) => b.length - a.length)[0]
    return longest === server
  })
}

function show(
  approved: readonly LockChange[],
  waiting: readonly LockChange[],
  failed: readonly { readonly server: string; readonly reason: string }[],
): void {
  showChanges(approved)
  say(approved.length > 0 ? `\n${pc.green('approved')} ${summarise(approved)}` : 'nothing to approve')
  if (waiting.length > 0) say(pc.yellow(`still waiting: ${summarise(waiting)}; see "toolcrib diff"`))
  for (const { server, reason } of failed) note(`${pc.red('failed')} ${server}: ${plain(reason)}`)
}
