/**
 * What does meaning add to words, and what does it cost? Recall of `hybrid` beside `lexical`, `semantic` and a boosted
 * MiniSearch on labelled sets; then speed on ten thousand and 27,000 tools, MiniSearch in the same run.
 *
 * Three figures a set, since the embedder learned from a part of their queries (models/README.md):
 * - `all`: every query, four in five of which the embedder has seen;
 * - `kept aside`: those it has not;
 * - `left out`: every query, with an embedder that saw neither its queries nor its tools, as on anyone's own catalogue.
 *   Made by `npm run train -- --without <set> --out .bench/without-<set>.bin`; skipped where there is none.
 *
 * The sets lie outside the repository, in ../shared/data; without them only the speed of a made-up catalogue is told.
 */
import { existsSync } from 'node:fs'
import { fileURLToPath, pathToFileURL } from 'node:url'
import MiniSearch from 'minisearch'
import { type DataSet, type LabelledQuery, readDataSets } from '../scripts/train/datasets.ts'
import { evaluate, type Quality } from '../scripts/train/evaluate.ts'
import { staticEmbedder } from '../src/embedders/static-embedder.ts'
import { CatalogueSearch } from '../src/search/catalogue-search.ts'
import { hybrid } from '../src/search/hybrid.ts'
import { lexical } from '../src/search/lexical.ts'
import { parameterTexts } from '../src/search/parameter-texts.ts'
import type { Searcher } from '../src/search/searcher.ts'
import { semantic } from '../src/search/semantic.ts'
import { stem } from '../src/search/stem.ts'
import { STOP_WORDS } from '../src/search/stop-words.ts'
import { type Listing, sourceKey } from '../src/tool.ts'
import { printTable } from './report.ts'

const DATA = fileURLToPath(new URL('../../shared/data/', import.meta.url))
const DISTRACTORS = 'catalog-toucan'
const DEPTH = 10
const SMOKE_QUERIES = 40

export async function run({ smoke }: { smoke: boolean }): Promise<void> {
  const sets = existsSync(DATA) ? readDataSets(DATA) : []
  if (sets.length === 0) console.log(`hybrid: no labelled sets at ${DATA}; only speed is measured`)
  else await compareRecall(smoke ? sets.map(shortened) : sets)
  for (const count of smoke ? [500] : [10_000, 27_000]) await compareSpeed(sets, count, smoke)
}

async function compareRecall(sets: readonly DataSet[]): Promise<void> {
  const rows: Record<string, string>[] = []
  const distractors = sets.find(({ name }) => name === DISTRACTORS)?.listings ?? []
  const azure = sets.find(({ name }) => name === 'azure-mcp')
  const crowded = azure && {
    ...azure,
    name: 'azure-mcp + toucan',
    listings: [...azure.listings, ...distractors],
  }
  for (const set of [...sets, ...(crowded ? [crowded] : [])]) {
    if (set.queries.length === 0) continue
    const embedder = staticEmbedder()
    const ranked = {
      MiniSearch: await askAll(set, miniSearch(set.listings)),
      lexical: await askAll(set, ours(set.listings, lexical())),
      semantic: await askAll(set, ours(set.listings, semantic({ embedder }))),
      hybrid: await askAll(set, ours(set.listings, hybrid({ embedder }))),
    }
    const leftOutPath = `.bench/without-${set.name.replace(' + toucan', '')}.bin`
    const unseen = existsSync(leftOutPath) ? staticEmbedder({ path: leftOutPath }) : undefined
    const unseenAnswers = unseen && (await askAll(set, ours(set.listings, hybrid({ embedder: unseen }))))
    for (const file of new Set(set.queries.map((query) => query.file))) {
      const figures = (answers: Answers, isAsked = everyQuery): string =>
        told(
          evaluate([set], (_, queries) => queries.map((query) => answers.get(query) ?? []), isAsked).get(
            `${set.name} ${file}`,
          ),
        )
      rows.push({
        set: `${set.name} ${file}`,
        'boosted MiniSearch': figures(ranked.MiniSearch),
        lexical: figures(ranked.lexical),
        'semantic, kept aside': figures(ranked.semantic, (query) => query.isHeldOut),
        'hybrid, all': figures(ranked.hybrid),
        'hybrid, kept aside': figures(ranked.hybrid, (query) => query.isHeldOut),
        'hybrid, left out': unseenAnswers ? figures(unseenAnswers) : '',
      })
    }
  }
  console.log('hybrid: R@1 / R@5 / nDCG@10 in %')
  printTable(rows)
}

