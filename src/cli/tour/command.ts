import { Command } from 'commander'
import type { Terminal } from '../terminal.ts'

/** `toolcrib tour`: one conversation, turn by turn. */
export function tourCommand(terminal: Terminal): Command {
  return new Command('tour')
    .description('Walk through one conversation: full and lazy mode, a search, calls, an eviction.')
    .option('--json', 'print the figures as JSON')
    .addHelpText('after', () => terminal.help(HELP))
    .action(async (flags: { json?: boolean }) => {
      const { runTour } = await import('./run-tour.ts')
      terminal.exitCode = await runTour(terminal, flags)
    })
}

const HELP = `
Uses your own servers if they have a dozen tools or more, without calling their tools. Without them, it uses \
the reference servers of MCP if they are installed beside toolcrib, and a made-up catalogue otherwise. Needs no account or key. \
Token counts are exact (o200k), counted definition by definition.

Examples:
  toolcrib tour
  toolcrib tour --json | jq .fullTokens`
