import { Command } from 'commander'
import type { Terminal } from '../terminal.ts'
import type { AddFlags } from './run-add.ts'

/** `toolcrib add`: adds a server to a config. */
export function addCommand(terminal: Terminal): Command {
  return new Command('add')
    .description('Add a server to the config.')
    .argument('<name>', 'the name of the server in the config')
    .argument('[command...]', 'the program that starts it, with its arguments, after --')
    .option('--url <url>', 'the URL of a server that runs elsewhere')
    .option('--env <name=value>', 'a variable for it; can be repeated', gather)
    .option('--header <name=value>', 'a header to send to it; can be repeated', gather)
    .option(
      '--config <file>',
      'the config to change (default: the one in use, or else toolcrib.toml in this folder)',
    )
    .option('--user', 'change your own config, for every project')
    .option('--force', 'replace a server of that name')
    .option('--dry-run', 'show what would change, and write nothing')
    .option('--json', 'print the result as JSON')
    .addHelpText('after', () => terminal.help(HELP))
    .action(async (name: string, command: string[], flags: AddFlags) => {
      const { runAdd } = await import('./run-add.ts')
      terminal.exitCode = await runAdd(terminal, name, command, flags)
    })
}

const HELP = `
The rest of the file, with its comments, stays as it is. Values may be \${VARIABLES}: better than secrets in a file. A running \
gateway starts it at once.

Examples:
  toolcrib add files -- npx -y @modelcontextprotocol/server-filesystem .
  toolcrib add docs --url https://example.com/mcp --header 'X-Key=\${DOCS_KEY}'
  toolcrib add db --env 'URL=\${DATABASE_URL}' --user -- uvx some-server
Exit codes: 0 done, 2 wrong usage or a config that cannot be changed.`

function gather(value: string, before: readonly string[] = []): string[] {
  return [...before, value]
}
