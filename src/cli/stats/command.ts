import { Command } from 'commander'
import { REFRESH_HELP, REGISTRY_HELP, withRefreshFlag, withRegistryFlags, withServerFlags } from '../flags.ts'
import type { Terminal } from '../terminal.ts'
import type { StatsFlags } from './run-stats.ts'

/** `toolcrib stats`: the number of tools, and the cost of a turn with and without deferral. */
export function statsCommand(terminal: Terminal): Command {
  return withRefreshFlag(withRegistryFlags(withServerFlags(new Command('stats'))))
    .description('Count the tools, and the cost of a turn with and without deferral.')
    .addHelpText('after', () => terminal.help(HELP))
    .action(async (flags: StatsFlags) => {
      const { runStats } = await import('./run-stats.ts')
      terminal.exitCode = await runStats(terminal, flags)
    })
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
