import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { Command } from 'commander'
import pc from 'picocolors'
import {
  CatalogueSearch,
  type Listing,
  lexical,
  regex,
  type Searcher,
  ToolcribError,
  weighted,
} from 'toolcrib'
import { type EvalFiles, loadCase, toGroups } from './eval-case.ts'

/** How far down the ranking is looked at. */
const DEPTH = 10
const CUTOFFS = [1, 3, 5, 10] as const
/** Queries that run before the clock counts, so that the figures show a process that is warm. */
const WARM_UP = 200

const SEARCHERS: Readonly<Record<string, () => Searcher>> = { lexical, weighted, regex }

export interface EvalOptions extends EvalFiles {
  /** `lexical` unless told. */
  readonly searcher?: string
  onProgress?(done: number, total: number): void
}

export interface EvalReport {
  readonly searcher: string
  readonly tools: number
  readonly queries: number
  /** By how many matches were looked at: the share of the relevant tools among them, averaged over the queries. */
  readonly recall: Readonly<Record<'1' | '3' | '5' | '10', number>>
  readonly ndcg10: number
  readonly mrr: number
  readonly p50Micros: number
  readonly p95Micros: number
  readonly indexMs: number
  readonly indexBytes: number
}

/** Measures a searcher on labelled queries, through the whole search path. Throws `config-invalid` for a bad file. */
export async function evaluate(options: EvalOptions): Promise<EvalReport> {
  const searcher = searcherNamed(options.searcher ?? 'lexical')
  const { tools, queries } = await loadCase(options)
  const idOf = new Map<Listing, string>()
  const groups = toGroups(tools, idOf)

  const catalogue = new CatalogueSearch(searcher)
  const bytesBefore = heapBytes()
  const indexStart = performance.now()
  catalogue.sync(groups)
  // An index opens with the first search.
  await find(catalogue, queries[0]?.query ?? 'anything')
  const indexMs = performance.now() - indexStart
  const indexBytes = Math.max(0, heapBytes() - bytesBefore)

  for (const { query } of queries.slice(0, WARM_UP)) await find(catalogue, query)
  const micros: number[] = []
  const scores: QueryScore[] = []
  for (const [done, { query, relevant }] of queries.entries()) {
    const start = performance.now()
    const found = await find(catalogue, query)
    micros.push((performance.now() - start) * 1000)
    scores.push(
      score(
        found.map((listing) => idOf.get(listing) ?? ''),
        new Set(relevant),
      ),
    )
    options.onProgress?.(done + 1, queries.length)
  }
  micros.sort((a, b) => a - b)

  return {
    searcher: searcher.name,
    tools: tools.length,
    queries: queries.length,
    recall: {
      '1': mean(scores.map(({ recall }) => recall[0] ?? 0)),
      '3': mean(scores.map(({ recall }) => recall[1] ?? 0)),
      '5': mean(scores.map(({ recall }) => recall[2] ?? 0)),
      '10': mean(scores.map(({ recall }) => recall[3] ?? 0)),
    },
    ndcg10: mean(scores.map(({ ndcg }) => ndcg)),
    mrr: mean(scores.map(({ reciprocalRank }) => reciprocalRank)),
    p50Micros: rounded(micros[Math.floor(micros.length * 0.5)] ?? 0, 1),
    p95Micros: rounded(micros[Math.floor(micros.length * 0.95)] ?? 0, 1),
    indexMs: rounded(indexMs, 1),
    indexBytes,
  }
}

/** `toolcrib eval` */
export function evalCommand(): Command {
  return new Command('eval')
    .description('Measure how well and how fast search finds the right tools, on your own tools and queries.')
    .requiredOption('--tools <file>', 'lines of { id, server?, name, description, inputSchema }')
    .requiredOption('--queries <file>', 'lines of { id, query, relevant: [ids] }')
    .option('--distractors <file>', 'more tools, to make it harder')
    .option('--searcher <name>', Object.keys(SEARCHERS).join(', '), 'lexical')
    .option('--json', 'print the figures as JSON')
    .action(async ({ json, ...options }: EvalOptions & { json?: boolean }) => {
      const report = await evaluate({
        ...options,
        ...(process.stderr.isTTY ? { onProgress: showProgress } : {}),
      })
      console.log(json ? JSON.stringify(report, null, 2) : table(report))
    })
}

function searcherNamed(name: string): Searcher {
  const open = Object.hasOwn(SEARCHERS, name) ? SEARCHERS[name] : undefined
  if (open !== undefined) return open()
  const known = Object.keys(SEARCHERS).join(', ')
  throw new ToolcribError('config-invalid', `There is no searcher "${name}"; use one of ${known}`)
}

/** A query that cannot be read finds nothing. */
async function find(catalogue: CatalogueSearch, query: string): Promise<Listing[]> {
  try {
    const { ranked } = await catalogue.search(query, { limit: DEPTH })
    return ranked.map(({ listing }) => listing)
  } catch (error) {
    if (error instanceof ToolcribError) return []
    throw error
  }
}

interface QueryScore {
  /** By cut-off. */
  readonly recall: readonly number[]
  readonly ndcg: number
  readonly reciprocalRank: number
}

function score(found: readonly string[], relevant: ReadonlySet<string>): QueryScore {
  const hits = found.map((id) => relevant.has(id))
  const gain = (rank: number): number => 1 / Math.log2(rank + 2)
  let gained = 0
  let ideal = 0
  for (let rank = 0; rank < DEPTH; rank++) {
    if (hits[rank]) gained += gain(rank)
    if (rank < relevant.size) ideal += gain(rank)
  }
  const first = hits.indexOf(true)
  return {
    recall: CUTOFFS.map((cutoff) => hits.slice(0, cutoff).filter(Boolean).length / relevant.size),
    ndcg: gained / ideal,
    reciprocalRank: first < 0 ? 0 : 1 / (first + 1),
  }
}

function mean(values: readonly number[]): number {
  return rounded(values.reduce((sum, value) => sum + value, 0) / values.length, 4)
}

function rounded(value: number, digits: number): number {
  return Number(value.toFixed(digits))
}

/** Bytes in use once garbage is gone, typed arrays included. */
function heapBytes(): number {
  setFlagsFromString('--expose-gc')
  const collect: unknown = runInNewContext('gc')
  if (typeof collect === 'function') collect()
  const { heapUsed, arrayBuffers } = process.memoryUsage()
  return heapUsed + arrayBuffers
}

function showProgress(done: number, total: number): void {
  if (done % 50 === 0) process.stderr.write(`\r${done} of ${total} queries`)
  if (done === total) process.stderr.write('\r\x1b[K')
}

function table(report: EvalReport): string {
  const percent = (share: number): string => `${(100 * share).toFixed(1)} %`
  const rows: [string, string][] = [
    ...CUTOFFS.map((cutoff): [string, string] => [`recall@${cutoff}`, percent(report.recall[`${cutoff}`])]),
    ['nDCG@10', percent(report.ndcg10)],
    ['MRR', percent(report.mrr)],
    ['p50', `${report.p50Micros} µs`],
    ['p95', `${report.p95Micros} µs`],
    ['index', `${report.indexMs} ms, ${(report.indexBytes / 1e6).toFixed(1)} MB`],
  ]
  const title = pc.bold(`${report.searcher}: ${report.queries} queries over ${report.tools} tools`)
  return [title, ...rows.map(([label, value]) => `  ${label.padEnd(10)} ${value}`)].join('\n')
}
