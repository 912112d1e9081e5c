import type { Command } from 'commander'
import { defineCommand } from '../terminal/flags.ts'
import type { Terminal } from '../terminal/terminal.ts'

/** `toolcrib connect`: replaces a client's servers with the gateway. */
export function connectCommand(terminal: Terminal): Command {
  return defineCommand(terminal, 'connect', HELP, async () => (await import('./run-connect.ts')).runConnect)
    .description('Let MCP clients use the gateway in place of their own servers.')
    .argument('[clients...]', 'claude-desktop, claude-code, cursor, vscode, codex, gemini, zed, …')
    .option('--all', 'every client that is found on this machine')
    .option('--all-servers', 'show each client every server of the config, not just those it had')
    .option('--http', 'connect to a running gateway by its URL, rather than start one')
    .option('--url <url>', 'the URL of the gateway, with --http')
    .option('--config <file>', 'the config that the gateway reads (default: your own)')
    .option('--dry-run', 'show what would change, and write nothing')
    .option('--yes', 'do not ask for confirmation')
    .option('--json', 'print the result as JSON')
}

const HELP = `
Without clients, shows which are on this machine. In the config of each client, one entry takes the place of the servers \
that are in the toolcrib config; other servers stay. The diff is shown first, and the old file is kept: "toolcrib disconnect" \
puts it back byte for byte.
Each client keeps the servers that it had: if the config has others, a profile with just these is written into it, and \
"toolcrib disconnect" removes it. A client that had none of them sees every server, and so does each with --all-servers.
The client starts "toolcrib serve --stdio", which shares the servers of a running gateway when there is one. With --http it \
sends requests to a gateway that you keep running; its token is in a file of your config folder, which "toolcrib serve" reads.

Examples:
  toolcrib connect                     show the clients on this machine
  toolcrib connect cursor --dry-run    look first
  toolcrib connect claude-code codex
  toolcrib connect --all --yes
  toolcrib connect --all --all-servers
Exit codes: 0 done, 1 nothing was written, 2 wrong usage or a config that cannot be changed.`
