import { Command } from 'commander'
import type { ServersFile } from 'toolcrib/clients'
import type { EditFlags } from '../edit-servers.ts'
import type { Terminal } from '../terminal.ts'

/** `toolcrib enable`: enables servers. */
export function enableCommand(terminal: Terminal): Command {
  return new Command('enable')
    .description('Enable servers that were disabled.')
    .argument('<servers...>', 'their names in the config')
    .option('--config <file>', 'the config to change (default: the file that has the server)')
    .option('--user', 'change your own config')
    .option('--dry-run', 'show what would change, and write nothing')
    .option('--json', 'print the result as JSON')
    .addHelpText('after', () => terminal.help(HELP))
    .action(async (names: string[], flags: EditFlags) => {
      const { editServers } = await import('../edit-servers.ts')
      const edit = {
        verb: 'enabled',
        edit: (file: ServersFile, name: string) => file.setDisabled(name, false),
      }
      terminal.exitCode = await editServers(terminal, names, flags, edit)
    })
}

const HELP = `
Takes "disabled" out of the server's table. A running gateway takes the server up at once.

Examples:
  toolcrib enable github
  toolcrib enable github files --dry-run
Exit codes: 0 done, 2 wrong usage, an unknown server or a config that cannot be changed.`
