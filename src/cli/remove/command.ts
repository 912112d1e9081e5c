import { Command } from 'commander'
import type { ServersFile } from 'toolcrib/clients'
import type { EditFlags } from '../edit-servers.ts'
import type { Terminal } from '../terminal.ts'

/** `toolcrib remove`: removes servers from a config. */
export function removeCommand(terminal: Terminal): Command {
  return new Command('remove')
    .description('Remove servers from the config.')
    .argument('<servers...>', 'their names in the config')
    .option('--config <file>', 'the config to change (default: the file that has the server)')
    .option('--user', 'change your own config')
    .option('--dry-run', 'show what would change, and write nothing')
    .option('--json', 'print the result as JSON')
    .addHelpText('after', () => terminal.help(HELP))
    .action(async (names: string[], flags: EditFlags) => {
      const { editServers } = await import('../edit-servers.ts')
      const edit = { verb: 'removed', edit: (file: ServersFile, name: string) => file.remove(name) }
      terminal.exitCode = await editServers(terminal, names, flags, edit)
    })
}

const HELP = `
The server's table goes, with the comments in it; the rest of the file stays as it is. A running gateway stops the server at once.

Examples:
  toolcrib remove github
  toolcrib remove github files --dry-run
Exit codes: 0 done, 2 wrong usage, an unknown server or a config that cannot be changed.`
