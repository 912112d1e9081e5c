import { type Command, InvalidArgumentError, Option } from 'commander'
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

/** `toolcrib search`: what a model would find, and why. */
export function searchCommand(terminal: Terminal): Command {
  return withRefreshFlag(
    withRegistryFlags(
      withServerFlags(
        defineCommand(terminal, 'search', HELP, async () => (await import('./run-search.ts')).runSearch),
      ),
    ),
  )
    .description('Search the tools of your servers as a model would, and show why each was found.')
    .argument('<query...>', 'words, or the query language below')
    .option('--limit <count>', 'number of matches, 1 to 50', toLimit, 5)
    .addOption(
      new Option('--searcher <name>', 'how tools are ranked')
        .choices(['lexical', 'weighted', 'regex', 'hybrid'])
        .default('hybrid'),
    )
}

const HELP = `
Examples:
  toolcrib search read a file
  toolcrib search '+file read -media'              with a word, without another
  toolcrib search 'server:files write'             one server
  toolcrib search 'select:files.read_file'
  toolcrib search '/^list_/' --limit 20            a regular expression
  toolcrib search --searcher lexical read a file   by words, not by meaning
${NAMES_HELP}
Quote what your shell would interpret. If nothing matches well, a note says which words found nothing and how to ask.

The number before a tool is its score. With hybrid it is the probability that the tool is the right one, from 0.01 to 1; with
the other searchers it only compares the matches of one search. A tool that passes a filter and matches no word has none.

${REGISTRY_HELP}
${REFRESH_HELP}
Missing servers are reported on stderr, with the reason.
Exit codes: 0 found, 1 nothing matches or no server responded, 2 an invalid query or config.`

function toLimit(value: string): number {
  const count = Number(value)
  if (Number.isInteger(count) && count >= 1 && count <= 50) return count
  throw new InvalidArgumentError('It must be a whole number from 1 to 50.')
}
