/**
 * What does memory of past use give? Half of the queries of our own sets are past use, the other half are asked, and the
 * other way around, over several seeded splits: R@5 without memory and with at most one or three episodes per tool. Tools
 * without history are counted on their own, since memory must not bury them. In the dumps nearly every tool has a single
 * query, so that half of them say little of the other half. There, 40 tools have three further requests, written by hand
 * for other occasions (recall/past-requests.jsonl): all of them as past use, and half of each tool's requests, whoever
 * wrote them, as past use of the other half.
 *
 * These sets are too small to measure a point. The last table is about simulated users of a large catalogue
 * (memory/simulated-users.ts): thousands of requests, and how much each kind of tool gains or loses.
 */

import { CatalogueSearch } from '../packages/core/src/search/catalogue-search.ts'
import { hybrid } from '../packages/core/src/search/hybrid.ts'
import { type ContextMemory, usageMemory } from '../packages/core/src/search/memory/usage-memory.ts'
import { memoryStore } from '../packages/core/src/store/memory-store.ts'
import type { Listing } from '../packages/core/src/tool.ts'
import { staticEmbedder } from '../packages/embedder/src/static-embedder.ts'
import { mean } from '../packages/toolcrib/src/eval/figures.ts'
import { toGroups } from '../packages/toolcrib/src/eval/load-case.ts'
import { score } from '../packages/toolcrib/src/eval/measure.ts'
import { seededShuffle } from '../scripts/train/random.ts'
import { printSimulated } from './memory/simulated-recall.ts'
import type { LabelledCase } from './recall/labelled-case.ts'
import { ownCases, pastRequests } from './recall/own-cases.ts'
import { printTable } from './report.ts'

const EPISODES = [0, 1, 3]
const SEEDS = [1, 2, 3, 4, 5]
/** Splits by tool, which ask twice as many requests. */
const TOOL_SPLITS = 2
const SMOKE_QUERIES = 40
/** Enough to measure a loss of a third of a point. */
const USERS = 40
const SMOKE_USERS = 1

type Query = LabelledCase['queries'][number]

export async function run({ smoke }: { smoke: boolean }): Promise<void> {
  const cases = await ownCases()
  const few = cases.slice(0, 1).map((one) => ({ ...one, queries: one.queries.slice(0, SMOKE_QUERIES) }))
  for (const labelled of smoke ? few : cases) {
    const past = new PastUse(labelled)
    const rows: Record<string, string | number>[] = []
    for (const episodes of EPISODES)
      rows.push({ episodes, ...(await past.recall(episodes, smoke ? SEEDS.slice(0, 1) : SEEDS)) })
    console.log(`memory: ${labelled.name}, R@5 in % by episodes per tool, half of the queries as past use`)
    printTable(rows)
    if (!labelled.name.startsWith('dumps')) continue
    console.log(
      `memory: ${labelled.name}, R@5 in % by episodes per tool, past use of 40 tools written by hand`,
    )
    printTable(await past.withHistory(await pastRequests()))
    console.log(
      `memory: ${labelled.name}, the same, half of each tool's requests as past use of the other half`,
    )
    printTable(await past.byTool(await pastRequests()))
  }
  await printSimulated({ maxUsers: smoke ? SMOKE_USERS : USERS })
}

class PastUse {
  readonly #labelled: LabelledCase
  readonly #catalogue = new CatalogueSearch(hybrid({ embedder: staticEmbedder() }))
  readonly #idOf = new Map<Listing, string>()
  readonly #listings: ReadonlyMap<string, Listing>

  constructor(labelled: LabelledCase) {
    this.#labelled = labelled
    this.#catalogue.sync(toGroups(labelled.tools, this.#idOf))
    this.#listings = new Map(Array.from(this.#idOf, ([listing, id]) => [id, listing]))
  }

