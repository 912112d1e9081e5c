import type { Command } from 'commander'
import { defineCommand } from '../terminal/flags.ts'
import type { Terminal } from '../terminal/terminal.ts'

/** `toolcrib restart`: restarts servers of the running gateways. */
export function restartCommand(terminal: Terminal): Command {
  return defineCommand(terminal, 'restart', HELP, async () => (await import('./run-restart.ts')).runRestart)
    .description('Restart servers of the running gateways of this config.')
    .argument('<servers...>', 'their names in the config')
    .option('--config <file>', 'the config of the gateway')
    .option('--json', 'print the result as JSON')
}

const HELP = `
Ends the process of each server and starts it again, in every running gateway of the config; a remote server is connected \
again. Calls under way in it fail. Without a gateway there is nothing to restart: "toolcrib doctor <server>" tries a server.

Examples:
  toolcrib restart github
  toolcrib restart github slack
github and slack are examples; use the names of your servers.
Exit codes: 0 all are ready, 1 a server failed or no gateway is running, 2 wrong usage or an unknown server.`
