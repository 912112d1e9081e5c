import { Command } from 'commander'
import { MODE_HELP, REFRESH_HELP, withModeFlags, withRefreshFlag, withServerFlags } from '../flags.ts'
import { fitted } from '../terminal.ts'
import type { StatsFlags } from './run-stats.ts'

/** `toolcrib stats`: how many tools there are, and what a turn costs with and without deferral. */
export function statsCommand(): Command {
  return withRefreshFlag(withModeFlags(withServerFlags(new Command('stats'))))
    .description('Count tools, and what a turn costs with everything shown and with tools deferred.')
    .addHelpText('after', () => fitted(HELP))
    .action(async (flags: StatsFlags) => {
      const { runStats } = await import('./run-stats.ts')
      await runStats(flags)
    })
}

const HELP = `
Examples:
  toolcrib stats
  toolcrib stats --mode lazy --defer all        what if everything were deferred
  toolcrib stats --json | jq .tokens

Tokens are exact (o200k), counted definition by definition. "a turn" is what a new conversation pays before anything is \
checked out.
${MODE_HELP}
${REFRESH_HELP}
Servers that are missing are told on stderr, with the reason.
Exit codes: 0 done, 1 no server answered, 2 wrong usage or no config.`
