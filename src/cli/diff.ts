import pc from 'picocolors'
import { compareWithLock } from 'toolcrib/mcp'
import type { ServerFlags } from './commands/flags.ts'
import { observeServers, requireLockfile, unapprovedServers } from './observe-servers.ts'
import { showChanges, summarise } from './show-changes.ts'
import { note, plain, printJson, say } from './terminal.ts'

/** `toolcrib diff`: what is not as it was approved. */
export async function runDiff(flags: ServerFlags): Promise<void> {
  const { lockfile, lockPath } = await requireLockfile(flags)
  const { observed, failed } = await observeServers(
    flags,
    (server, found) => !unapprovedServers(found).has(server),
  )
  const changes = compareWithLock(lockfile, observed)
  if (flags.json) printJson({ lockfile: lockPath, changed: changes.length > 0, changes, failed })
  else {
    showChanges(changes)
    if (changes.length === 0 && failed.length === 0) say(`${pc.green('unchanged')} all is as in ${lockPath}`)
    if (changes.length > 0)
      say(`\n${summarise(changes)}; take over with "toolcrib approve <names>" or "toolcrib approve --all"`)
    for (const { server, reason } of failed) note(`${pc.red('failed')} ${server}: ${plain(reason)}`)
  }
  process.exitCode = changes.length > 0 || failed.length > 0 ? 1 : 0
}
