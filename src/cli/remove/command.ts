import type { Command } from 'commander'
import { editCommand } from '../edit-command.ts'
import type { Terminal } from '../terminal.ts'

/** `toolcrib remove`: removes servers from a config. */
export function removeCommand(terminal: Terminal): Command {
  return editCommand(terminal, {
    name: 'remove',
    description: 'Remove servers from the config.',
    help: HELP,
    edit: { verb: 'removed', place: 'from', edit: (file, server) => file.remove(server) },
  })
}

const HELP = `
Removes the server's table with the comments in it; the rest of the file does not change. A running gateway stops the server at once.

Examples:
  toolcrib remove github
  toolcrib remove github slack --dry-run
github and slack are examples; use the names of your servers.
Exit codes: 0 done, 2 wrong usage, an unknown server or a config that cannot be changed.`
