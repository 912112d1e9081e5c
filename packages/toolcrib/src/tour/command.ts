import type { Command } from 'commander'
import { defineCommand } from '../terminal/flags.ts'
import type { Terminal } from '../terminal/terminal.ts'

/** `toolcrib tour`: the page, with its guide. */
export function tourCommand(terminal: Terminal): Command {
  return defineCommand(terminal, 'tour', HELP, async () => (await import('./run-tour.ts')).runTour)
    .description('Open the page, and watch a model work with your tools.')
    .option('--json', 'print where the page is as JSON')
}

const HELP = `
Serves your own servers until Ctrl-C or, if you have none, two that npx downloads. The guide of the page plays a short \
conversation with them: it searches, and calls only tools that say that they just read. Needs no account or key.

Examples:
  toolcrib tour
  toolcrib tour --json | jq -r .page`
