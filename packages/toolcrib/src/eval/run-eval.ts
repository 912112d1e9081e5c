import { writeFile } from 'node:fs/promises'
import { stripVTControlCharacters } from 'node:util'
import {
  hybrid,
  lexical,
  regex,
  type Searcher,
  semantic,
  ToolcribError,
  type ToolSchema,
  weighted,
} from '@toolcrib/core'
import { staticEmbedder } from '@toolcrib/embedder'
import pc from 'picocolors'
import { noteMissing, quarantinedTools } from '../servers/missing-servers.ts'
import { remembering, withRegistry } from '../servers/with-registry.ts'
import type { RefreshFlags, ServerFlags } from '../terminal/flags.ts'
import type { Terminal } from '../terminal/terminal.ts'
import { columns, cut, plural } from '../terminal/text.ts'
import { UsageError } from '../terminal/usage-error.ts'
import { type Comparison, compare } from './compare.ts'
import {
  type EvalCase,
  type EvalFiles,
  type EvalTool,
  idResolver,
  loadCase,
  loadHistory,
  readText,
} from './load-case.ts'
import { CUTOFFS, type EvalReport, type Measurement, measure } from './measure.ts'

const SEARCHERS: Readonly<Record<string, () => Searcher>> = {
  lexical,
  weighted,
  regex,
  semantic: () => semantic({ embedder: staticEmbedder() }),
  hybrid: () => hybrid({ embedder: staticEmbedder() }),
}

export interface EvalOptions extends EvalFiles {
  /** Default: `hybrid`. */
  readonly searcher?: string
  onProgress?(done: number, total: number): void
  collectGarbage?(): void
}

/** Measures one searcher on labelled queries. Throws `config-invalid` for a bad file. */
export async function evaluate({
  searcher = 'hybrid',
  onProgress,
  collectGarbage,
  ...files
}: EvalOptions): Promise<EvalReport> {
  const options = { collectGarbage, ...(onProgress ? { onProgress } : {}) }
  return (await measure(searcherNamed(searcher), await loadCase(files), options)).report
}

export interface EvalFlags extends Omit<EvalFiles, 'tools'>, ServerFlags, RefreshFlags {
  /** A file of tools. Default: the tools of the configured servers. */
  readonly tools?: string
  readonly searcher: string
  readonly compare?: string
  /** A file of past use, to replay first. */
  readonly history?: string
  readonly misses?: string
}

/** Measures how well and how fast search finds the right tools. */
export async function runEval(terminal: Terminal, flags: EvalFlags): Promise<number> {
  const searchers = wantedSearchers(flags).map(searcherNamed)
  // Checked first, so that servers are not started for nothing.
  for (const file of [flags.queries, flags.distractors, flags.history])
    if (file !== undefined) await readText(file)
  const tools = flags.tools ?? (await configuredTools(terminal, flags))
  const labelled = await loadCase({ ...flags, tools })
  noteUnknownIds(terminal, labelled)
  const toId = idResolver(labelled.tools)
  const past = flags.history === undefined ? undefined : await loadHistory(flags.history)
  const history = past?.map((request) => ({ ...request, called: request.called.map(toId) }))
  const measured: Measurement[] = []
  for (const searcher of searchers)
    measured.push(
      await measure(searcher, labelled, {
        ...(history === undefined ? {} : { history }),
        onProgress: progressOf(terminal, searcher.name),
        collectGarbage: terminal.collectGarbage,
      }),
    )
  if (flags.misses !== undefined) await writeMisses(flags.misses, measured)
  const [first, second] = measured
  const reports = measured.map(({ report }) => report)
  if (flags.compare !== undefined && first && second)
    showComparison(terminal, compare(first, second), measured, flags)
  else if (flags.json) terminal.printJson(reports.length === 1 ? reports[0] : reports)
  else {
    terminal.print(table(reports, terminal.width))
    for (const report of reports) if (report.reliability) terminal.print(reliabilityTable(report))
  }
  return 0
}

/** The tools of the configured servers, with their full names as ids. */
function configuredTools(terminal: Terminal, flags: EvalFlags): Promise<EvalTool[]> {
  return withRegistry(terminal, flags, remembering(flags), async ({ registry, statuses, apiStatuses }) => {
    if (noteMissing(terminal, statuses, 'searched', apiStatuses) !== 0)
      throw new ToolcribError('source-unavailable', 'there are no tools to search; pass a file with --tools')
    const held = new Set(quarantinedTools(registry))
    const places = new Map(statuses.map(({ server }, at) => [server, at]))
    const placeOf = ({ mcpServer = '' }: ToolSchema) => places.get(mcpServer) ?? 0
    return (
      registry
        .listSchemas()
        .filter(({ name }) => !held.has(name))
        // For equal tools, a search shows the one of the first server.
        .sort((a, b) => placeOf(a) - placeOf(b))
        .map(({ name, description, parameters, mcpServer }) => ({
          id: name,
          name: name.replace(`mcp__${mcpServer}__`, ''),
          description,
          inputSchema: parameters,
          ...(mcpServer === undefined ? {} : { server: mcpServer }),
        }))
    )
  })
}

/** Notes labels that match no tool: they are probably mistyped, and can never be found. */
function noteUnknownIds(terminal: Terminal, { tools, queries }: EvalCase): void {
  const known = new Set(tools.map(({ id }) => id))
  const unknown = new Set(queries.flatMap(({ relevant }) => relevant).filter((id) => !known.has(id)))
  if (unknown.size === 0) return
  const some = [...unknown].slice(0, 3).join(', ')
  const ids = plural(unknown.size, 'relevant id matches', 'relevant ids match')
  terminal.note(`${ids} no tool: ${some}; correct the labels`)
}