type Ranker = (query: string) => readonly Listing[] | Promise<readonly Listing[]>
/** By query: the places of the tools found, in the set's listings. */
type Answers = ReadonlyMap<LabelledQuery, readonly number[]>

async function askAll(set: DataSet, rank: Ranker): Promise<Answers> {
  const places = new Map(set.listings.map((listing, place) => [listing, place]))
  const answers = new Map<LabelledQuery, number[]>()
  for (const query of set.queries)
    answers.set(
      query,
      (await rank(query.text)).map((listing) => places.get(listing) ?? -1),
    )
  return answers
}

function ours(listings: readonly Listing[], searcher: Searcher): Ranker {
  const catalogue = new CatalogueSearch(searcher)
  catalogue.sync(grouped(listings))
  return async (query) => {
    const { ranked } = await catalogue.search(query, { limit: DEPTH })
    return ranked.map(({ listing }) => listing)
  }
}

function keyOf({ source }: Listing): string {
  return sourceKey(source)
}

function grouped(listings: readonly Listing[]): Map<string, Listing[]> {
  const groups = new Map<string, Listing[]>()
  for (const listing of listings) {
    const group = groups.get(keyOf(listing))
    if (group === undefined) groups.set(keyOf(listing), [listing])
    else group.push(listing)
  }
  return groups
}

const FIELDS = ['name', 'description', 'names', 'texts', 'server']

/** MiniSearch with stop words, stemming and boosts. */
function miniSearch(listings: readonly Listing[]): Ranker {
  const processTerm = (term: string): string | null => {
    const word = term.toLowerCase()
    return STOP_WORDS.has(word) ? null : stem(word)
  }
  const index = new MiniSearch({ fields: FIELDS, processTerm })
  index.addAll(listings.map(toDocument))
  const boost = { name: 3, description: 1.5, server: 1.5 }
  return (query) =>
    index
      .search(query, { boost })
      .slice(0, DEPTH)
      .flatMap(({ id }) => listings[id] ?? [])
}

/** MiniSearch as it comes. */
function plainMiniSearch(listings: readonly Listing[]): Ranker {
  const index = new MiniSearch({ fields: FIELDS })
  index.addAll(listings.map(toDocument))
  return (query) =>
    index
      .search(query)
      .slice(0, DEPTH)
      .flatMap(({ id }) => listings[id] ?? [])
}

function toDocument(listing: Listing, id: number): Record<string, string | number> {
  const { names, texts } = parameterTexts(listing.inputSchema)
  return {
    id,
    // Its tokenizer does not part camelCase.
    name: listing.ownName.replace(/(\p{Ll})(\p{Lu})/gu, '$1 $2'),
    description: listing.description,
    names: names.join(' '),
    texts: texts.join(' '),
    server: listing.source.kind === 'mcp' ? listing.source.server : '',
  }
}

function told(quality: Quality | undefined): string {
  if (quality === undefined) return ''
  return [quality.recall1, quality.recall5, quality.ndcg10].map((figure) => figure.toFixed(1)).join('/')
}

function everyQuery(_query: LabelledQuery): boolean {
  return true
}

function shortened(set: DataSet): DataSet {
  return { ...set, listings: set.listings.slice(0, 2_000), queries: set.queries.slice(0, SMOKE_QUERIES) }
}

