import { Command } from 'commander'
import { MODE_HELP, REFRESH_HELP, withModeFlags, withRefreshFlag, withServerFlags } from '../flags.ts'
import { fitted } from '../terminal.ts'
import type { ListFlags } from './run-list.ts'

/** `toolcrib list`: servers and their tools, with what each costs in tokens. */
export function listCommand(): Command {
  return withRefreshFlag(withModeFlags(withServerFlags(new Command('list'))))
    .description('List servers and their tools, with what each definition costs the model.')
    .argument('[servers...]', 'only these servers')
    .option('--schema', "show each tool's description and input schema in full")
    .addHelpText('after', () => fitted(HELP))
    .action(async (names: string[], flags: ListFlags) => {
      const { runList } = await import('./run-list.ts')
      await runList(names, flags)
    })
}

const HELP = `
Examples:
  toolcrib list                    every server of the config
  toolcrib list github files       two of them
  toolcrib list files --schema     what their tools take
  toolcrib list --mode lazy --json | jq '.servers[].tools[] | {name, state}'

Tokens are exact (o200k), counted over name, description and parameters: what a model pays on every turn in full mode.
${MODE_HELP}
${REFRESH_HELP}
Servers that are missing are told on stderr, with the reason.
Exit codes: 0 done, 1 no server answered, 2 wrong usage, no config or no such server.`
