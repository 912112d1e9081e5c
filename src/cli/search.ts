import { Command, InvalidArgumentError, Option } from 'commander'
import pc from 'picocolors'
import { hybrid, type Searcher, type SearcherName, type SearchResult, ToolRegistry } from 'toolcrib'
import { staticEmbedder } from 'toolcrib/embedders'
import { type ServerFlags, withRegistry, withServerFlags } from './open-registry.ts'
import { cut, figure, plain, plural, print, printJson, terminalWidth } from './terminal.ts'

interface SearchFlags extends ServerFlags {
  readonly limit: number
  readonly searcher: SearcherName | 'hybrid'
}

/** `toolcrib search`: what a model would find, and why. */
export function searchCommand(): Command {
  return withServerFlags(new Command('search'))
    .description('Search the tools of your servers, as a model would, and say why each was found.')
    .argument('<query...>', 'words, or the query language below')
    .option('--limit <count>', 'how many matches, 1 to 50', toLimit, 5)
    .addOption(
      new Option('--searcher <name>', 'how tools are ranked')
        .choices(['lexical', 'weighted', 'regex', 'hybrid'])
        .default('hybrid'),
    )
    .addHelpText('after', HELP)
    .action(async (words: string[], { limit, searcher, ...flags }: SearchFlags) => {
      const query = words.join(' ')
      await checkQuery(query, searcher)
      await withRegistry(flags, {}, async ({ registry }) => {
        const result = await registry.search(query, { limit, searcher: searcherNamed(searcher) })
        if (flags.json) printJson(result)
        else show(result)
      })
    })
}

const HELP = `
Examples:
  toolcrib search read a file
  toolcrib search '+github issues -delete'     a word that must be there, one that must not
  toolcrib search 'server:files write'         one server
  toolcrib search 'select:mcp__files__read_file'
  toolcrib search '/^list_/' --limit 20        a regular expression
  toolcrib search --searcher lexical tidy up   by words alone, not by meaning
Quote what your shell would read. Finding nothing is no failure.
Exit codes: 0 done, 1 failed, 2 a query or config that makes no sense.`

/** A query that makes no sense is refused before any server is started; no tools are needed to tell. */
async function checkQuery(query: string, searcher: SearchFlags['searcher']): Promise<void> {
  await new ToolRegistry().search(query, { searcher: searcher === 'hybrid' ? 'lexical' : searcher })
}

/** By words and by meaning takes a table of its own; the others the registry knows by name. */
function searcherNamed(name: SearcherName | 'hybrid'): SearcherName | Searcher {
  return name === 'hybrid' ? hybrid({ embedder: staticEmbedder() }) : name
}

function show({ query, total, matches, missing, unmatchedTerms, servers }: SearchResult): void {
  if (matches.length === 0) print(`nothing fits "${plain(query)}"`)
  for (const { name, score, description, reasons } of matches) {
    print(`${pc.dim(score.toFixed(2).padStart(6))}  ${pc.green(name)}`)
    print(`        ${cut(plain(description), terminalWidth() - 9)}`)
    if (reasons.length > 0)
      print(pc.dim(`        ${cut(`because ${reasons.join('; ')}`, terminalWidth() - 9)}`))
  }
  if (total > matches.length)
    print(
      pc.dim(
        `\n${figure(matches.length)} of ${plural(total, 'match').replace(/matchs$/, 'matches')}; see more with --limit`,
      ),
    )
  if (unmatchedTerms?.length) print(pc.yellow(`\nin no tool: ${unmatchedTerms.join(', ')}`))
  if (missing?.length) print(pc.yellow(`\nnot there: ${missing.join(', ')}`))
  for (const status of servers ?? []) {
    const why = status.state === 'failed' ? `: ${plain(status.reason)}` : ''
    print(pc.yellow(`not searched: ${status.server}, ${status.state}${why}`))
  }
}

function toLimit(value: string): number {
  const count = Number(value)
  if (Number.isInteger(count) && count >= 1 && count <= 50) return count
  throw new InvalidArgumentError('It must be a whole number from 1 to 50.')
}
