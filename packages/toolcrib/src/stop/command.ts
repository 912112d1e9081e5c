import type { Command } from 'commander'
import { defineCommand } from '../terminal/flags.ts'
import type { Terminal } from '../terminal/terminal.ts'

/** `toolcrib stop`: ends the running gateways. */
export function stopCommand(terminal: Terminal): Command {
  return defineCommand(terminal, 'stop', HELP, async () => (await import('./run-stop.ts')).runStop)
    .description('Stop the running gateways of this config, and every server they started.')
    .option('--config <file>', 'the config of the gateway')
    .option('--json', 'print the result as JSON')
}

const HELP = `
Calls in flight get ten seconds to finish. Gateways that clients started with "serve --stdio" are stopped too.
With --json, { stopped, pid, url, client?, others? } is printed: for a gateway over stdio, "url" is null and "client" is what its \
client calls itself. If there are several, these are of the first one, and "others" has the rest.

Examples:
  toolcrib stop
  toolcrib stop --config work.toml
Exit codes: 0 stopped, 1 no gateway is running, 2 wrong usage or no config.`
