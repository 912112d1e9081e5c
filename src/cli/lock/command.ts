import { Command } from 'commander'
import { type ServerFlags, withServerFlags } from '../flags.ts'
import type { Terminal } from '../terminal.ts'

/** `toolcrib lock`: approves the servers as they are now. */
export function lockCommand(terminal: Terminal): Command {
  return withServerFlags(new Command('lock'))
    .description(
      'Write toolcrib.lock from what the servers list now; from then on, nothing changes unnoticed.',
    )
    .addHelpText('after', () => terminal.fit(HELP))
    .action(async (flags: ServerFlags) => {
      const { runLock } = await import('./run-lock.ts')
      terminal.exitCode = await runLock(terminal, flags)
    })
}

const HELP = `
Starts the servers of the project's config and approves all they list: look at "toolcrib diff" first, once there is a \
lockfile. Servers of your own config have a lockfile beside that; lock them with --config.
Commit toolcrib.lock; it is made for review. Variables stand in it by name. A literal that looks like a secret stands in it \
as a digest, and is told: it is better off in a \${VARIABLE}.

From then on a tool whose name, title, description, schemas or annotations change is in quarantine, neither found nor \
callable, and a server whose command changes is not started, until "toolcrib approve". A damaged lockfile is written \
anew; what it held is not believed. A server that cannot be asked keeps what was approved of it before; when none can \
be asked, nothing is written.

Examples:
  toolcrib lock
  toolcrib lock --config team/toolcrib.toml --json
Exit codes: 0 done, 1 some server could not be asked, 2 wrong usage, no config or no servers in it.`
