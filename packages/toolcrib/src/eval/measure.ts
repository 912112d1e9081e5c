import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import {
  type CatalogueFindings,
  CatalogueSearch,
  type ContextMemory,
  type Listing,
  memoryStore,
  type Searcher,
  ToolcribError,
  usageMemory,
} from '@toolcrib/core'
import { type Bin, confidenceInterval, type Interval, mean, reliabilityOf, rounded } from './figures.ts'
import { cloneKey, type EvalCase, type PastRequest, toGroups } from './load-case.ts'

/** How many matches are evaluated. */
const DEPTH = 10
/** How many matches of a query are compared with their scores. */
const JUDGED = 5
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
  /**
   * The same, but a tool counts as found if another one with the same name and description was found (ignoring case and
   * spaces): it does the same.
   */
  readonly cloneAwareRecall: Readonly<Record<Cutoff, number>>
  /** The 95 % confidence interval of each recall. */
  readonly recallIntervals: Readonly<Record<Cutoff, Interval>>
  readonly ndcg10: number
  readonly mrr: number
  /** For searchers whose scores are probabilities: how often matches with such a score are right. */
  readonly reliability?: readonly Bin[]
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
  readonly cloneAwareRecall: Readonly<Record<Cutoff, number>>
  readonly ndcg: number
  readonly reciprocalRank: number
}

export interface MeasureOptions {
  readonly onProgress?: (done: number, total: number) => void
  /** Past use to replay first; only `hybrid` learns from it. */
  readonly history?: readonly PastRequest[]
  /** Called before the size of the heap is read. Default: a full garbage collection. */
  readonly collectGarbage?: (() => void) | undefined
}

export interface Measurement {
  readonly report: EvalReport
  readonly outcomes: readonly QueryOutcome[]
}

/** Measures a searcher on labelled queries, through the whole search path. */
export async function measure(
  searcher: Searcher,
  { tools, queries }: EvalCase,
  { onProgress, history, collectGarbage = collectAll }: MeasureOptions = {},
): Promise<Measurement> {
  const idOf = new Map<Listing, string>()
  const groups = toGroups(tools, idOf)
  const catalogue = new CatalogueSearch(searcher)
  const memory = history && usageMemory({ store: memoryStore() }).under('eval')
  const bytesBefore = heapBytes(collectGarbage)
  const indexStart = performance.now()
  catalogue.sync(groups)
  // The index is built with the first search.
  await find(catalogue, queries[0]?.query ?? 'anything', memory)
  const indexMs = performance.now() - indexStart
  const indexBytes = Math.max(0, heapBytes(collectGarbage) - bytesBefore)

  if (memory) await replay(history, catalogue, idOf, memory)
  for (const { query } of queries.slice(0, WARM_UP)) await find(catalogue, query, memory)
  const cloneOf = new Map(tools.map((tool) => [tool.id, cloneKey(tool)]))
  const judged: { score: number; isRight: boolean }[] = []
  let isCalibrated = false
  const micros: number[] = []
  const outcomes: QueryOutcome[] = []
  for (const [done, { id, query, relevant }] of queries.entries()) {
    const start = performance.now()
    const { ranked, confidence } = await find(catalogue, query, memory)
    micros.push((performance.now() - start) * 1000)
    const found = ranked.map(({ listing }) => idOf.get(listing) ?? '')
    isCalibrated ||= confidence !== undefined
    for (const [at, one] of ranked.slice(0, JUDGED).entries())
      judged.push({ score: one.score, isRight: relevant.includes(found[at] ?? '') })
    const keys = (ids: readonly string[]) => ids.map((one) => cloneOf.get(one) ?? one)
    const cloneAware = score(keys(found), new Set(keys(relevant)))
    const outcome = score(found, new Set(relevant))
    outcomes.push({ id, query, relevant, found, ...outcome, cloneAwareRecall: cloneAware.recall })
    onProgress?.(done + 1, queries.length)
  }
  micros.sort((a, b) => a - b)

  const recalls = (cutoff: Cutoff) => outcomes.map(({ recall }) => recall[cutoff])
  const report = {
    searcher: searcher.name,
    tools: tools.length,
    queries: queries.length,
    recall: byCutoff((cutoff) => mean(recalls(cutoff))),
    cloneAwareRecall: byCutoff((cutoff) => mean(outcomes.map((one) => one.cloneAwareRecall[cutoff]))),
    recallIntervals: byCutoff((cutoff) => confidenceInterval(recalls(cutoff))),
    ndcg10: mean(outcomes.map(({ ndcg }) => ndcg)),
    mrr: mean(outcomes.map(({ reciprocalRank }) => reciprocalRank)),
    ...(isCalibrated ? { reliability: reliabilityOf(judged) } : {}),
    p50Micros: rounded(micros[Math.floor(micros.length * 0.5)] ?? 0, 1),
    p95Micros: rounded(micros[Math.floor(micros.length * 0.95)] ?? 0, 1),
    indexMs: rounded(indexMs, 1),
    indexBytes,
  }
  return { report, outcomes }
}

/** Remembers which tools were called for which requests, as a session does. */
async function replay(
  history: readonly PastRequest[],
  catalogue: CatalogueSearch,
  idOf: ReadonlyMap<Listing, string>,
  memory: ContextMemory,
): Promise<void> {
  const listings = new Map(Array.from(idOf, ([listing, id]) => [id, listing]))
  for (const { query, called } of history) {
    const { vector } = await find(catalogue, query, undefined)
    for (const id of called) {
      const listing = listings.get(id)
      if (vector === undefined || listing === undefined) continue
      await memory.learn({ tool: listing.name, source: sourceOf(listing), vector })
    }
  }
}

function sourceOf({ source }: Listing): string {
  return source.kind === 'mcp' ? `mcp:${source.server}` : source.kind
}

/** An invalid query finds nothing. */
async function find(
  catalogue: CatalogueSearch,
  query: string,
  memory: ContextMemory | undefined,
): Promise<Pick<CatalogueFindings, 'ranked' | 'confidence' | 'vector'>> {
  try {
    return await catalogue.search(query, { limit: DEPTH, ...(memory === undefined ? {} : { memory }) })
  } catch (error) {
    if (error instanceof ToolcribError) return { ranked: [] }
    throw error
  }
}

/** How many relevant tools were found, and at which ranks. */
export function score(
  found: readonly string[],
  relevant: ReadonlySet<string>,
): Pick<QueryOutcome, 'recall' | 'ndcg' | 'reciprocalRank'> {
  // A clone of a tool that was found counts once.
  const hits = found.map((id, at) => relevant.has(id) && found.indexOf(id) === at)
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
function heapBytes(collectGarbage: () => void): number {
  collectGarbage()
  const { heapUsed, arrayBuffers } = process.memoryUsage()
  return heapUsed + arrayBuffers
}

function collectAll(): void {
  setFlagsFromString('--expose-gc')
  const collect: unknown = runInNewContext('gc')
  if (typeof collect === 'function') collect()
}