function wantedSearchers({ searcher, compare: pair }: EvalFlags): readonly string[] {
  if (pair === undefined) return searcher === 'all' ? Object.keys(SEARCHERS) : [searcher]
  const names = pair.split(',').map((name) => name.trim())
  if (names.length === 2 && names[0] !== names[1]) return names
  throw new UsageError('--compare takes two different searchers, such as lexical,hybrid')
}

function searcherNamed(name: string): Searcher {
  const open = Object.hasOwn(SEARCHERS, name) ? SEARCHERS[name] : undefined
  if (open !== undefined) return open()
  const known = Object.keys(SEARCHERS).join(', ')
  throw new UsageError(`unknown searcher "${name}"; use one of ${known}, or all`)
}

function progressOf(terminal: Terminal, name: string): (done: number, total: number) => void {
  const line = terminal.progressLine()
  return (done, total) => {
    if (done % 50 === 0) line.show(`${name}: ${done} of ${total} queries`)
    if (done === total) line.clear()
  }
}

async function writeMisses(path: string, measured: readonly Measurement[]): Promise<void> {
  const lines = measured.flatMap(({ report, outcomes }) =>
    outcomes
      .filter(({ recall }) => recall['5'] < 1)
      .map(({ id, query, relevant, found }) =>
        JSON.stringify({ searcher: report.searcher, id, query, relevant, found }),
      ),
  )
  try {
    await writeFile(path, lines.map((line) => `${line}\n`).join(''))
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause)
    const step = 'pass another file with --misses'
    throw new ToolcribError('config-invalid', `${path} cannot be written: ${reason}; ${step}`, { cause })
  }
}

/** One row per searcher, or one column if rows would be too wide. */
function table(reports: readonly EvalReport[], width: number): string {
  const [one] = reports
  const header = [
    '',
    ...CUTOFFS.map((cutoff) => `recall@${cutoff}`),
    '95 % of @5',
    '@5 with clones',
    'nDCG@10',
    'MRR',
    'p50',
    'p95',
    'to index',
    'index',
  ]
  const rows = reports.map((report) => [
    pc.bold(report.searcher),
    ...CUTOFFS.map((cutoff) => percent(report.recall[cutoff])),
    report.recallIntervals['5'].map((share) => (100 * share).toFixed(1)).join('–'),
    percent(report.cloneAwareRecall['5']),
    percent(report.ndcg10),
    percent(report.mrr),
    `${report.p50Micros} µs`,
    `${report.p95Micros} µs`,
    `${report.indexMs} ms`,
    `${(report.indexBytes / 1e6).toFixed(1)} MB`,
  ])
  const wide = aligned([header, ...rows])
  const isTooWide = wide.some((line) => stripVTControlCharacters(line).length > width)
  const turned = header.map((_, at) => [header, ...rows].map((row) => row[at] ?? ''))
  const queries = one?.queries === 1 ? '1 query' : `${one?.queries} queries`
  const title = `${queries} over ${plural(one?.tools ?? 0, 'tool')}`
  return [pc.bold(title), ...(isTooWide ? aligned(turned) : wide)].join('\n')
}

/** Aligns all columns but the first to the right. */
function aligned(rows: readonly (readonly string[])[]): string[] {
  return columns(rows, { rightAligned: (rows[0] ?? []).map((_, at) => at).slice(1) })
}

/** How reliable scores are: of the matches with about this score, how many are right. */
function reliabilityTable({ searcher, reliability = [] }: EvalReport): string {
  const rows = reliability.map(({ from, to, matches, score, right }) => [
    `${from.toFixed(1)}–${to.toFixed(1)}`,
    String(matches),
    percent(score),
    percent(right),
  ])
  const title = pc.bold(`\nReliability of ${searcher}'s scores (first five matches)`)
  const header = ['score', 'matches', 'mean score', 'right']
  return [title, ...columns([header, ...rows], { rightAligned: [1, 2, 3] })].join('\n')
}

function showComparison(
  terminal: Terminal,
  comparison: Comparison,
  measured: readonly Measurement[],
  { json }: EvalFlags,
): void {
  if (json) {
    terminal.printJson(comparison)
    return
  }
  const { first, second, firstBetter, secondBetter, equal, pValue, differences } = comparison
  terminal.print(
    table(
      measured.map(({ report }) => report),
      terminal.width,
    ),
  )
  terminal.say(
    `\n${first} ranks better on ${firstBetter} queries, ${second} on ${secondBetter}; ${equal} are equal.`,
  )
  terminal.say(
    pValue < 0.05 ? `Probably not by chance: p = ${pValue}.` : `Possibly by chance: p = ${pValue}.`,
  )
  terminal.say(
    '\nLargest differences (rank of the first relevant tool, – when it is not among the first ten):',
  )
  const rows = differences
    .slice(0, 15)
    .map(({ query, firstRank, secondRank }) => [
      String(firstRank ?? '–'),
      String(secondRank ?? '–'),
      cut(query.replace(/\s+/g, ' '), terminal.width - 24),
    ])
  for (const line of columns([[first, second, 'query'], ...rows], { rightAligned: [0, 1] }))
    terminal.print(line)
}

function percent(share: number): string {
  return `${(100 * share).toFixed(1)} %`
}
