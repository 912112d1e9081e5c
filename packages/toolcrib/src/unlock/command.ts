import type { Command } from 'commander'
import { defineCommand } from '../terminal/flags.ts'
import type { Terminal } from '../terminal/terminal.ts'

/** `toolcrib unlock`: removes a lockfile. */
export function unlockCommand(terminal: Terminal): Command {
  return defineCommand(terminal, 'unlock', HELP, async () => (await import('./run-unlock.ts')).runUnlock)
    .description('Remove toolcrib.lock: changes of servers are then no longer held back.')
    .option('--config <file>', 'read only this config file')
    .option('--lockfile <file>', 'use this lockfile (default: toolcrib.lock beside the config)')
    .option('--yes', 'do not ask for confirmation')
    .option('--json', 'print the result as JSON')
}

const HELP = `
Undoes "toolcrib lock": removes toolcrib.lock and toolcrib.lock.gz of the project's config, or of the one that --config names. \
Every approval in it is lost, and what a server lists from then on is shown to a model unseen. To accept one change, \
use "toolcrib approve".

Examples:
  toolcrib unlock
  toolcrib unlock --yes
Exit codes: 0 done, 1 nothing was removed, 2 wrong usage or no config.`
