import pc from 'picocolors'
import { compareWithLock } from 'toolcrib/mcp'
import type { ServerFlags } from '../flags.ts'
import {
  noteUnlocked,
  observeServers,
  requireLockfile,
  unapprovedServers,
  unlockedServers,
} from '../observe-servers.ts'
import { findingsOf, showChanges, summarise, withDigests } from '../show-changes.ts'
import { note, plain, printJson, say } from '../terminal.ts'

/** `toolcrib diff`: what is not as it was approved. */
export async function runDiff(flags: ServerFlags): Promise<void> {
  const found = await requireLockfile(flags)
  const { lockfile, lockPath } = found
  const unapproved = unapprovedServers(found)
  const isAsked = (server: string) => !unapproved.has(server) && lockfile.exempt?.has(server) !== true
  const { observed, failed, findings } = await observeServers(flags, isAsked, found)
  const changes = compareWithLock(lockfile, observed)
  if (flags.json)
    printJson({
      lockfile: lockPath,
      changed: changes.length > 0,
      changes: withDigests(changes),
      findings: findingsOf(changes, findings),
      unlocked: unlockedServers(found),
      failed,
    })
  else {
    showChanges(changes, findings)
    if (changes.length === 0 && failed.length === 0) say(`${pc.green('unchanged')} all is as in ${lockPath}`)
    if (changes.length > 0)
      say(
        `\n${summarise(changes)}; take over with "toolcrib approve <name@digest>", which takes what is shown here and \
nothing that comes later`,
      )
    noteUnlocked(found)
    for (const { server, reason } of failed) note(`${pc.red('failed')} ${server}: ${plain(reason)}`)
  }
  process.exitCode = changes.length > 0 || failed.length > 0 ? 1 : 0
}
