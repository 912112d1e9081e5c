import { Command } from 'commander'
import type { Terminal } from '../terminal.ts'
import type { EvalFlags } from './run-eval.ts'

/** `toolcrib eval`: how well and how fast search finds the right tools. */
export function evalCommand(terminal: Terminal): Command {
  return new Command('eval')
    .description('Measure how well and how fast search finds the right tools, on your own tools and queries.')
    .requiredOption('--tools <file>', 'lines of { id, server?, name, description, inputSchema }')
    .requiredOption('--queries <file>', 'lines of { id, query, relevant: [ids] }')
    .option(
      '--distractors <file>',
      'more tools, to make it harder; those that bear a relevant tool’s name are left out',
    )
    .option('--searcher <name>', 'lexical, weighted, regex, semantic, hybrid, or all', 'lexical')
    .option('--compare <a,b>', 'put two searchers side by side, query by query')
    .option(
      '--misses <file>',
      'write the queries whose tools are not all among the first five, as lines of JSON',
    )
    .option('--json', 'print the figures as JSON')
    .addHelpText('after', () => terminal.fit(HELP))
    .action(async (flags: EvalFlags) => {
      const { runEval } = await import('./run-eval.ts')
      terminal.exitCode = await runEval(terminal, flags)
    })
}

const HELP = `
Examples:
  toolcrib eval --tools tools.jsonl --queries queries.jsonl --searcher all
  toolcrib eval --tools tools.jsonl --queries queries.jsonl --compare lexical,hybrid
  toolcrib eval --tools tools.jsonl --queries queries.jsonl --searcher hybrid --misses misses.jsonl
Exit codes: 0 done, 2 wrong usage or a file that cannot be read.`
