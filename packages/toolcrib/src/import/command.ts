import type { Command } from 'commander'
import { defineCommand } from '../terminal/flags.ts'
import type { Terminal } from '../terminal/terminal.ts'

/** `toolcrib import`: adds the servers of other programs. */
export function importCommand(terminal: Terminal): Command {
  return defineCommand(terminal, 'import', HELP, async () => (await import('./run-import.ts')).runImport)
    .description('Find the MCP servers that your editors and assistants use, and add them to toolcrib.toml.')
    .argument(
      '[clients...]',
      'only these: claude-desktop, claude-code, cursor, vscode, windsurf, zed, codex, …',
    )
    .option('--to <file>', 'the .toml or .json file to add to (default: toolcrib.toml here)')
    .option('--user', 'add to the toolcrib.toml of your config folder, for every project')
    .option('--dry-run', 'show what would be added, and write nothing')
    .option('--force', 'replace the file; its content is lost')
    .option('--yes', 'write secrets into a git repository without asking')
    .option('--json', 'print the result as JSON')
}

const HELP = `
New servers are appended to the file; without --force, nothing in it changes. The files of the other programs are only \
read. A .json file is written as editors read it, under mcpServers. Keys that only the other program understands (envFile, \
autoApprove, trust, …) are left out and listed.

Examples:
  toolcrib import --dry-run            look first
  toolcrib import                      everything found
  toolcrib import cursor codex         two programs
  toolcrib import --user               into your own config, for every project
  toolcrib import --to team/mcp.json   as JSON
Exit codes: 0 done, 1 nothing was found or a file of another program is invalid (the others are imported), 2 wrong usage \
or a target that cannot be read.`
