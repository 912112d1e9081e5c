import { Command } from 'commander'
import { type ServerFlags, withServerFlags } from '../flags.ts'
import type { Terminal } from '../terminal.ts'

/** `toolcrib diff`: what is not as it was approved. */
export function diffCommand(terminal: Terminal): Command {
  return withServerFlags(new Command('diff'))
    .description('Show what changed since it was approved, field by field.')
    .addHelpText('after', () => terminal.fit(HELP))
    .action(async (flags: ServerFlags) => {
      const { runDiff } = await import('./run-diff.ts')
      terminal.exitCode = await runDiff(terminal, flags)
    })
}

const HELP = `
Of a new tool all is shown, and of each tool what the scanner finds suspicious. The digest after a name stands for the \
change as it is shown: "toolcrib approve name@digest" takes that and nothing else. A server that is new or has another \
command is not started just to be looked at. Servers are held to toolcrib.lock beside the config file that defines them.

Examples:
  toolcrib diff
  toolcrib diff --json | jq '.changes[].kind'
Exit codes: 0 nothing changed, 1 something did or a server could not be asked, 2 wrong usage, no lockfile or a damaged one.`
