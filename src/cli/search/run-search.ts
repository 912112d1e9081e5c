import pc from 'picocolors'
import { hybrid, type Searcher, type SearcherName, type SearchResult, ToolRegistry } from 'toolcrib'
import { staticEmbedder } from 'toolcrib/embedders'
import type { RefreshFlags, RegistryFlags, ServerFlags } from '../flags.ts'
import { isNoneThere, noteMissing, noteQuarantined } from '../missing-servers.ts'
import type { Terminal } from '../terminal.ts'
import { cut, figure, plain, plural, toolName } from '../text.ts'
import { remembering, withRegistry } from '../with-registry.ts'

export interface SearchFlags extends ServerFlags, RegistryFlags, RefreshFlags {
  readonly limit: number
  readonly searcher: SearcherName | 'hybrid'
}

/** Searches as a model would, and prints the matches and the reasons. */
export async function runSearch(
  terminal: Terminal,
  query: string,
  { limit, searcher, ...flags }: SearchFlags,
): Promise<number> {
  await checkQuery(query, searcher)
  const options = { ...remembering(flags), registry: { searcher: searcherNamed(searcher) } }
  return withRegistry(terminal, flags, options, async ({ registry, statuses, signal }) => {
    const result = await registry.search(query, { limit })
    signal.throwIfAborted()
    if (flags.json) terminal.printJson(result)
    else if (!isNoneThere(statuses)) show(terminal, result, registry)
    noteQuarantined(terminal, registry, 'searched')
    const isMiss = statuses.length > 0 && result.matches.length === 0
    return noteMissing(terminal, statuses, 'searched') || (isMiss ? 1 : 0)
  })
}

/** Throws for an invalid query before any server is started. */
async function checkQuery(query: string, searcher: SearchFlags['searcher']): Promise<void> {
  await new ToolRegistry().search(query, { searcher: searcher === 'hybrid' ? 'lexical' : searcher })
}

/** The registry finds the others by name; `hybrid` needs an embedder. */
function searcherNamed(name: SearcherName | 'hybrid'): SearcherName | Searcher {
  return name === 'hybrid' ? hybrid({ embedder: staticEmbedder() }) : name
}

function show(
  terminal: Terminal,
  { query, total, matches, missing, unmatchedTerms, advice }: SearchResult,
  registry: ToolRegistry,
): void {
  const rest = terminal.width - 9
  const servers = new Map(registry.listSchemas().map((schema) => [schema.name, schema.mcpServer]))
  // The advice is for models: without matches, it says the same, and a person can do more.
  if (matches.length === 0)
    terminal.say(`nothing matches "${plain(query)}"; try other words, or see every tool with "toolcrib list"`)
  else if (advice !== undefined) terminal.say(pc.yellow(plain(advice)))
  for (const { name, score, description, reasons } of matches) {
    const server = servers.get(name)
    terminal.print(`${pc.dim(shownScore(score).padStart(6))}  ${pc.green(toolName(name, server))}`)
    terminal.print(`        ${cut(plain(description), rest)}`)
    if (reasons.length > 0) terminal.say(pc.dim(`        because ${reasons.join('; ')}`))
  }
  if (total > matches.length)
    terminal.print(
      pc.dim(`\n${figure(matches.length)} of ${plural(total, 'match', 'matches')}; see more with --limit`),
    )
  if (unmatchedTerms?.length && advice === undefined)
    terminal.say(pc.yellow(`\nno tool mentions: ${unmatchedTerms.join(', ')}`))
  if (missing?.length) terminal.say(pc.yellow(`\nno such tool: ${missing.join(', ')}`))
}

/** A tool that passes `+word` and matches nothing else has no score. */
function shownScore(score: number): string {
  if (score === 0) return '–'
  return score < 0.01 ? '<0.01' : score.toFixed(2)
}
