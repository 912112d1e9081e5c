import type { Command } from 'commander'
import {
  defineCommand,
  NAMES_HELP,
  REFRESH_HELP,
  REGISTRY_HELP,
  withRefreshFlag,
  withRegistryFlags,
  withServerFlags,
} from '../terminal/flags.ts'
import type { Terminal } from '../terminal/terminal.ts'

/** `toolcrib list`: servers and their tools, with the token cost of each. */
export function listCommand(terminal: Terminal): Command {
  return withRefreshFlag(
    withRegistryFlags(
      withServerFlags(
        defineCommand(terminal, 'list', HELP, async () => (await import('./run-list.ts')).runList),
      ),
    ),
  )
    .description('List servers and their tools, with the token cost of each definition.')
    .argument('[names...]', 'only these servers, or tools such as files.read_file')
    .option('--schema', "show each tool's description and input schema in full")
}

const HELP = `
Examples:
  toolcrib list                    every server of the config
  toolcrib list files memory       two of them
  toolcrib list files --schema     with descriptions and schemas
  toolcrib list files.read_file    one tool
  toolcrib list --mode lazy --json | jq '.servers[].tools[] | {name, state}'
${NAMES_HELP}

Tokens are exact (o200k), counted over name, description and parameters: what a model pays on every turn in full mode.
${REGISTRY_HELP}
${REFRESH_HELP}
Missing servers are reported on stderr, with the reason.
Exit codes: 0 done, 1 no server responded, 2 wrong usage, no config, an unknown server or an unknown tool.`
