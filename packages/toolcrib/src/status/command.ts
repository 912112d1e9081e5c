import type { Command } from 'commander'
import { defineCommand } from '../terminal/flags.ts'
import type { Terminal } from '../terminal/terminal.ts'

/** `toolcrib status`: how the running gateways and their servers are doing. */
export function statusCommand(terminal: Terminal): Command {
  return defineCommand(terminal, 'status', HELP, async () => (await import('./run-status.ts')).runStatus)
    .description('Show the state of the running gateways of this config and of their servers.')
    .option('--config <file>', 'the config of the gateway')
    .option('--json', 'print the status as JSON')
}

const HELP = `
Finds the gateways of the same config: those that you started with "toolcrib serve", and those that clients started with \
"serve --stdio". Starts nothing.
With --json, for a gateway over stdio, "url" is null and "client" is what its client calls itself. If there are several, the first \
one is printed, with the rest in "others".

Examples:
  toolcrib status
  toolcrib status --json | jq '.servers[] | {server, state}'
Exit codes: 0 it is running, 1 no gateway is running, 2 wrong usage or no config.`
