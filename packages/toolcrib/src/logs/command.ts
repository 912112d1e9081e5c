import type { Command } from 'commander'
import { defineCommand, NAMES_HELP } from '../terminal/flags.ts'
import type { Terminal } from '../terminal/terminal.ts'

/** `toolcrib logs`: the log of the running gateway. */
export function logsCommand(terminal: Terminal): Command {
  return defineCommand(terminal, 'logs', HELP, async () => (await import('./run-logs.ts')).runLogs)
    .description('Show the recent log of the running gateway of this config.')
    .argument('[server]', 'only lines of this server')
    .option('--follow', 'wait for more, until Ctrl-C')
    .option('--config <file>', 'the config of the gateway')
    .option('--json', 'print each line as JSON')
}

const HELP = `
Shows servers that start, stop and fail, their protocol errors and stderr, calls with their outcome and time, sessions of \
clients, and requests that were refused. Arguments \
and results of calls are never logged, and secrets are masked. Without a running gateway, the log of the last one is shown; \
it is a file of JSON lines in your state folder.

Examples:
  toolcrib logs
  toolcrib logs files --follow
  toolcrib logs --json | jq 'select(.level != "info")'
${NAMES_HELP}
Exit codes: 0 done, 1 no gateway is running and there is no log, or nothing to --follow, 2 wrong usage or no config.`
