/**
 * What does semantic search cost? `hybrid` beside `lexical` and MiniSearch in the same run, on 10,000 and 27,000
 * tools: building the index, short queries, real requests, and requests for several things; then a second start with
 * the vectors of the first. bench/recall.ts measures what it finds. The tools are outside the repository, in
 * ../shared/data; without them a made-up catalogue is used.
 */
import { pathToFileURL } from 'node:url'
import { hybrid } from '../packages/core/src/search/hybrid.ts'
import { lexical } from '../packages/core/src/search/lexical.ts'
import { staticEmbedder } from '../packages/embedder/src/static-embedder.ts'
import type { EvalTool } from '../packages/toolcrib/src/eval/load-case.ts'
import { measureKeptVectors } from './hybrid/kept-vectors.ts'
import { catalogueOf, longQueries, realQueries, shortQueries } from './hybrid/speed-catalogue.ts'
import type { LabelledCase } from './recall/labelled-case.ts'
import { publicSets } from './recall/public-sets.ts'
import { boostedMiniSearch, miniSearch, ours, type Ranker } from './recall/rankers.ts'
import { printTable } from './report.ts'

const GOALS = {
  /** Milliseconds to index ten thousand tools. */
  buildMs: 2_000,
  /** Microseconds of a short query on ten thousand tools, and against MiniSearch. */
  shortMicros: 1_000,
  shareOfMiniSearch: 0.25,
  /** The same by words alone, against MiniSearch with the settings that its manual suggests. */
  wordsShareOfMiniSearch: 0.25,
  /** Microseconds of any query on 27,000 tools. */
  manyToolsMicros: 2_500,
}
const SMALL = 10_000
const LARGE = 27_000

export async function run({ smoke }: { smoke: boolean }): Promise<void> {
  const cases = await publicSets()
  if (cases.length === 0) console.log('hybrid: no public sets; a made-up catalogue and our own queries')
  const small = await compareSpeed(cases, smoke ? 500 : SMALL, smoke)
  await tellKeptVectors(catalogueOf(cases, smoke ? 500 : SMALL))
  // The goals apply to many tools.
  if (smoke) return
  judge('index built', small.hybrid.buildMs, GOALS.buildMs, 'ms')
  judge('3 to 5 words, p50', small.hybrid.short, GOALS.shortMicros, 'µs')
  const share = small.hybrid.short / small.MiniSearch.short
  judge("the same, share of MiniSearch's", share, GOALS.shareOfMiniSearch, '')
  const wordsShare = small.lexical.short / small['MiniSearch, boosted'].short
  judge("lexical, share of MiniSearch's, boosted", wordsShare, GOALS.wordsShareOfMiniSearch, '')
  const { hybrid: large } = await compareSpeed(cases, LARGE, smoke)
  for (const kind of ['short', 'real', 'long'] as const)
    judge(`${LARGE} tools, ${LABELS[kind]}, p50`, large[kind], GOALS.manyToolsMicros, 'µs')
}

const LABELS = { short: '3 to 5 words', real: 'real requests', long: 'several requests in one' } as const

interface Speed {
  readonly buildMs: number
  /** Medians in microseconds. */
  readonly short: number
  readonly real: number
  readonly long: number
}

type Contender = 'hybrid' | 'lexical' | 'MiniSearch' | 'MiniSearch, boosted'

async function compareSpeed(
  cases: readonly LabelledCase[],
  count: number,
  smoke: boolean,
): Promise<Record<Contender, Speed>> {
  const tools = catalogueOf(cases, count)
  const real = await realQueries(cases, smoke ? 5 : 12)
  const queries = { short: shortQueries(tools, smoke ? 50 : 300), real, long: longQueries(real) }
  const built = {
    hybrid: await build(() => ours(tools, hybrid({ embedder: staticEmbedder() }))),
    lexical: await build(() => ours(tools, lexical())),
    MiniSearch: await build(() => miniSearch(tools)),
    'MiniSearch, boosted': await build(() => boostedMiniSearch(tools)),
  }
  const speeds = await measure(built, queries)
  console.log(
    `hybrid: speed on ${tools.length} tools, top 10, medians in µs; ${queries.long.length} long requests`,
  )
  printTable(
    Object.entries(speeds).map(([name, { buildMs, short, real, long }]) => ({
      index: name,
      'built in ms': Math.round(buildMs),
      [LABELS.short]: Math.round(short),
      [LABELS.real]: Math.round(real),
      [LABELS.long]: Math.round(long),
    })),
  )
  return speeds
}

interface Built {
  readonly rank: Ranker
  readonly buildMs: number
}

async function build(open: () => Ranker): Promise<Built> {
  const start = performance.now()
  const rank = open()
  await rank('an index opens with its first search')
  return { rank, buildMs: performance.now() - start }
}

/** Passes over the queries of a kind; the first is a warm-up. Slow queries get few. */
const PASSES = { short: 5, real: 3, long: 3 } as const

/**
 * The contenders take turns, pass by pass: the speed of a machine changes from second to second, and ratios should not depend
 * on who ran when.
 */
async function measure(
  built: Readonly<Record<Contender, Built>>,
  queries: Readonly<Record<keyof typeof PASSES, readonly string[]>>,
): Promise<Record<Contender, Speed>> {
  const contenders = Object.keys(built) as Contender[]
  const speeds = Object.fromEntries(
    contenders.map((name) => [name, { buildMs: built[name].buildMs, short: 0, real: 0, long: 0 }]),
  ) as Record<Contender, { -readonly [Key in keyof Speed]: Speed[Key] }>
  for (const kind of ['short', 'real', 'long'] as const) {
    const times = new Map(contenders.map((name): [Contender, number[]] => [name, []]))
    for (let pass = 0; pass < PASSES[kind]; pass++) {
      for (const name of contenders) {
        const passed = await timesOf(built[name].rank, queries[kind])
        if (pass > 0) times.get(name)?.push(...passed)
      }
    }
    for (const name of contenders) speeds[name][kind] = median(times.get(name) ?? [])
  }
  return speeds
}

/** In microseconds. */
async function timesOf(rank: Ranker, queries: readonly string[]): Promise<number[]> {
  const times: number[] = []
  for (const query of queries) {
    const start = performance.now()
    await rank(query)
    times.push((performance.now() - start) * 1000)
  }
  return times
}

function median(times: readonly number[]): number {
  return times.toSorted((a, b) => a - b)[Math.floor(times.length / 2)] ?? Number.NaN
}

function judge(what: string, value: number, goal: number, unit: string): void {
  const told = (figure: number) => `${figure < 10 ? figure.toFixed(2) : Math.round(figure)} ${unit}`.trim()
  console.log(`  ${what}: ${told(value)} (goal: at most ${told(goal)})${value <= goal ? '' : '  MISSED'}`)
}

async function tellKeptVectors(tools: readonly EvalTool[]): Promise<void> {
  const { embeddedMs, importedMs, bytes, embeddedAgain } = await measureKeptVectors(tools)
  console.log(
    `hybrid: vectors of ${tools.length} tools embedded in ${embeddedMs.toFixed(0)} ms, loaded in ${importedMs.toFixed(0)} ms ` +
      `(${(bytes / 1e6).toFixed(1)} MB, ${embeddedAgain} embedded again)`,
  )
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href)
  await run({ smoke: process.argv.includes('--smoke') })
