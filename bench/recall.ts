/**
 * Does search find the right tool? Recall@1, 3, 5 and 10 and nDCG@10 of our searchers beside MiniSearch, with its
 * defaults and boosted, in the same run; on the tools of published MCP servers, listed at run time, with our own
 * queries, and on public labelled sets.
 *
 * The embedder of `hybrid` was trained on a part of the public sets' queries (models/README.md), so it has three rows
 * there:
 * - `hybrid`: every query, four in five of which it was trained on;
 * - `kept aside`: only the held-out queries;
 * - `left out`: every query, with an embedder trained on neither the queries nor the tools, as on a user's own
 *   catalogue. Create it with `npm run train -- --without <set> --out .bench/without-<set>.bin`; skipped without it.
 * The embedder never saw our own queries; it may have seen names and descriptions of the harvested tools.
 *
 * `--plot` draws docs/recall.svg from the result.
 */
import { writeFile } from 'node:fs/promises'
import { pathToFileURL } from 'node:url'
import { hybrid } from '../packages/core/src/search/hybrid.ts'
import { lexical } from '../packages/core/src/search/lexical.ts'
import { staticEmbedder } from '../packages/embedder/src/static-embedder.ts'
import { mean } from '../packages/toolcrib/src/eval/figures.ts'
import { measureAdaptive } from './recall/adaptive.ts'
import { measureAttacks } from './recall/attacked.ts'
import { harvestedCase, UNANSWERABLE } from './recall/harvested-case.ts'
import type { LabelledCase } from './recall/labelled-case.ts'
import { type Figures, keptAside, measureCase } from './recall/measure-case.ts'
import { ownCases } from './recall/own-cases.ts'
import { PUBLIC_DATA, publicSets } from './recall/public-sets.ts'
import { type CaseResult, recallPlot } from './recall/recall-plot.ts'
import { doubted } from './recall/unanswerable.ts'
import { printTable } from './report.ts'

const PLOT = 'docs/recall.svg'
const SMOKE_SETS = 2
/** Trying out attacks takes minutes, so only sets that the embedder was not trained on are attacked so. */
const ADAPTIVE_SETS: readonly string[] = ['workshop', 'dumps']
const ATTACKING_SERVERS = [1, 3, 6]
const SMOKE_QUERIES = 40

export async function run({ smoke, plot = false }: { smoke: boolean; plot?: boolean }): Promise<void> {
  const results: CaseResult[] = []
  const cases = await loadCases(smoke)
  for (const labelled of cases) {
    const figures = await measureCase(labelled)
    results.push({ name: labelled.name, figures })
    console.log(`recall: ${labelled.name}, ${labelled.tools.length} tools, in %`)
    printTable(figures.filter(isTold).map(toRow))
  }
  printSummary(results)
  for (const labelled of cases) await tellAttacks(labelled)
  for (const labelled of cases.filter(({ name }) => ADAPTIVE_SETS.includes(name)))
    await tellAdaptiveAttacks(labelled)
  if (!plot) return
  await writeFile(PLOT, recallPlot(results))
  console.log(`recall: drawn in ${PLOT}`)
}

async function loadCases(smoke: boolean): Promise<LabelledCase[]> {
  const harvested = await harvestedCase({ atHandOnly: smoke })
  if (harvested === undefined) console.log('recall: no published server could be asked')
  else await tellDoubts(harvested)
  const sets = await publicSets()
  if (sets.length === 0)
    console.log(`recall: no public labelled sets at ${PUBLIC_DATA}; only our own queries`)
  const cases = [...(harvested ? [harvested] : []), ...(await ownCases()), ...sets]
  if (!smoke) return cases
  return cases
    .slice(0, 1 + SMOKE_SETS)
    .filter(({ tools }) => tools.length < 1_000)
    .map((labelled) => ({ ...labelled, queries: labelled.queries.slice(0, SMOKE_QUERIES) }))
}

async function tellDoubts({ tools }: LabelledCase): Promise<void> {
  const count = await doubted(tools, hybrid({ embedder: staticEmbedder() }), UNANSWERABLE)
  console.log(
    `recall: of ${UNANSWERABLE.length} requests that no harvested tool serves, hybrid finds nothing for or doubts ${count}`,
  )
}

/** Adds one unapproved server with many tools to those of the set. */
async function tellAttacks(labelled: LabelledCase): Promise<void> {
  const figures = await measureAttacks(labelled, () => hybrid({ embedder: staticEmbedder() }))
  console.log(`recall: ${labelled.name} with an attacker, hybrid, % of the queries`)
  printTable(
    figures.map(({ attack, found, first, crowded }) => ({
      attack,
      'found in 5': percent(found),
      'attacker first': percent(first),
      'attacker has 3 of 5 or more': percent(crowded),
    })),
  )
}

/** Adds a few servers whose tools were tried out against the search, and judges them by requests that they have not seen. */
async function tellAdaptiveAttacks(labelled: LabelledCase): Promise<void> {
  const searchers = { hybrid: () => hybrid({ embedder: staticEmbedder() }), lexical }
  const rows: Record<string, string | number>[] = []
  for (const [searcher, makeSearcher] of Object.entries(searchers))
    for (const honest of ['nobody approved', 'approved'] as const)
      for (const servers of ATTACKING_SERVERS) {
        const { clean, attacked, first } = await measureAdaptive(labelled, makeSearcher, { honest, servers })
        rows.push({
          searcher,
          'honest servers': honest,
          'attacking servers': servers,
          'found in 5, without': percent(clean),
          'found in 5': percent(attacked),
          'attacker first': percent(first),
        })
      }
  console.log(`recall: ${labelled.name} with an attacker that adapts, % of unseen queries`)
  printTable(rows)
}

/** Held-out queries matter only to `hybrid`: the other searchers were not trained. */
function isTold({ searcher }: Figures): boolean {
  return searcher.startsWith('hybrid') || !searcher.endsWith(keptAside(''))
}

function toRow({ searcher, queries, recall, recall5Interval, ndcg10 }: Figures) {
  return {
    searcher,
    queries,
    'R@1': percent(recall['1']),
    'R@3': percent(recall['3']),
    'R@5': percent(recall['5']),
    '95 % of R@5': recall5Interval.map(percent).join('–'),
    'R@10': percent(recall['10']),
    'nDCG@10': percent(ndcg10),
  }
}

function printSummary(results: readonly CaseResult[]): void {
  const told = results.flatMap(({ figures }) => figures.filter(isTold))
  const names = [...new Set(told.map(({ searcher }) => searcher))]
  const recall5 = ({ figures }: CaseResult, name: string) =>
    figures.find(({ searcher }) => searcher === name)?.recall['5']
  const toCells = (cell: (name: string) => number | undefined) =>
    Object.fromEntries(names.map((name) => [name, percent(cell(name))]))
  const meanOf = (name: string) => {
    const shares = results.flatMap((result) => recall5(result, name) ?? [])
    // Means over different sets are not comparable.
    return shares.length === results.length ? mean(shares) : undefined
  }
  console.log('recall: R@5 in %')
  printTable([
    ...results.map((result) => ({ set: result.name, ...toCells((name) => recall5(result, name)) })),
    { set: 'mean', ...toCells(meanOf) },
  ])
}

function percent(share: number | undefined): string {
  return share === undefined ? '' : (100 * share).toFixed(1)
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href)
  await run({ smoke: process.argv.includes('--smoke'), plot: process.argv.includes('--plot') })
