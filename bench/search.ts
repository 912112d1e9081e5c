/**
 * How fast is search, and what does its index cost? 10,000 real tools, queries of three to five words, the top five:
 * our lexical index and the whole search path around it, beside MiniSearch and Orama in the same run. The tools are
 * outside the repository, in ../shared/data; without them a catalogue of the same size is generated.
 */

import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { create, insertMultiple, search as searchOrama } from '@orama/orama'
import MiniSearch from 'minisearch'
import { CatalogueSearch } from '../packages/core/src/search/catalogue-search.ts'
import { parameterTexts } from '../packages/core/src/search/lexical/listing-terms.ts'
import { lexical } from '../packages/core/src/search/lexical.ts'
import { parseQuery } from '../packages/core/src/search/query/query.ts'
import { acceptEvery } from '../packages/core/src/search/searcher.ts'
import type { JsonSchema, Listing } from '../packages/core/src/tool.ts'

const CATALOGUE = fileURLToPath(new URL('../../shared/data/catalog-toucan/tools.jsonl', import.meta.url))
const LIMIT = 5

export async function run({ smoke }: { smoke: boolean }): Promise<void> {
  const tools = loadTools(smoke ? 500 : 10_000)
  const queries = makeQueries(tools, smoke ? 50 : 1_000)
  const groups = groupByServer(tools)
  const rows = [
    await measureLexical(groups, queries),
    await measureCatalogue(groups, queries),
    await measureMiniSearch(tools, queries),
    await measureOrama(tools, queries),
  ]
  const reference = rows[2]
  console.log(`search: ${tools.length} tools, ${queries.length} queries of 3 to 5 words, top ${LIMIT}`)
  console.log(
    `  ${'index'.padEnd(16)}${['p50', 'p95', 'build', 'memory'].map((head) => head.padStart(12)).join('')}`,
  )
  for (const { name, p50, p95, buildMs, bytes } of rows) {
    const cells = [micros(p50), micros(p95), `${buildMs.toFixed(0)} ms`, `${(bytes / 1e6).toFixed(1)} MB`]
    console.log(`  ${name.padEnd(16)}${cells.map((cell) => cell.padStart(12)).join('')}`)
  }
  for (const row of rows.slice(0, 2)) {
    if (reference === undefined) continue
    console.log(
      `  ${row.name} against MiniSearch: ${(reference.p50 / row.p50).toFixed(0)} times as fast, ` +
        `${percent(row.bytes / reference.bytes)} of the memory, ${percent(row.buildMs / reference.buildMs)} of the build`,
    )
  }
  const { p50, p95 } = measureUpdates(groups)
  const share = (took: number): string => percent(took / 1000 / (rows[0]?.buildMs ?? 1))
  console.log(
    `  replacing one server's tools: p50 ${micros(p50)}, p95 ${micros(p95)}: ${share(p50)} and ${share(p95)} of a build`,
  )
}

interface RawTool {
  readonly server: string
  readonly name: string
  readonly description: string
  readonly inputSchema: JsonSchema
}

interface Row {
  readonly name: string
  /** Microseconds. */
  readonly p50: number
  readonly p95: number
  readonly buildMs: number
  readonly bytes: number
}

function loadTools(count: number): RawTool[] {
  if (existsSync(CATALOGUE)) {
    const lines = readFileSync(CATALOGUE, 'utf8').split('\n', count)
    return lines.map((line): RawTool => JSON.parse(line))
  }
  console.log(`search: no catalogue at ${CATALOGUE}; using a generated one`)
  return generateTools(count)
}

/** Tools with invented words, common ones far more often than rare ones, as in real texts. */
function generateTools(count: number): RawTool[] {
  const random = seeded(11)
  const syllables = ['ba', 'do', 'ki', 'lem', 'nor', 'pa', 'ra', 'sut', 'ti', 'vel']
  const syllable = (): string => syllables[Math.floor(random() * syllables.length)] ?? ''
  const vocabulary = Array.from({ length: 8_000 }, () => syllable() + syllable() + syllable() + syllable())
  const word = (): string => vocabulary[Math.floor(random() ** 3 * vocabulary.length)] ?? ''
  const words = (length: number): string => Array.from({ length }, word).join(' ')
  return Array.from({ length: count }, (_, at) => ({
    server: `server${at >> 3}`,
    name: words(3).replaceAll(' ', '_'),
    description: words(12 + Math.floor(random() * 30)),
    inputSchema: { type: 'object', properties: { [word()]: { description: words(6) }, [word()]: {} } },
  }))
}

/** Words picked from a tool's own description, so that every query finds something. */
function makeQueries(tools: readonly RawTool[], count: number): string[] {
  const random = seeded(7)
  const queries: string[] = []
  while (queries.length < count) {
    const tool = tools[Math.floor(random() * tools.length)]
    const words = tool?.description.match(/[a-z]{3,}/gi) ?? []
    if (words.length < 8) continue
    const length = 3 + Math.floor(random() * 3)
    queries.push(Array.from({ length }, () => words[Math.floor(random() * words.length)]).join(' '))
  }
  return queries
}

