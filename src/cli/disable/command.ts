import { Command } from 'commander'
import type { ServersFile } from 'toolcrib/clients'
import type { EditFlags } from '../edit-servers.ts'
import type { Terminal } from '../terminal.ts'

/** `toolcrib disable`: disables servers. */
export function disableCommand(terminal: Terminal): Command {
  return new Command('disable')
    .description('Disable servers without removing them.')
    .argument('<servers...>', 'their names in the config')
    .option('--config <file>', 'the config to change (default: the file that has the server)')
    .option('--user', 'change your own config')
    .option('--dry-run', 'show what would change, and write nothing')
    .option('--json', 'print the result as JSON')
    .addHelpText('after', () => terminal.help(HELP))
    .action(async (names: string[], flags: EditFlags) => {
      const { editServers } = await import('../edit-servers.ts')
      const edit = {
        verb: 'disabled',
        edit: (file: ServersFile, name: string) => file.setDisabled(name, true),
      }
      terminal.exitCode = await editServers(terminal, names, flags, edit)
    })
}

const HELP = `
Sets "disabled" in the server's table. A running gateway stops the server at once.

Examples:
  toolcrib disable github
  toolcrib disable github files --dry-run
Exit codes: 0 done, 2 wrong usage, an unknown server or a config that cannot be changed.`
