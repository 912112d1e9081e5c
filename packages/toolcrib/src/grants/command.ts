import type { Command } from 'commander'
import { defineCommand } from '../terminal/flags.ts'
import type { Terminal } from '../terminal/terminal.ts'

/** `toolcrib grants`: what persons allowed, and how to take it back. */
export function grantsCommand(terminal: Terminal): Command {
  return defineCommand(terminal, 'grants', HELP, async () => (await import('./run-grants.ts')).runGrants)
    .description('List what you allowed with approve-call or on the page, and revoke it.')
    .argument('[action]', '"revoke" ends a grant, or all of them')
    .argument('[id]', 'the id of the grant')
    .option('--config <file>', 'the config of the gateway')
    .option('--json', 'print the result as JSON')
}

const HELP = `
Lists the tools that run without another question: in one session until an hour after their last use, or always, until \
their definition changes.

Examples:
  toolcrib grants
  toolcrib grants revoke 4b1f
  toolcrib grants revoke
4b1f is an example; "toolcrib grants" prints the ids.
Exit codes: 0 done, 1 no such grant or no gateway is running, 2 wrong usage.`