  /** R@5 over all asked queries, over those with a tool that was used before, and over the others. */
  async recall(episodes: number, seeds: readonly number[]): Promise<Record<string, string>> {
    const recall = new Recall()
    for (const seed of seeds) {
      const shuffled = seededShuffle(this.#labelled.queries, seed)
      const middle = Math.floor(shuffled.length / 2)
      const [first, second] = [shuffled.slice(0, middle), shuffled.slice(middle)]
      await this.#ask(second, first, episodes, recall)
      await this.#ask(first, second, episodes, recall)
    }
    return recall.figures()
  }

  /** The same for all queries, with a history of its own. */
  async withHistory(
    history: readonly { readonly query: string; readonly called: readonly string[] }[],
  ): Promise<Record<string, string | number>[]> {
    const past = history.map(({ query, called }, at) => ({ id: String(at), query, relevant: called }))
    const rows: Record<string, string | number>[] = []
    for (const episodes of EPISODES) {
      const recall = new Recall()
      await this.#ask(this.#labelled.queries, past, episodes, recall)
      rows.push({ episodes, ...recall.figures() })
    }
    return rows
  }

  /** The same for the queries and the history together, half of each tool's as past use, and the other way around. */
  async byTool(
    history: readonly { readonly query: string; readonly called: readonly string[] }[],
  ): Promise<Record<string, string | number>[]> {
    const others = history.map(({ query, called }, at) => ({ id: `past-${at}`, query, relevant: called }))
    const all = [...this.#labelled.queries, ...others]
    const rows: Record<string, string | number>[] = []
    for (const episodes of EPISODES) {
      const recall = new Recall()
      for (const seed of SEEDS.slice(0, TOOL_SPLITS)) {
        const { first, second, single } = halves(seededShuffle(all, seed))
        await this.#ask([...second, ...single], first, episodes, recall)
        await this.#ask([...first, ...single], second, episodes, recall)
      }
      rows.push({ episodes, ...recall.figures() })
    }
    return rows
  }

  async #ask(
    asked: readonly Query[],
    past: readonly Query[],
    episodes: number,
    recall: Recall,
  ): Promise<void> {
    const memory = await this.#remember(past, episodes)
    const used = new Set(past.flatMap(({ relevant }) => relevant))
    for (const { query, relevant } of asked) {
      const { ranked } = await this.#catalogue.search(query, { limit: 10, memory })
      const found = ranked.map(({ listing }) => this.#idOf.get(listing) ?? '')
      const share = score(found, new Set(relevant)).recall['5']
      recall.add(
        share,
        relevant.some((id) => used.has(id)),
      )
    }
  }

  async #remember(past: readonly Query[], episodes: number): Promise<ContextMemory> {
    const memory = usageMemory({ store: memoryStore() }).under('bench')
    const counts = new Map<string, number>()
    for (const { query, relevant } of past) {
      const { vector } = await this.#catalogue.search(query)
      for (const id of relevant) {
        const listing = this.#listings.get(id)
        const count = counts.get(id) ?? 0
        if (listing === undefined || vector === undefined || count >= episodes) continue
        counts.set(id, count + 1)
        const { source } = listing
        await memory.learn({
          tool: listing.name,
          source: source.kind === 'mcp' ? source.server : source.kind,
          vector,
        })
      }
    }
    return memory
  }
}

class Recall {
  readonly #known: number[] = []
  readonly #others: number[] = []

  add(share: number, isKnown: boolean): void {
    ;(isKnown ? this.#known : this.#others).push(share)
  }

  figures(): Record<string, string> {
    return {
      'all tools': percent([...this.#known, ...this.#others]),
      'tools used before': `${percent(this.#known)} (${this.#known.length})`,
      'other tools': `${percent(this.#others)} (${this.#others.length})`,
    }
  }
}

/** Splits the queries of each tool in two; those of tools with one query are `single`. */
function halves(queries: readonly Query[]): Record<'first' | 'second' | 'single', Query[]> {
  const byTool = new Map<string, Query[]>()
  for (const query of queries) {
    const tool = query.relevant[0] ?? ''
    byTool.set(tool, [...(byTool.get(tool) ?? []), query])
  }
  const split: Record<'first' | 'second' | 'single', Query[]> = { first: [], second: [], single: [] }
  for (const group of byTool.values()) {
    if (group.length === 1) split.single.push(...group)
    else for (const [at, query] of group.entries()) split[at % 2 === 0 ? 'first' : 'second'].push(query)
  }
  return split
}

function percent(shares: readonly number[]): string {
  return shares.length === 0 ? '–' : (100 * mean(shares)).toFixed(1)
}
