import {
  hybrid,
  parseQuery,
  type Searcher,
  type SearcherName,
  type SearchResult,
  ToolRegistry,
} from '@toolcrib/core'
import { staticEmbedder } from '@toolcrib/embedder'
import type { Config } from '@toolcrib/mcp'
import pc from 'picocolors'
import { isNoneThere, noteMissing, noteQuarantined } from '../servers/missing-servers.ts'
import { unknownServer } from '../servers/unknown-server.ts'
import { remembering, withRegistry } from '../servers/with-registry.ts'
import type { RefreshFlags, RegistryFlags, ServerFlags } from '../terminal/flags.ts'
import type { Terminal } from '../terminal/terminal.ts'
import { cut, figure, plain, plural, toolName } from '../terminal/text.ts'

export interface SearchFlags extends ServerFlags, RegistryFlags, RefreshFlags {
  readonly limit: number
  readonly searcher: SearcherName | 'hybrid'
}

/** Searches as a model would, and prints the matches and the reasons. */
export async function runSearch(
  terminal: Terminal,
  words: readonly string[],
  { limit, searcher, ...flags }: SearchFlags,
): Promise<number> {
  const query = words.join(' ')
  await checkQuery(query, searcher)
  const options = { ...remembering(flags), registry: { searcher: searcherNamed(searcher) } }
  return withRegistry(
    terminal,
    flags,
    options,
    async ({ registry, statuses, apiStatuses, config, signal }) => {
      const result = await registry.search(query, { limit })
      signal.throwIfAborted()
      const faults = unknownServers(query, searcher, config)
      if (flags.json) {
        terminal.printJson(result)
        for (const fault of faults) terminal.warn(fault)
      } else if (!isNoneThere(statuses)) showResult(terminal, result, { registry, faults, searcher })
      noteQuarantined(terminal, registry, 'searched')
      const isMiss = statuses.length > 0 && result.matches.length === 0
      return noteMissing(terminal, statuses, 'searched', apiStatuses) || (isMiss ? 1 : 0)
    },
  )
}

/** Throws for an invalid query before any server is started. */
async function checkQuery(query: string, searcher: SearchFlags['searcher']): Promise<void> {
  await new ToolRegistry().search(query, { searcher: searcher === 'hybrid' ? 'lexical' : searcher })
}

/** Why the servers that the query names and the config does not have are not searched. */
function unknownServers(
  query: string,
  searcher: SearchFlags['searcher'],
  { servers, layers = [] }: Config,
): string[] {
  // The whole query is one pattern there.
  if (searcher === 'regex') return []
  const names = Object.keys(servers)
  const known = new Set(names.map((name) => name.toLowerCase()))
  const unknown = parseQuery(query).servers.filter((name) => !known.has(name.toLowerCase()))
  return unknown.map((name) => unknownServer(name, { servers: names, layers }).message)
}

/** The registry finds the others by name; `hybrid` needs an embedder. */
function searcherNamed(name: SearcherName | 'hybrid'): SearcherName | Searcher {
  return name === 'hybrid' ? hybrid({ embedder: staticEmbedder() }) : name
}

interface Shown {
  readonly registry: ToolRegistry
  readonly faults: readonly string[]
  readonly searcher: SearchFlags['searcher']
}

/** Prints the matches of a search, what their scores mean, and what was not found. */
export function showResult(
  terminal: Terminal,
  result: SearchResult,
  { registry, faults, searcher }: Shown,
): void {
  const { query, kind, total, matches, missing = [], unmatchedTerms = [], advice } = result
  const scores = meaningOfScores(result, searcher)
  const rest = terminal.width - 9
  const servers = new Map(registry.listSchemas().map((schema) => [schema.name, schema.mcpServer]))
  // What is wrong with those is said below. A pattern is not a word.
  const words = unmatchedTerms.filter(
    (term) => kind !== 'regex' && (faults.length === 0 || !/^server:/i.test(term)),
  )
  // The advice is for models: without matches, it says the same, and a person can do more.
  if (matches.length === 0 && missing.length === 0 && faults.length === 0)
    terminal.say(
      `nothing matches ${inQuotes(cut(plain(query), MAX_QUERY))}; try ${kind === 'regex' ? 'another pattern' : 'other words'}, or see every tool with "toolcrib list"`,
    )
  else if (matches.length > 0 && advice !== undefined) terminal.say(pc.yellow(plain(advice)))
  for (const { name, score, description, reasons } of matches) {
    const server = servers.get(name)
    const shown = scores === undefined ? '–' : shownScore(score)
    terminal.print(`${pc.dim(shown.padStart(6))}  ${pc.green(toolName(name, server))}`)
    terminal.print(`        ${cut(plain(description), rest)}`)
    if (reasons.length > 0) terminal.say(pc.dim(`        because ${plain(reasons.join('; '))}`))
  }
  const lines = [
    ...(total > matches.length
      ? [`${figure(matches.length)} of ${plural(total, 'match', 'matches')}; see more with --limit`]
      : []),
    ...(scores === undefined ? [] : [`score: ${scores}`]),
  ]
  if (matches.length > 0 && lines.length > 0) terminal.say(pc.dim(`\n${lines.join('\n')}`))
  if (words.length > 0 && advice === undefined)
    terminal.say(pc.yellow(`\nno tool mentions: ${cut(plain(words.join(', ')), MAX_QUERY)}`))
  for (const fault of faults) terminal.say(pc.yellow(`${matches.length > 0 ? '\n' : ''}${fault}`))
  if (missing.length > 0)
    terminal.say(
      pc.yellow(
        `${matches.length > 0 ? '\n' : ''}no such tool: ${missing.join(', ')}; find it with "toolcrib search <words>" or "toolcrib list"`,
      ),
    )
}

/** Maximum characters of a query to repeat. */
const MAX_QUERY = 200

/** What the numbers mean; undefined where there is nothing to compare: names and filters match or do not. */
function meaningOfScores(
  { kind, matches, confidence }: SearchResult,
  searcher: Shown['searcher'],
): string | undefined {
  if (confidence !== undefined)
    return matches.some(({ score }) => score > 0)
      ? 'the probability that the tool is the right one'
      : undefined
  if (matches.every(({ score }) => score === 1)) return undefined
  const what = kind === 'regex' || searcher === 'regex' ? 'the pattern matches' : 'the words match'
  return `how well ${what}, to compare these matches only`
}

/** A tool that passes `+word` and matches nothing else has no score. */
function shownScore(score: number): string {
  if (score === 0) return '–'
  return score < 0.01 ? '<0.01' : score.toFixed(2)
}

/** A query that is a quotation already has its marks. */
function inQuotes(query: string): string {
  return /^["“„].*["”]$/.test(query) ? query : `"${query}"`
}
