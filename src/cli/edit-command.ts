import { Command } from 'commander'
import type { EditFlags, ServerEdit } from './edit-servers.ts'
import type { Terminal } from './terminal.ts'

/** A command that makes the same change to each named server. */
export interface EditCommand {
  readonly name: string
  readonly description: string
  readonly help: string
  readonly edit: ServerEdit
}

/** Creates a command that changes servers in a config. */
export function editCommand(terminal: Terminal, { name, description, help, edit }: EditCommand): Command {
  return new Command(name)
    .description(description)
    .argument('<servers...>', 'their names in the config')
    .option('--config <file>', 'the config to change (default: the file that has the server)')
    .option('--user', 'change your own config')
    .option('--dry-run', 'show what would change, and write nothing')
    .option('--json', 'print the result as JSON')
    .addHelpText('after', () => terminal.help(help))
    .action(async (names: string[], flags: EditFlags) => {
      const { editServers } = await import('./edit-servers.ts')
      terminal.exitCode = await editServers(terminal, names, flags, edit)
    })
}
