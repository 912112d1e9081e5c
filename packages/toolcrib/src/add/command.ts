import type { Command } from 'commander'
import { defineCommand, gather } from '../terminal/flags.ts'
import type { Terminal } from '../terminal/terminal.ts'

/** `toolcrib add`: adds a server to a config. */
export function addCommand(terminal: Terminal): Command {
  return defineCommand(terminal, 'add', HELP, async () => (await import('./run-add.ts')).runAdd)
    .description('Add a server to the config.')
    .argument('<name>', 'its name in the config; or, without a command, its name or address in a registry')
    .argument(
      '[command...]',
      'the program that starts it, with its arguments; after -- if they have flags of this command',
    )
    .allowUnknownOption()
    .option('--url <url>', 'the URL of a server that runs elsewhere')
    .option('--env <name=value>', 'a variable for it; can be repeated', gather)
    .option('--registry <url>', 'the registry to look it up in (default: the official one)')
    .option('--header <name=value>', 'a header to send to it; can be repeated', gather)
    .option(
      '--config <file>',
      'the config to change (default: the one in use, or else toolcrib.toml in this folder)',
    )
    .option('--user', 'change your own config, for every project')
    .option('--force', 'replace a server of that name')
    .option('--yes', 'add what the registry has without asking')
    .option('--dry-run', 'show what would change, and write nothing')
    .option('--json', 'print the result as JSON')
}

const HELP = `
The rest of the file, with its comments, stays as it is. Values may be \${VARIABLES}: better than secrets in a file. A running \
gateway starts it at once.

Examples:
  toolcrib add files -- npx -y @modelcontextprotocol/server-filesystem .
  toolcrib add io.github.owner/server   # shows what it would run, and asks
  toolcrib add docs --url https://example.com/mcp --header 'X-Key=\${DOCS_KEY}'
  toolcrib add db --env 'URL=\${DATABASE_URL}' --user -- uvx some-server
Exit codes: 0 done, 2 wrong usage or a config that cannot be changed.`
