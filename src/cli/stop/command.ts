import { Command } from 'commander'
import type { ServerFlags } from '../flags.ts'
import type { Terminal } from '../terminal.ts'

/** `toolcrib stop`: ends the running gateways. */
export function stopCommand(terminal: Terminal): Command {
  return new Command('stop')
    .description('Stop the running gateways of this config, and every server they started.')
    .option('--config <file>', 'the config of the gateway')
    .option('--json', 'print the result as JSON')
    .addHelpText('after', () => terminal.help(HELP))
    .action(async (flags: ServerFlags) => {
      const { runStop } = await import('./run-stop.ts')
      terminal.exitCode = await runStop(terminal, flags)
    })
}

const HELP = `
Calls in flight get ten seconds to finish. Gateways that clients started with "serve --stdio" are stopped too.
With --json, { stopped, pid, url, client?, others? } is printed: for a gateway over stdio, "url" is null and "client" is what its \
client calls itself. If there are several, these are of the first one, and "others" has the rest.

Examples:
  toolcrib stop
  toolcrib stop --config work.toml
Exit codes: 0 stopped, 1 no gateway is running, 2 wrong usage or no config.`
