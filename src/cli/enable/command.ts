import type { Command } from 'commander'
import { editCommand } from '../edit-command.ts'
import type { Terminal } from '../terminal.ts'

/** `toolcrib enable`: enables servers. */
export function enableCommand(terminal: Terminal): Command {
  return editCommand(terminal, {
    name: 'enable',
    description: 'Enable servers that were disabled.',
    help: HELP,
    edit: { verb: 'enabled', place: 'in', edit: (file, server) => file.setDisabled(server, false) },
  })
}

const HELP = `
Removes "disabled" from the server's table. A running gateway starts the server at once.

Examples:
  toolcrib enable github
  toolcrib enable github slack --dry-run
github and slack are examples; use the names of your servers.
Exit codes: 0 done, 2 wrong usage, an unknown server or a config that cannot be changed.`
