import { Command } from 'commander'
import pc from 'picocolors'
import { compareWithLock } from 'toolcrib/mcp'
import { observeServers, requireLockfile, unapprovedServers } from './observe-servers.ts'
import { type ServerFlags, withServerFlags } from './open-registry.ts'
import { showChanges, summarise } from './show-changes.ts'
import { plain, print, printJson } from './terminal.ts'

/** `toolcrib diff`: what is not as it was approved. */
export function diffCommand(): Command {
  return withServerFlags(new Command('diff'))
    .description('Show what changed since it was approved, field by field.')
    .addHelpText('after', HELP)
    .action(async (flags: ServerFlags) => {
      const { lockfile, lockPath } = await requireLockfile(flags)
      const { observed, failed } = await observeServers(
        flags,
        (server, found) => !unapprovedServers(found).has(server),
      )
      const changes = compareWithLock(lockfile, observed)
      if (flags.json) printJson({ lockfile: lockPath, changed: changes.length > 0, changes, failed })
      else {
        showChanges(changes)
        if (changes.length === 0 && failed.length === 0)
          print(`${pc.green('unchanged')} all is as in ${lockPath}`)
        if (changes.length > 0)
          print(
            `\n${summarise(changes)}; take over with "toolcrib approve <names>" or "toolcrib approve --all"`,
          )
        for (const { server, reason } of failed)
          console.error(`${pc.red('failed')} ${server}: ${plain(reason)}`)
      }
      process.exitCode = changes.length > 0 || failed.length > 0 ? 1 : 0
    })
}

const HELP = `
A server that is new or has another command is not started just to be looked at.

Examples:
  toolcrib diff
  toolcrib diff --json | jq '.changes[].kind'
Exit codes: 0 nothing changed, 1 something did or a server could not be asked, 2 wrong usage, no lockfile or a damaged one.`
