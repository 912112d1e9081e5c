import { Command } from 'commander'
import { REFRESH_HELP, REGISTRY_HELP, withRefreshFlag, withRegistryFlags, withServerFlags } from '../flags.ts'
import type { Terminal } from '../terminal.ts'
import type { StatsFlags } from './run-stats.ts'

/** `toolcrib stats`: how many tools there are, and what a turn costs with and without deferral. */
export function statsCommand(terminal: Terminal): Command {
  return withRefreshFlag(withRegistryFlags(withServerFlags(new Command('stats'))))
    .description('Count the tools, and what a turn costs with every tool shown and with tools deferred.')
    .addHelpText('after', () => terminal.fit(HELP))
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

Tokens are exact (o200k), counted definition by definition. A turn costs what a new conversation pays before any tool is \
checked out. Tools in quarantine are counted, and never shown to a model.
${REGISTRY_HELP}
${REFRESH_HELP}
Missing servers are reported on stderr, with the reason.
Exit codes: 0 done, 1 no server answered, 2 wrong usage or no config.`
