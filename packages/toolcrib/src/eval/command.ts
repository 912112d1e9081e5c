import { type Command, Option } from 'commander'
import { defineCommand, REFRESH_HELP, withRefreshFlag, withServerFlags } from '../terminal/flags.ts'
import type { Terminal } from '../terminal/terminal.ts'

/** `toolcrib eval`: how well and how fast search finds the right tools. */
export function evalCommand(terminal: Terminal): Command {
  const command = defineCommand(terminal, 'eval', HELP, async () => (await import('./run-eval.ts')).runEval)
    .description('Measure how well and how fast search finds the right tools, on your own tools and queries.')
    .option(
      '--tools <file>',
      'lines of { id, server?, name, description, inputSchema } (default: the tools of the configured servers)',
    )
    .requiredOption('--queries <file>', 'lines of { id, query, relevant: [ids] }')
    .option(
      '--distractors <file>',
      'additional tools, to make it harder; those with the name of a relevant tool, and copies of a tool, are left out',
    )
    .addOption(
      new Option('--searcher <name>', 'lexical, weighted, regex, semantic, hybrid or all').default('hybrid'),
    )
    .option('--compare <a,b>', 'compare two searchers, query by query')
    .option(
      '--history <file>',
      'lines of { query, called: [ids] }: past use to replay first, to see what memory of it gives',
    )
    .option('--misses <file>', 'write the queries whose tools are not all in the top five, as JSON lines')
  return withRefreshFlag(withServerFlags(command))
}

const HELP = `
Without --tools, the tools of the configured servers are searched; their ids are their names, such as \
files.read_file or mcp__files__read_file. --config, --lockfile, --timeout and --refresh apply to these.
${REFRESH_HELP}

Examples:
  toolcrib eval --queries queries.jsonl
  toolcrib eval --queries queries.jsonl --tools tools.jsonl --searcher all
  toolcrib eval --queries queries.jsonl --compare lexical,hybrid
  toolcrib eval --queries queries.jsonl --misses misses.jsonl
Exit codes: 0 done, 1 no server responded, 2 wrong usage or a file that cannot be read.`
