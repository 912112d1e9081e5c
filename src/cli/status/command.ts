import { Command } from 'commander'
import type { ServerFlags } from '../flags.ts'
import type { Terminal } from '../terminal.ts'

/** `toolcrib status`: how the running gateways and their servers are doing. */
export function statusCommand(terminal: Terminal): Command {
  return new Command('status')
    .description('Show the state of the running gateways of this config and of their servers.')
    .option('--config <file>', 'the config of the gateway')
    .option('--json', 'print the status as JSON')
    .addHelpText('after', () => terminal.help(HELP))
    .action(async (flags: ServerFlags) => {
      const { runStatus } = await import('./run-status.ts')
      terminal.exitCode = await runStatus(terminal, flags)
    })
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