async function compareSpeed(sets: readonly DataSet[], count: number, smoke: boolean): Promise<void> {
  const listings = catalogueOf(sets, count)
  const short = shortQueries(listings, smoke ? 50 : 500)
  const real = sets.flatMap(({ queries }) => spread(queries, smoke ? 10 : 100)).map(({ text }) => text)
  const rows: Record<string, string>[] = []
  const embedder = staticEmbedder()
  const contenders = {
    hybrid: () => ours(listings, hybrid({ embedder })),
    lexical: () => ours(listings, lexical()),
    MiniSearch: () => plainMiniSearch(listings),
    'boosted MiniSearch': () => miniSearch(listings),
  }
  for (const [name, build] of Object.entries(contenders)) {
    const start = performance.now()
    const rank = build()
    await rank('an index opens with its first search')
    const buildMs = performance.now() - start
    const [shortTimes, realTimes] = [await timed(rank, short), await timed(rank, real)]
    rows.push({
      index: name,
      'built in': `${buildMs.toFixed(0)} ms`,
      '3 to 5 words, p50': micros(shortTimes, 0.5),
      p95: micros(shortTimes, 0.95),
      'real requests, p50': micros(realTimes, 0.5),
      'p95 ': micros(realTimes, 0.95),
    })
  }
  console.log(`hybrid: speed on ${listings.length} tools, top ${DEPTH}`)
  printTable(rows)
}

/** Real tools as far as they go, then the same again under other names. */
function catalogueOf(sets: readonly DataSet[], count: number): Listing[] {
  const real = sets.flatMap(({ listings }) => listings)
  const base = real.length > 0 ? real : madeUp()
  return Array.from({ length: count }, (_, at) => {
    const listing = base[at % base.length] as Listing
    const turn = Math.floor(at / base.length)
    return turn === 0
      ? listing
      : { ...listing, name: `${listing.name}_${turn}`, source: { kind: 'plugin', plugin: `copy${turn}` } }
  })
}

function madeUp(): Listing[] {
  const verbs = ['list', 'get', 'create', 'update', 'delete', 'search', 'export', 'share', 'archive', 'count']
  const things = [
    'invoice',
    'customer',
    'ticket',
    'message',
    'file',
    'event',
    'order',
    'photo',
    'build',
    'note',
  ]
  return verbs.flatMap((verb) =>
    things.map((thing) => ({
      name: `mcp__desk__${verb}_${thing}`,
      ownName: `${verb}_${thing}`,
      description: `Lets you ${verb} a ${thing} of your workspace, by its identifier or by name`,
      inputSchema: { type: 'object' },
      source: { kind: 'mcp' as const, server: 'desk' },
      trust: 0,
    })),
  )
}

/** Words picked from a tool's own description, so that every query finds something. */
function shortQueries(listings: readonly Listing[], count: number): string[] {
  return spread(listings, 4 * count)
    .flatMap(({ description }, at) => {
      const words = description.match(/[a-z]{3,}/gi) ?? []
      if (words.length < 8) return []
      const length = 3 + (at % 3)
      return [Array.from({ length }, (_, place) => words[(place * 7 + at) % words.length]).join(' ')]
    })
    .slice(0, count)
}

function spread<Item>(items: readonly Item[], count: number): Item[] {
  const step = Math.max(1, items.length / count)
  return Array.from(
    { length: Math.min(count, items.length) },
    (_, at) => items[Math.floor(at * step)] as Item,
  )
}

/** Sorted times in microseconds. The first pass warms up. */
async function timed(rank: Ranker, queries: readonly string[]): Promise<number[]> {
  let times: number[] = []
  for (let pass = 0; pass < 2; pass++) {
    times = []
    for (const query of queries) {
      const start = performance.now()
      await rank(query)
      times.push((performance.now() - start) * 1000)
    }
  }
  return times.sort((a, b) => a - b)
}

function micros(times: readonly number[], share: number): string {
  return times.length === 0 ? '' : `${(times[Math.floor(times.length * share)] ?? 0).toFixed(0)} µs`
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href)
  await run({ smoke: process.argv.includes('--smoke') })
