import type { Command } from 'commander'
import { defineCommand } from '../terminal/flags.ts'
import type { Terminal } from '../terminal/terminal.ts'
import type { EditFlags, ServerEdit } from './edit-servers.ts'

/** `toolcrib remove`: removes servers from a config. */
export function removeCommand(terminal: Terminal): Command {
  return editCommand(terminal, {
    name: 'remove',
    description: 'Remove servers from the config.',
    effect: `Removes the server's table with the comments in it; the rest of the file does not change. A running gateway stops the server at once.`,
    edit: { verb: 'removed', place: 'from', edit: (file, server) => file.remove(server) },
  })
}

/** `toolcrib enable`: enables servers. */
export function enableCommand(terminal: Terminal): Command {
  return editCommand(terminal, {
    name: 'enable',
    description: 'Enable servers that were disabled.',
    effect: `Removes "disabled" from the server's table. A running gateway starts the server at once.`,
    edit: { verb: 'enabled', place: 'in', edit: (file, server) => file.setDisabled(server, false) },
  })
}

/** `toolcrib disable`: disables servers. */
export function disableCommand(terminal: Terminal): Command {
  return editCommand(terminal, {
    name: 'disable',
    description: 'Disable servers without removing them.',
    effect: `Sets "disabled" in the server's table. A running gateway stops the server at once.`,
    edit: { verb: 'disabled', place: 'in', edit: (file, server) => file.setDisabled(server, true) },
  })
}

interface EditCommand {
  readonly name: string
  readonly description: string
  /** What it changes, for its help. */
  readonly effect: string
  readonly edit: ServerEdit
}

/** A command that makes the same change to each named server. */
function editCommand(terminal: Terminal, { name, description, effect, edit }: EditCommand): Command {
  const help = `
${effect}

Examples:
  toolcrib ${name} github
  toolcrib ${name} github slack --dry-run
github and slack are examples; use the names of your servers.
Exit codes: 0 done, 2 wrong usage, an unknown server or a config that cannot be changed.`
  return defineCommand(terminal, name, help, async () => {
    const { editServers } = await import('./edit-servers.ts')
    return (_: Terminal, names: readonly string[], flags: EditFlags) =>
      editServers(terminal, names, flags, edit)
  })
    .description(description)
    .argument('<servers...>', 'their names in the config')
    .option('--config <file>', 'the config to change (default: the file that has the server)')
    .option('--user', 'change your own config')
    .option('--dry-run', 'show what would change, and write nothing')
    .option('--json', 'print the result as JSON')
}
