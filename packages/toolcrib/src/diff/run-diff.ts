import { compareWithLock } from '@toolcrib/mcp'
import pc from 'picocolors'
import {
  askServers,
  describeToolsOnly,
  noteUnlocked,
  requireLockfile,
  toolsOnlyServers,
  unapprovedServers,
} from '../servers/ask-servers.ts'
import { mendServer } from '../servers/mend-server.ts'
import { findingsOf, showChanges, summarise, withDigests } from '../servers/show-changes.ts'
import { unlockedServers } from '../servers/with-registry.ts'
import type { ServerFlags } from '../terminal/flags.ts'
import type { Terminal } from '../terminal/terminal.ts'

/** Shows how servers differ from their approval. */
export async function runDiff(terminal: Terminal, flags: ServerFlags): Promise<number> {
  const found = await requireLockfile(terminal, flags)
  const { lockfile, lockPath } = found
  const unapproved = unapprovedServers(found)
  const mayStart = (server: string) => !unapproved.has(server) && lockfile.exempt?.has(server) !== true
  const { observed, failed, findings } = await askServers(terminal, flags, found, mayStart)
  const changes = compareWithLock(lockfile, observed)
  const toolsOnly = toolsOnlyServers(found)
  if (flags.json)
    terminal.printJson({
      lockfile: lockPath,
      changed: changes.length > 0,
      changes: withDigests(changes),
      findings: findingsOf(changes, findings),
      unlocked: unlockedServers(found),
      toolsOnly,
      failed,
    })
  else {
    showChanges(terminal, changes, findings)
    if (changes.length === 0 && failed.length === 0)
      terminal.say(`${pc.green('unchanged')} everything matches ${lockPath}`)
    if (changes.length > 0)
      terminal.say(
        `\n${summarise(changes)}; approve with "toolcrib approve <name@digest>", which approves what is shown here and \
nothing that changes later`,
      )
    noteUnlocked(terminal, found)
    if (toolsOnly.length > 0) terminal.warn(`${describeToolsOnly(toolsOnly)}`)
    for (const { server, reason } of failed)
      terminal.note(`${pc.red('failed')} ${server}: ${mendServer(server, reason).fault}`)
  }
  return changes.length > 0 || failed.length > 0 ? 1 : 0
}
