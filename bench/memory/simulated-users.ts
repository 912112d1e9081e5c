import { existsSync, readFileSync } from 'node:fs'
import { type ContextMemory, usageMemory } from '../../packages/core/src/search/memory/usage-memory.ts'
import { memoryStore } from '../../packages/core/src/store/memory-store.ts'
import type { Listing } from '../../packages/core/src/tool.ts'
import { type EvalTool, toGroups } from '../../packages/toolcrib/src/eval/load-case.ts'
import { readOwnQueries } from '../../scripts/train/datasets.ts'
import { seededShuffle } from '../../scripts/train/random.ts'
import { PUBLIC_DATA } from '../recall/public-sets.ts'

const SET = 'catalog-toucan'
const SERVERS_PER_USER = 12
/** Labelled tools of a server that somebody uses: with fewer there are no others of the same server to ask for. */
const MIN_TOOLS = 5
const MAX_PAST = 3
const SEED = 7

/** A request of a simulated user. */
export interface Asked {
  readonly query: string
  readonly tool: Listing
}

/** Somebody who uses half of the labelled tools of twelve servers. */
export interface SimulatedUser {
  readonly servers: readonly string[]
  /** The two halves; a user has used one of them. */
  readonly halves: readonly [readonly UserTool[], readonly UserTool[]]
}

/** A tool with a request to ask for it, which the embedder never saw, and others that it served before. */
export interface UserTool {
  readonly tool: Listing
  readonly asked: readonly Asked[]
  readonly past: readonly string[]
}

/** A large catalogue, and users of it. */
export interface SimulatedUse {
  /** By server. */
  readonly groups: ReadonlyMap<string, readonly Listing[]>
  readonly users: readonly SimulatedUser[]
}

/**
 * Users made of our own requests for the tools of a large catalogue, about three for each of 7,000 tools. Undefined without
 * the catalogue, which is outside the repository. One request per tool is asked, of those kept aside from the embedder's
 * training; up to three others are past use, those kept aside first.
 */
export function simulatedUse(): SimulatedUse | undefined {
  const file = `${PUBLIC_DATA}${SET}/tools.jsonl`
  if (!existsSync(file)) return undefined
  const ids = new Map<Listing, string>()
  const groups = toGroups(readTools(file), ids)
  const listings = new Map(Array.from(ids, ([listing, id]) => [id, listing]))
  const tools = userTools((id) => listings.get(id))
  const servers = [...groups].flatMap(([server, group]) => {
    const labelled = group.flatMap((listing) => tools.get(listing) ?? [])
    return labelled.length < MIN_TOOLS ? [] : [{ server, labelled: seededShuffle(labelled, SEED) }]
  })
  const shuffled = seededShuffle(servers, SEED)
  const users: SimulatedUser[] = []
  for (let at = 0; at + SERVERS_PER_USER <= shuffled.length; at += SERVERS_PER_USER) {
    const own = shuffled.slice(at, at + SERVERS_PER_USER)
    const half = (odd: number) => own.flatMap(({ labelled }) => labelled.filter((_, row) => row % 2 === odd))
    users.push({ servers: own.map(({ server }) => server), halves: [half(0), half(1)] })
  }
  return { groups, users }
}

/** A memory of what a user did with these tools. `vectorOf` returns the vector of a request, as a search has it. */
export async function memoryOf(
  tools: readonly UserTool[],
  vectorOf: (query: string) => Promise<Float32Array | undefined>,
): Promise<ContextMemory> {
  const memory = usageMemory({ store: memoryStore() }).under('bench')
  for (const { tool, past } of tools) {
    for (const query of past) {
      const vector = await vectorOf(query)
      const source = tool.source.kind === 'mcp' ? tool.source.server : tool.source.kind
      if (vector !== undefined) await memory.learn({ tool: tool.name, source, vector })
    }
  }
  return memory
}

function readTools(file: string): EvalTool[] {
  const lines = readFileSync(file, 'utf8').trim().split('\n')
  return lines
    .map((line): EvalTool => JSON.parse(line))
    .map((tool) => ({ ...tool, description: tool.description ?? '', inputSchema: tool.inputSchema ?? {} }))
}

/** The tools with requests of their own, and those requests. */
function userTools(find: (id: string) => Listing | undefined): ReadonlyMap<Listing, UserTool> {
  const queries = readOwnQueries(SET, (id) => [find(id)].filter((tool) => tool !== undefined))
  const byTool = new Map<Listing, typeof queries>()
  for (const query of queries) {
    const [tool, ...others] = query.relevant
    // A request for two tools says little about either.
    if (tool === undefined || others.length > 0) continue
    const group = byTool.get(tool)
    if (group) group.push(query)
    else byTool.set(tool, [query])
  }
  return new Map(
    Array.from(byTool, ([tool, group]) => {
      const unseen = group.filter(({ isHeldOut }) => isHeldOut)
      const seen = group.filter(({ isHeldOut }) => !isHeldOut)
      const asked = unseen.slice(0, 1).map(({ text }) => ({ query: text, tool }))
      const past = [...unseen.slice(1), ...seen].slice(0, MAX_PAST).map(({ text }) => text)
      return [tool, { tool, asked, past }]
    }),
  )
}
