import { CatalogueSearch } from '../../packages/core/src/search/catalogue-search.ts'
import { hybrid } from '../../packages/core/src/search/hybrid.ts'
import type { ContextMemory } from '../../packages/core/src/search/memory/usage-memory.ts'
import type { Embedder } from '../../packages/core/src/search/vectors/embedder.ts'
import { staticEmbedder } from '../../packages/embedder/src/static-embedder.ts'
import { confidenceInterval, mean } from '../../packages/toolcrib/src/eval/figures.ts'
import { printTable } from '../report.ts'
import {
  type Asked,
  memoryOf,
  type SimulatedUse,
  type SimulatedUser,
  simulatedUse,
} from './simulated-users.ts'

/** A catalogue of the user's servers and others has at least as many tools. */
const FEW_TOOLS = 600

const KINDS = ['used before', 'others of the same servers', 'of other servers'] as const
type Kind = (typeof KINDS)[number]

/** Prints what memory changes for simulated users, among few tools and in the whole catalogue. */
export async function printSimulated({
  maxUsers,
  embedder = staticEmbedder(),
}: {
  maxUsers: number
  embedder?: Embedder
}): Promise<void> {
  const use = simulatedUse()
  if (use === undefined)
    return console.log('memory: simulated users are skipped, since their catalogue is not there')
  const users = use.users.slice(0, maxUsers)
  const [few, all] = [new Changes(), new Changes()]
  const everything = open(use.groups, embedder)
  for (const [at, user] of users.entries()) {
    const near = open(nearby(use, at), embedder)
    const next = use.users[(at + 1) % use.users.length] as SimulatedUser
    for (const [own, used] of user.halves.entries()) {
      const memory = await memoryOf(used, async (query) => (await near.search(query)).vector)
      const asked: Record<Kind, readonly Asked[]> = {
        'used before': used.flatMap((tool) => (tool.past.length === 0 ? [] : tool.asked)),
        'others of the same servers': (user.halves[1 - own] ?? []).flatMap((tool) => tool.asked),
        'of other servers': (next.halves[own] ?? []).flatMap((tool) => tool.asked),
      }
      for (const kind of KINDS) {
        for (const request of asked[kind]) {
          few.add(kind, await change(near, request, memory))
          all.add(kind, await change(everything, request, memory))
        }
      }
    }
  }
  console.log(
    `memory: ${users.length} simulated users of about 40 tools, R@5 in %, up to three episodes per tool`,
  )
  printTable([...few.rows(`about ${FEW_TOOLS}`), ...all.rows('15,000')])
}

/** The servers of a user, and those of the next ones until there are enough tools. */
function nearby({ groups, users }: SimulatedUse, first: number): SimulatedUse['groups'] {
  const chosen = new Map<
    string,
    SimulatedUse['groups'] extends ReadonlyMap<string, infer Group> ? Group : never
  >()
  let tools = 0
  for (let at = 0; at < users.length && (at < 2 || tools < FEW_TOOLS); at++) {
    for (const server of users[(first + at) % users.length]?.servers ?? []) {
      const group = groups.get(server) ?? []
      chosen.set(server, group)
      tools += group.length
    }
  }
  return chosen
}

function open(groups: SimulatedUse['groups'], embedder: Embedder): CatalogueSearch {
  const catalogue = new CatalogueSearch(hybrid({ embedder }))
  catalogue.sync(groups)
  return catalogue
}

/** Whether the tool asked for is among the first five, without and with memory. */
interface Change {
  readonly before: number
  readonly after: number
}

async function change(catalogue: CatalogueSearch, asked: Asked, memory: ContextMemory): Promise<Change> {
  const { ranked, vector } = await catalogue.search(asked.query)
  const before = ranked.some(({ listing }) => listing === asked.tool) ? 1 : 0
  const isLifted = vector !== undefined && (await memory.lifts(vector)).length > 0
  if (!isLifted) return { before, after: before }
  const lifted = await catalogue.search(asked.query, { memory })
  return { before, after: lifted.ranked.some(({ listing }) => listing === asked.tool) ? 1 : 0 }
}

class Changes {
  readonly #byKind = new Map<Kind, Change[]>()

  add(kind: Kind, change: Change): void {
    const known = this.#byKind.get(kind)
    if (known) known.push(change)
    else this.#byKind.set(kind, [change])
  }

  rows(tools: string): Record<string, string | number>[] {
    return KINDS.map((kind) => {
      const changes = this.#byKind.get(kind) ?? []
      const differences = changes.map(({ before, after }) => after - before)
      const [low, high] = confidenceInterval(differences)
      return {
        catalogue: tools,
        tools: kind,
        requests: changes.length,
        without: percent(mean(changes.map(({ before }) => before))),
        with: percent(mean(changes.map(({ after }) => after))),
        change: signed(mean(differences)),
        '95 % interval': `${signed(low)} to ${signed(high)}`,
      }
    })
  }
}

function percent(share: number): string {
  return (100 * share).toFixed(1)
}

function signed(share: number): string {
  const text = (100 * share).toFixed(2)
  return share > 0 ? `+${text}` : text.replace('-', '−')
}
