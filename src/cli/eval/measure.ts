import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { CatalogueSearch, type Listing, type Searcher, ToolcribError } from 'toolcrib'
import { confidenceInterval, type Interval, mean, rounded } from './figures.ts'
import { type EvalCase, toGroups } from './load-case.ts'

/** How many matches are evaluated. */
const DEPTH = 10
/** Queries that run before timing starts, so that the figures show a warm process. */
const WARM_UP = 200

type Cutoff = '1' | '3' | '5' | '10'
export const CUTOFFS: readonly Cutoff[] = ['1', '3', '5', '10']

/** The results of a searcher on a case. Shares are between 0 and 1. */
export interface EvalReport {
  readonly searcher: string
  readonly tools: number
  readonly queries: number
  /** Per number of matches considered: the share of the relevant tools among them, averaged over the queries. */
  readonly recall: Readonly<Record<Cutoff, number>>
  /** The 95 % confidence interval of each recall. */
  readonly recallIntervals: Readonly<Record<Cutoff, Interval>>
  readonly ndcg10: number
  readonly mrr: number
  readonly p50Micros: number
  readonly p95Micros: number
  readonly indexMs: number
  readonly indexBytes: number
}

/** The result of one query. */
export interface QueryOutcome {
  readonly id: string
  readonly query: string
  readonly relevant: readonly string[]
  /** The ids found, best first. */
  readonly found: readonly string[]
  readonly recall: Readonly<Record<Cutoff, number>>
  readonly ndcg: number
  readonly reciprocalRank: number
}

export interface Measurement {
  readonly report: EvalReport
  readonly outcomes: readonly QueryOutcome[]
}

/** Measures a searcher on labelled queries, through the whole search path. */
export async function measure(
  searcher: Searcher,
  { tools, queries }: EvalCase,
  onProgress?: (done: number, total: number) => void,
): Promise<Measurement> {
  const idOf = new Map<Listing, string>()
  const groups = toGroups(tools, idOf)
  const catalogue = new CatalogueSearch(searcher)
  const bytesBefore = heapBytes()
  const indexStart = performance.now()
  catalogue.sync(groups)
  // The index is built with the first search.
  await find(catalogue, queries[0]?.query ?? 'anything')
  const indexMs = performance.now() - indexStart
  const indexBytes = Math.max(0, heapBytes() - bytesBefore)

  for (const { query } of queries.slice(0, WARM_UP)) await find(catalogue, query)
  const micros: number[] = []
  const outcomes: QueryOutcome[] = []
  for (const [done, { id, query, relevant }] of queries.entries()) {
    const start = performance.now()
    const listings = await find(catalogue, query)
    micros.push((performance.now() - start) * 1000)
    const found = listings.map((listing) => idOf.get(listing) ?? '')
    outcomes.push({ id, query, relevant, found, ...score(found, new Set(relevant)) })
    onProgress?.(done + 1, queries.length)
  }
  micros.sort((a, b) => a - b)

  const recalls = (cutoff: Cutoff) => outcomes.map(({ recall }) => recall[cutoff])
  const report = {
    searcher: searcher.name,
    tools: tools.length,
    queries: queries.length,
    recall: byCutoff((cutoff) => mean(recalls(cutoff))),
    recallIntervals: byCutoff((cutoff) => confidenceInterval(recalls(cutoff))),
    ndcg10: mean(outcomes.map(({ ndcg }) => ndcg)),
    mrr: mean(outcomes.map(({ reciprocalRank }) => reciprocalRank)),
    p50Micros: rounded(micros[Math.floor(micros.length * 0.5)] ?? 0, 1),
    p95Micros: rounded(micros[Math.floor(micros.length * 0.95)] ?? 0, 1),
    indexMs: rounded(indexMs, 1),
    indexBytes,
  }
  return { report, outcomes }
}

/** An invalid query finds nothing. */
async function find(catalogue: CatalogueSearch, query: string): Promise<Listing[]> {
  try {
    const { ranked } = await catalogue.search(query, { limit: DEPTH })
    return ranked.map(({ listing }) => listing)
  } catch (error) {
    if (error instanceof ToolcribError) return []
    throw error
  }
}

/** How many relevant tools were found, and at which ranks. */
export function score(
  found: readonly string[],
  relevant: ReadonlySet<string>,
): Pick<QueryOutcome, 'recall' | 'ndcg' | 'reciprocalRank'> {
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
    recall: byCutoff((cutoff) => hits.slice(0, Number(cutoff)).filter(Boolean).length / relevant.size),
    ndcg: gained / ideal,
    reciprocalRank: first < 0 ? 0 : 1 / (first + 1),
  }
}

function byCutoff<Value>(figure: (cutoff: Cutoff) => Value): Record<Cutoff, Value> {
  return { '1': figure('1'), '3': figure('3'), '5': figure('5'), '10': figure('10') }
}

/** Bytes in use after garbage collection, including typed arrays. */
function heapBytes(): number {
  setFlagsFromString('--expose-gc')
  const collect: unknown = runInNewContext('gc')
  if (typeof collect === 'function') collect()
  const { heapUsed, arrayBuffers } = process.memoryUsage()
  return heapUsed + arrayBuffers
}
