/**
 * Does search find the right tool? Recall@1, recall@5 and nDCG@10 of our searchers on labelled sets, beside MiniSearch
 * measured in the same run: as it comes, and boosted with stop words, stemming and field boosts.
 *
 * The sets lie outside the repository, in ../shared/data; without them a small catalogue of our own is used, which
 * shows that everything runs and proves little else.
 */
import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath, pathToFileURL } from 'node:url'
import MiniSearch from 'minisearch'
import { CatalogueSearch } from '../src/search/catalogue-search.ts'
import { lexical } from '../src/search/lexical.ts'
import { parameterTexts } from '../src/search/parameter-texts.ts'
import type { Searcher } from '../src/search/searcher.ts'
import { stem } from '../src/search/stem.ts'
import { STOP_WORDS } from '../src/search/stop-words.ts'
import { weighted } from '../src/search/weighted.ts'
import type { JsonSchema, Listing } from '../src/tool.ts'

const DATA = fileURLToPath(new URL('../../shared/data/', import.meta.url))

const SETS: readonly LabelledSet[] = [
  { name: 'azure-mcp', tools: 'azure-mcp/tools', queries: 'azure-mcp/queries' },
  {
    name: 'azure-mcp + catalog-toucan',
    tools: 'azure-mcp/tools',
    queries: 'azure-mcp/queries',
    distractors: 'catalog-toucan/tools',
  },
  { name: 'livemcpbench dev', tools: 'livemcpbench/tools', queries: 'livemcpbench/dev' },
  { name: 'livemcpbench agent.dev', tools: 'livemcpbench/tools', queries: 'livemcpbench/agent.dev' },
  { name: 'metatool dev', tools: 'metatool/tools', queries: 'metatool/dev' },
  { name: 'metatool multi', tools: 'metatool/tools', queries: 'metatool/queries.multi' },
  { name: 'toolbench dev', tools: 'toolbench/tools', queries: 'toolbench/dev' },
  { name: 'bfcl dev', tools: 'bfcl/tools', queries: 'bfcl/dev' },
]

const SMOKE_QUERIES = 40
const DEPTH = 10

/** Gives the ids of the best tools for a query. */
type Ranker = (query: string) => string[] | Promise<string[]>

const RANKERS: Readonly<Record<string, (tools: readonly LabelledTool[]) => Ranker>> = {
  lexical: (tools) => ours(tools, lexical()),
  weighted: (tools) => ours(tools, weighted()),
  MiniSearch: (tools) => miniSearch(tools),
  boosted: (tools) => boostedMiniSearch(tools),
}

export async function run({ smoke }: { smoke: boolean }): Promise<void> {
  const cases = loadCases(smoke)
  const columns = Object.keys(RANKERS)
  console.log('recall: R@1 / R@5 / nDCG@10 in %')
  console.log(`  ${'set'.padEnd(28)}${columns.map((column) => column.padStart(18)).join('')}`)
  const recallAt5: Record<string, number[]> = {}
  for (const { name, tools, queries } of cases) {
    const cells: string[] = []
    for (const [column, makeRanker] of Object.entries(RANKERS)) {
      const { r1, r5, ndcg } = await measure(makeRanker(tools), queries)
      cells.push([r1, r5, ndcg].map((share) => (100 * share).toFixed(1)).join('/'))
      recallAt5[column] = [...(recallAt5[column] ?? []), 100 * r5]
    }
    console.log(`  ${name.padEnd(28)}${cells.map((cell) => cell.padStart(18)).join('')}`)
  }
  const means = columns.map((column) => mean(recallAt5[column] ?? []).toFixed(2))
  console.log(`  ${'R@5, mean of the sets'.padEnd(28)}${means.map((cell) => cell.padStart(18)).join('')}`)
}

interface LabelledSet {
  readonly name: string
  readonly tools: string
  readonly queries: string
  readonly distractors?: string
}

interface LabelledTool {
  readonly id: string
  readonly server?: string
  readonly name: string
  readonly description: string
  readonly inputSchema: JsonSchema
}

interface LabelledQuery {
  readonly query: string
  readonly relevant: readonly string[]
}

interface Case {
  readonly name: string
  readonly tools: readonly LabelledTool[]
  readonly queries: readonly LabelledQuery[]
}

function loadCases(smoke: boolean): Case[] {
  if (!existsSync(DATA)) {
    console.log(`recall: no labelled sets at ${DATA}; using a small catalogue of our own instead`)
    return [OWN]
  }
  const sets = smoke ? SETS.filter(({ distractors }) => distractors === undefined).slice(0, 2) : SETS
  return sets.map((set) => {
    const tools = readLines<LabelledTool>(set.tools)
    const queries = readLines<LabelledQuery>(set.queries)
    if (set.distractors !== undefined) {
      const relevant = new Set(queries.flatMap((query) => query.relevant))
      const taken = new Set(tools.filter(({ id }) => relevant.has(id)).map(({ name }) => name))
      const distractors = readLines<LabelledTool>(set.distractors).filter(({ name }) => !taken.has(name))
      tools.push(...distractors.map((tool) => ({ ...tool, id: `distractor:${tool.id}` })))
    }
    return { name: set.name, tools, queries: smoke ? queries.slice(0, SMOKE_QUERIES) : queries }
  })
}

function readLines<Line>(name: string): Line[] {
  const lines = readFileSync(`${DATA}${name}.jsonl`, 'utf8').trim().split('\n')
  return lines.map((line): Line => JSON.parse(line))
}

