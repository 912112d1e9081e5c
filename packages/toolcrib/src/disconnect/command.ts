import type { Command } from 'commander'
import { defineCommand } from '../terminal/flags.ts'
import type { Terminal } from '../terminal/terminal.ts'

/** `toolcrib disconnect`: restores a client's config. */
export function disconnectCommand(terminal: Terminal): Command {
  return defineCommand(
    terminal,
    'disconnect',
    HELP,
    async () => (await import('./run-disconnect.ts')).runDisconnect,
  )
    .description('Undo what "connect" did: give clients their own servers back.')
    .argument('[clients...]', 'the clients to disconnect')
    .option('--all', 'every client that is connected')
    .option('--dry-run', 'show what would change, and write nothing')
    .option('--yes', 'accepted for symmetry with "connect"; nothing is asked')
    .option('--json', 'print the result as JSON')
}

const HELP = `
If nobody has changed a config since "toolcrib connect", the old file is restored byte for byte. Otherwise the gateway's \
entry is removed, the servers are put back, and the rest stays.

Examples:
  toolcrib disconnect cursor
  toolcrib disconnect --all --dry-run
Exit codes: 0 done, 1 a client is not connected, 2 wrong usage or a config that cannot be changed.`
