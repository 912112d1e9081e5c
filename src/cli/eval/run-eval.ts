import { writeFile } from 'node:fs/promises'
import pc from 'picocolors'
import { hybrid, lexical, regex, type Searcher, semantic, ToolcribError, weighted } from 'toolcrib'
import { staticEmbedder } from 'toolcrib/embedders'
import { columns, cut, note, plural, print, printJson, terminalWidth } from '../terminal.ts'
import { type Comparison, compare } from './compare.ts'
import { type EvalCase, type EvalFiles, loadCase } from './load-case.ts'
import { CUTOFFS, type EvalReport, type Measurement, measure } from './measure.ts'

const SEARCHERS: Readonly<Record<string, () => Searcher>> = {
  lexical,
  weighted,
  regex,
  semantic: () => semantic({ embedder: staticEmbedder() }),
  hybrid: () => hybrid({ embedder: staticEmbedder() }),
}

export interface EvalOptions extends EvalFiles {
  /** `lexical` unless told. */
  readonly searcher?: string
  onProgress?(done: number, total: number): void
}

/** Measures one searcher on labelled queries. Throws `config-invalid` for a bad file. */
export async function evaluate({
  searcher = 'lexical',
  onProgress,
  ...files
}: EvalOptions): Promise<EvalReport> {
  return (await measure(searcherNamed(searcher), await loadCase(files), onProgress)).report
}

export interface EvalFlags extends EvalFiles {
  readonly searcher: string
  readonly compare?: string
  readonly misses?: string
  readonly json?: boolean
}

/** `toolcrib eval`: how well and how fast search finds the right tools. */
export async function runEval(flags: EvalFlags): Promise<void> {
  const names = wantedSearchers(flags)
  const labelled = await loadCase(flags)
  noteUnknownIds(labelled)
  const measured: Measurement[] = []
  for (const name of names) measured.push(await measure(searcherNamed(name), labelled, progressOf(name)))
  if (flags.misses !== undefined) await writeMisses(flags.misses, measured)
  const [first, second] = measured
  if (flags.compare !== undefined && first && second)
    return showComparison(compare(first, second), measured, flags)
  const reports = measured.map(({ report }) => report)
  if (flags.json) printJson(reports.length === 1 ? reports[0] : reports)
  else print(table(reports))
}

/** A label that names no tool can never be found: more likely it is mistyped. */
function noteUnknownIds({ tools, queries }: EvalCase): void {
  const known = new Set(tools.map(({ id }) => id))
  const unknown = new Set(queries.flatMap(({ relevant }) => relevant).filter((id) => !known.has(id)))
  if (unknown.size === 0) return
  const some = [...unknown].slice(0, 3).join(', ')
  note(
    `${plural(unknown.size, 'relevant id')} named by no tool, and so never found: ${some}; mend the labels`,
  )
}

function wantedSearchers({ searcher, compare: pair }: EvalFlags): readonly string[] {
  if (pair === undefined) return searcher === 'all' ? Object.keys(SEARCHERS) : [searcher]
  const names = pair.split(',').map((name) => name.trim())
  if (names.length === 2) return names
  throw new ToolcribError('config-invalid', '--compare takes two searchers, such as lexical,hybrid')
}

function searcherNamed(name: string): Searcher {
  const open = Object.hasOwn(SEARCHERS, name) ? SEARCHERS[name] : undefined
  if (open !== undefined) return open()
  const known = Object.keys(SEARCHERS).join(', ')
  throw new ToolcribError('config-invalid', `There is no searcher "${name}"; use one of ${known}, or all`)
}

function progressOf(name: string): ((done: number, total: number) => void) | undefined {
  if (!process.stderr.isTTY) return undefined
  return (done, total) => {
    if (done % 50 === 0) process.stderr.write(`\r${name}: ${done} of ${total} queries`)
    if (done === total) process.stderr.write('\r\x1b[K')
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
    const step = 'pass another file by --misses'
    throw new ToolcribError('config-invalid', `${path} cannot be written: ${reason}; ${step}`, { cause })
  }
}

function table(reports: readonly EvalReport[]): string {
  const [one] = reports
  const header = [
    '',
    ...CUTOFFS.map((cutoff) => `recall@${cutoff}`),
    '95 % of @5',
    'nDCG@10',
    'MRR',
    'p50',
    'p95',
    'index',
  ]
  const rows = reports.map((report) => [
    pc.bold(report.searcher),
    ...CUTOFFS.map((cutoff) => percent(report.recall[cutoff])),
    report.recallIntervals['5'].map((share) => (100 * share).toFixed(1)).join('–'),
    percent(report.ndcg10),
    percent(report.mrr),
    `${report.p50Micros} µs`,
    `${report.p95Micros} µs`,
    `${report.indexMs} ms, ${(report.indexBytes / 1e6).toFixed(1)} MB`,
  ])
  const rightAligned = header.map((_, at) => at).slice(1)
  const queries = one?.queries === 1 ? '1 query' : `${one?.queries} queries`
  const title = `${queries} over ${plural(one?.tools ?? 0, 'tool')}`
  return [pc.bold(title), ...columns([header, ...rows], { rightAligned })].join('\n')
}

function showComparison(comparison: Comparison, measured: readonly Measurement[], { json }: EvalFlags): void {
  if (json) {
    printJson(comparison)
    return
  }
  const { first, second, firstBetter, secondBetter, equal, pValue, differences } = comparison
  print(table(measured.map(({ report }) => report)))
  print(
    `\n${first} ranks better on ${firstBetter} queries, ${second} on ${secondBetter}; ${equal} are equal.`,
  )
  print(pValue < 0.05 ? `Hardly chance: p = ${pValue}.` : `This may be chance: p = ${pValue}.`)
  print(`\nWhere they differ most (rank of the first right tool, – when it is not among ten):`)
  const rows = differences
    .slice(0, 15)
    .map(({ query, firstRank, secondRank }) => [
      String(firstRank ?? '–'),
      String(secondRank ?? '–'),
      cut(query.replace(/\s+/g, ' '), terminalWidth() - 24),
    ])
  for (const line of columns([[first, second, 'query'], ...rows], { rightAligned: [0, 1] })) print(line)
}

function percent(share: number): string {
  return `${(100 * share).toFixed(1)} %`
}