function ours(tools: readonly LabelledTool[], searcher: Searcher): Ranker {
  const idOf = new Map<Listing, string>()
  const groups = new Map<string, Listing[]>()
  for (const { id, server, name, description, inputSchema } of tools) {
    const listing: Listing = {
      name: server === undefined ? name : `mcp__${server}__${name}`,
      ownName: name,
      description,
      inputSchema,
      source: server === undefined ? { kind: 'builtin' } : { kind: 'mcp', server },
      trust: 0,
    }
    idOf.set(listing, id)
    const group = groups.get(server ?? '')
    if (group === undefined) groups.set(server ?? '', [listing])
    else group.push(listing)
  }
  const catalogue = new CatalogueSearch(searcher)
  catalogue.sync(groups)
  return async (query) => {
    const { ranked } = await catalogue.search(query, { limit: DEPTH })
    return ranked.map(({ listing }) => idOf.get(listing) ?? '')
  }
}

const FIELDS = ['name', 'description', 'parameterNames', 'parameterTexts', 'server']

function miniSearch(tools: readonly LabelledTool[]): Ranker {
  const index = new MiniSearch({ fields: FIELDS })
  index.addAll(tools.map(toDocument))
  return (query) =>
    index
      .search(query)
      .slice(0, DEPTH)
      .map(({ id }) => String(id))
}

function boostedMiniSearch(tools: readonly LabelledTool[]): Ranker {
  const processTerm = (term: string): string | null => {
    const word = term.toLowerCase()
    return STOP_WORDS.has(word) ? null : stem(word)
  }
  const index = new MiniSearch({ fields: FIELDS, processTerm })
  index.addAll(tools.map(toDocument))
  const boost = { name: 3, description: 1.5, server: 1.5 }
  return (query) =>
    index
      .search(query, { boost })
      .slice(0, DEPTH)
      .map(({ id }) => String(id))
}

function toDocument({ id, server, name, description, inputSchema }: LabelledTool): Record<string, string> {
  const { names, texts } = parameterTexts(inputSchema)
  return {
    id,
    // Its tokenizer does not part camelCase.
    name: name.replace(/(\p{Ll})(\p{Lu})/gu, '$1 $2'),
    description,
    parameterNames: names.join(' '),
    parameterTexts: texts.join(' '),
    server: server ?? '',
  }
}

async function measure(
  ranker: Ranker,
  queries: readonly LabelledQuery[],
): Promise<{ r1: number; r5: number; ndcg: number }> {
  const figures = { r1: [] as number[], r5: [] as number[], ndcg: [] as number[] }
  for (const { query, relevant } of queries) {
    const wanted = new Set(relevant)
    const hits = (await ranker(query)).map((id) => wanted.has(id))
    const share = (depth: number): number => hits.slice(0, depth).filter(Boolean).length / wanted.size
    figures.r1.push(share(1))
    figures.r5.push(share(5))
    const gains = hits.map((hit, rank) => (hit ? 1 / Math.log2(rank + 2) : 0))
    const ideal = Array.from({ length: Math.min(wanted.size, DEPTH) }, (_, rank) => 1 / Math.log2(rank + 2))
    figures.ndcg.push(sum(gains) / sum(ideal))
  }
  return { r1: mean(figures.r1), r5: mean(figures.r5), ndcg: mean(figures.ndcg) }
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0)
}

function mean(values: readonly number[]): number {
  return sum(values) / values.length
}

const OWN: Case = {
  name: 'own',
  tools: [
    own('weather', 'get_forecast', 'Weather forecast for a place over the coming days'),
    own('weather', 'get_alerts', 'Storm and flood warnings of a region'),
    own('mail', 'send_message', 'Send an e-mail with attachments'),
    own('mail', 'search_messages', 'Find e-mails by sender, subject or date'),
    own('files', 'read_file', 'Return the content of a file'),
    own('files', 'move_file', 'Rename a file or move it to another folder'),
    own('github', 'create_issue', 'Open a new issue in a repository'),
    own('github', 'list_pull_requests', 'Pull requests of a repository, newest first'),
    own('calendar', 'create_event', 'Put a meeting into the calendar'),
    own('calendar', 'find_free_time', 'When all participants are free'),
    own('maps', 'plan_route', 'Directions between two places by car, bicycle or train'),
    own('money', 'convert_currency', 'Convert an amount between currencies at the rate of the day'),
  ],
  queries: [
    { query: 'Will it rain in Oslo tomorrow? I need the forecast.', relevant: ['weather/get_forecast'] },
    { query: 'is there a storm warning', relevant: ['weather/get_alerts'] },
    { query: 'email my landlord', relevant: ['mail/send_message'] },
    { query: 'find the mail that Ann sent in March', relevant: ['mail/search_messages'] },
    { query: 'show me what is in notes.txt', relevant: ['files/read_file'] },
    { query: 'renaming files', relevant: ['files/move_file'] },
    { query: 'report a bug as an issue', relevant: ['github/create_issue'] },
    { query: 'open pull requests', relevant: ['github/list_pull_requests'] },
    {
      query: 'schedule a meeting when everybody is free',
      relevant: ['calendar/create_event', 'calendar/find_free_time'],
    },
    { query: 'how do I get there by bicycle', relevant: ['maps/plan_route'] },
    { query: '100 dollars in euros, current rate', relevant: ['money/convert_currency'] },
  ],
}

function own(server: string, name: string, description: string): LabelledTool {
  return { id: `${server}/${name}`, server, name, description, inputSchema: { type: 'object' } }
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href)
  await run({ smoke: process.argv.includes('--smoke') })
