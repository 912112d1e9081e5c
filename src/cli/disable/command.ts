import type { Command } from 'commander'
import { editCommand } from '../edit-command.ts'
import type { Terminal } from '../terminal.ts'

/** `toolcrib disable`: disables servers. */
export function disableCommand(terminal: Terminal): Command {
  return editCommand(terminal, {
    name: 'disable',
    description: 'Disable servers without removing them.',
    help: HELP,
    edit: { verb: 'disabled', place: 'in', edit: (file, server) => file.setDisabled(server, true) },
  })
}

const HELP = `
Sets "disabled" in the server's table. A running gateway stops the server at once.

Examples:
  toolcrib disable github
  toolcrib disable github slack --dry-run
github and slack are examples; use the names of your servers.
Exit codes: 0 done, 2 wrong usage, an unknown server or a config that cannot be changed.`
