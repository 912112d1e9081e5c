import { Command } from 'commander'
import type { Terminal } from '../terminal.ts'

/** `toolcrib tour`: one conversation, turn by turn. */
export function tourCommand(terminal: Terminal): Command {
  return new Command('tour')
    .description('Walk through one conversation: full and lazy mode, a search, real calls, an eviction.')
    .option('--json', 'print the figures as JSON')
    .addHelpText('after', () => terminal.help(HELP))
    .action(async (flags: { json?: boolean }) => {
      const { runTour } = await import('./run-tour.ts')
      terminal.exitCode = await runTour(terminal, flags)
    })
}

const HELP = `
Uses the reference servers of MCP when they are installed beside toolcrib, and a made-up catalogue otherwise. Needs no \
account, key or network. Token counts are exact (o200k), counted definition by definition.

Examples:
  toolcrib tour
  toolcrib tour --json | jq .fullTokens`
