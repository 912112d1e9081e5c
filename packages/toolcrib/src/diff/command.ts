import type { Command } from 'commander'
import { defineCommand, withServerFlags } from '../terminal/flags.ts'
import type { Terminal } from '../terminal/terminal.ts'

/** `toolcrib diff`: how servers differ from their approval. */
export function diffCommand(terminal: Terminal): Command {
  return withServerFlags(
    defineCommand(terminal, 'diff', HELP, async () => (await import('./run-diff.ts')).runDiff),
  ).description('Show what changed since it was approved, field by field.')
}

const HELP = `
Shows a new tool in full, and what the scanner finds suspicious in new and changed tools. The digest after a name identifies \
the change as it is shown: "toolcrib approve name@digest" approves exactly that. A server that is new or has a different \
command is not started just to look at it. Each server is compared with the toolcrib.lock beside the config file that defines \
it.

Examples:
  toolcrib diff
  toolcrib diff --json | jq '.changes[].kind'
Exit codes: 0 nothing changed, 1 something changed or a server could not be asked, 2 wrong usage, no lockfile or a damaged \
one.`
