import type { Command } from 'commander'
import {
  defineCommand,
  REFRESH_HELP,
  REGISTRY_HELP,
  withRefreshFlag,
  withRegistryFlags,
  withServerFlags,
} from '../terminal/flags.ts'
import type { Terminal } from '../terminal/terminal.ts'

/** `toolcrib stats`: the number of tools, and the cost of a turn with and without deferral. */
export function statsCommand(terminal: Terminal): Command {
  return withRefreshFlag(
    withRegistryFlags(
      withServerFlags(
        defineCommand(terminal, 'stats', HELP, async () => (await import('./run-stats.ts')).runStats),
      ),
    ),
  ).description('Count the tools, and the cost of a turn with and without deferral.')
}

const HELP = `
Examples:
  toolcrib stats
  toolcrib stats --mode lazy --defer all        what if every tool were deferred
  toolcrib stats --json | jq .tokens

Tokens are exact (o200k), counted definition by definition. The cost of a turn is that of a new conversation before any tool is \
checked out. Tools in quarantine are counted, and never shown to a model.
${REGISTRY_HELP}
${REFRESH_HELP}
Missing servers are reported on stderr, with the reason.
Exit codes: 0 done, 1 no server responded, 2 wrong usage or no config.`