function seeded(seed: number): () => number {
  let state = seed
  return () => {
    state = (Math.imul(state, 1103515245) + 12345) & 0x7fffffff
    return state / 0x7fffffff
  }
}

function groupByServer(tools: readonly RawTool[]): Map<string, Listing[]> {
  const groups = new Map<string, Listing[]>()
  for (const { server, name, description, inputSchema } of tools) {
    const source = { kind: 'mcp', server } as const
    const listing = {
      name: `mcp__${server}__${name}`,
      ownName: name,
      description,
      inputSchema,
      source,
      trust: 0,
    }
    const group = groups.get(`mcp:${server}`)
    if (group === undefined) groups.set(`mcp:${server}`, [listing])
    else group.push(listing)
  }
  return groups
}

async function measureLexical(
  groups: ReadonlyMap<string, Listing[]>,
  queries: readonly string[],
): Promise<Row> {
  const parsed = queries.map((query) => parseQuery(query))
  return measure('lexical', parsed, async () => {
    const index = lexical().open()
    for (const [source, listings] of groups) index.update(source, listings)
    return (query) => index.rank(query, { limit: LIMIT, accepts: acceptEvery })
  })
}

async function measureCatalogue(
  groups: ReadonlyMap<string, Listing[]>,
  queries: readonly string[],
): Promise<Row> {
  return measure('whole path', queries, async () => {
    const catalogue = new CatalogueSearch(lexical())
    catalogue.sync(groups)
    await catalogue.search('opens the index')
    return (query) => catalogue.search(query, { limit: LIMIT })
  })
}

async function measureMiniSearch(tools: readonly RawTool[], queries: readonly string[]): Promise<Row> {
  return measure('MiniSearch', queries, async () => {
    const index = new MiniSearch({ fields: Object.keys(DOCUMENT) })
    index.addAll(tools.map((tool, id) => ({ id, ...toDocument(tool) })))
    return (query) => index.search(query).slice(0, LIMIT)
  })
}

async function measureOrama(tools: readonly RawTool[], queries: readonly string[]): Promise<Row> {
  return measure('Orama', queries, async () => {
    const index = create({ schema: DOCUMENT })
    await insertMultiple(index, tools.map(toDocument))
    return (query) => searchOrama(index, { term: query, limit: LIMIT })
  })
}

const DOCUMENT = {
  name: 'string',
  description: 'string',
  parameterNames: 'string',
  parameterTexts: 'string',
  server: 'string',
} as const

function toDocument({
  server,
  name,
  description,
  inputSchema,
}: RawTool): Record<keyof typeof DOCUMENT, string> {
  const { names, texts } = parameterTexts(inputSchema)
  return { name, description, parameterNames: names.join(' '), parameterTexts: texts.join(' '), server }
}

async function measure<Query>(
  name: string,
  queries: readonly Query[],
  build: () => Promise<(query: Query) => unknown>,
): Promise<Row> {
  const bytesBefore = heapBytes()
  const start = performance.now()
  const search = await build()
  const buildMs = performance.now() - start
  const bytes = heapBytes() - bytesBefore
  // The first pass is warm-up; the second one counts.
  let times: number[] = []
  for (let pass = 0; pass < 2; pass++) {
    times = []
    for (const query of queries) {
      const asked = performance.now()
      await search(query)
      times.push((performance.now() - asked) * 1000)
    }
  }
  times.sort((a, b) => a - b)
  return { name, p50: quantile(times, 0.5), p95: quantile(times, 0.95), buildMs, bytes }
}

/** Replaces the tools of each server in turn with new objects, as a refresh does. In microseconds. */
function measureUpdates(groups: ReadonlyMap<string, Listing[]>): { p50: number; p95: number } {
  const index = lexical().open()
  for (const [source, listings] of groups) index.update(source, listings)
  const times: number[] = []
  for (const [source, listings] of [...groups].slice(0, 500)) {
    const renewed = listings.map((listing) => ({ ...listing }))
    const start = performance.now()
    index.update(source, renewed)
    times.push((performance.now() - start) * 1000)
  }
  times.sort((a, b) => a - b)
  return { p50: quantile(times, 0.5), p95: quantile(times, 0.95) }
}

function quantile(sorted: readonly number[], share: number): number {
  return sorted[Math.floor(sorted.length * share)] ?? 0
}

function micros(value: number): string {
  return value < 1000 ? `${value.toFixed(1)} µs` : `${(value / 1000).toFixed(2)} ms`
}

function percent(share: number): string {
  return `${(100 * share).toFixed(share < 0.1 ? 2 : 0)} %`
}

/** Bytes in use after garbage collection, including typed arrays. */
function heapBytes(): number {
  setFlagsFromString('--expose-gc')
  const collect: unknown = runInNewContext('gc')
  if (typeof collect === 'function') collect()
  const { heapUsed, arrayBuffers } = process.memoryUsage()
  return heapUsed + arrayBuffers
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href)
  await run({ smoke: process.argv.includes('--smoke') })
