import pc from 'picocolors'
import { hybrid, type Searcher, type SearcherName, type SearchResult, ToolRegistry } from 'toolcrib'
import { staticEmbedder } from 'toolcrib/embedders'
import type { ModeFlags, RefreshFlags, ServerFlags } from '../flags.ts'
import { isNoneThere, noteMissing } from '../missing-servers.ts'
import { remembering, withRegistry } from '../open-registry.ts'
import { cut, figure, note, plain, plural, print, printJson, terminalWidth } from '../terminal.ts'

export interface SearchFlags extends ServerFlags, ModeFlags, RefreshFlags {
  readonly limit: number
  readonly searcher: SearcherName | 'hybrid'
}

/** `toolcrib search`: what a model would find, and why. */
export async function runSearch(query: string, { limit, searcher, ...flags }: SearchFlags): Promise<void> {
  await checkQuery(query, searcher)
  const options = { ...remembering(flags), searcher: searcherNamed(searcher) }
  await withRegistry(flags, options, async ({ registry, statuses, signal }) => {
    const result = await registry.search(query, { limit })
    signal.throwIfAborted()
    if (flags.json) printJson(result)
    else if (!isNoneThere(statuses)) show(result)
    process.exitCode = noteMissing(statuses, 'searched')
    noteHeld(registry)
  })
}

/** What is held back is never found; nobody should take it for missing. */
function noteHeld(registry: ToolRegistry): void {
  const held = registry.listSchemas().filter(({ name }) => registry.explain(name).state === 'quarantined')
  if (held.length > 0)
    note(`${plural(held.length, 'tool')} held in quarantine and not searched; see "toolcrib diff"`)
}

/** A query that makes no sense is refused before any server is started; no tools are needed to tell. */
async function checkQuery(query: string, searcher: SearchFlags['searcher']): Promise<void> {
  await new ToolRegistry().search(query, { searcher: searcher === 'hybrid' ? 'lexical' : searcher })
}

/** By words and by meaning takes a table of its own; the others the registry knows by name. */
function searcherNamed(name: SearcherName | 'hybrid'): SearcherName | Searcher {
  return name === 'hybrid' ? hybrid({ embedder: staticEmbedder() }) : name
}

function show({ query, total, matches, missing, unmatchedTerms }: SearchResult): void {
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
}
