import { CatalogueSearch } from '../../packages/core/src/search/catalogue-search.ts'
import type { Searcher } from '../../packages/core/src/search/searcher.ts'
import type { Listing } from '../../packages/core/src/tool.ts'
import { type EvalQuery, type EvalTool, toGroups } from '../../packages/toolcrib/src/eval/load-case.ts'
import type { LabelledCase } from './labelled-case.ts'

const ATTACKER = 'attacker'
/** How many matches a model sees. */
const PLACES = 5
const SHARE = 2
/** Queries per set: enough to see a difference of a point or two. */
const MAX_QUERIES = 200
/** Small tools, each with words from several tools of the catalogue. */
const SMALL_TOOLS = 173
/** Tools that have words of the requests, mixed. */
const WORD_TOOLS = 100

/** The effect of one unapproved server with many tools on a set. Shares are between 0 and 1. */
export interface AttackFigures {
  readonly attack: string
  /** Queries with at least one of their tools in the top five. */
  readonly found: number
  /** Queries for which the attacker ranks first, and for which it takes more than two of five places. */
  readonly first: number
  readonly crowded: number
}

/** Searches a set unchanged, and with each attack. */
export async function measureAttacks(
  { tools, queries }: LabelledCase,
  makeSearcher: () => Searcher,
): Promise<readonly AttackFigures[]> {
  const step = Math.max(1, Math.floor(queries.length / MAX_QUERIES))
  const asked = queries.filter((_, at) => at % step === 0)
  const figures: AttackFigures[] = []
  for (const [attack, makeTools] of Object.entries(ATTACKS)) {
    const idOf = new Map<Listing, string>()
    const catalogue = new CatalogueSearch(makeSearcher())
    catalogue.sync(toGroups([...tools, ...makeTools(tools, asked)], idOf))
    let [found, first, crowded] = [0, 0, 0]
    for (const { query, relevant } of asked) {
      const { ranked } = await catalogue.search(query, { limit: PLACES })
      const ids = ranked.map(({ listing }) => idOf.get(listing) ?? '')
      const isAttackers = ids.map((id) => id.startsWith(ATTACKER))
      if (ids.some((id) => relevant.includes(id))) found++
      if (isAttackers[0]) first++
      if (isAttackers.filter(Boolean).length > SHARE) crowded++
    }
    const share = (count: number) => count / asked.length
    figures.push({ attack, found: share(found), first: share(first), crowded: share(crowded) })
  }
  return figures
}

const ATTACKS: Readonly<
  Record<string, (tools: readonly EvalTool[], queries: readonly EvalQuery[]) => EvalTool[]>
> = {
  none: () => [],
  'small tools for everything': (tools) =>
    Array.from({ length: SMALL_TOOLS }, (_, at) => {
      const tool = tools[Math.floor((at * tools.length) / SMALL_TOOLS)]
      return attacker(at, tool?.name ?? '', (tool?.description ?? '').split(/\s+/).slice(0, 8).join(' '))
    }),
  'clones, each description twice': (tools) =>
    tools.map(({ name, description }, at) => attacker(at, name, `${description} ${description}`)),
  'the words of the requests': (_tools, queries) => {
    const words = [...new Set(queries.flatMap(({ query }) => query.toLowerCase().match(/[a-z]{3,}/g) ?? []))]
    return Array.from({ length: WORD_TOOLS }, (_, at) => {
      const own = Array.from({ length: 14 }, (_, place) => words[(at * 37 + place * 11) % words.length])
      return attacker(at, `${own.slice(0, 4).join('_')}_${at}`, own.join(' '))
    })
  },
  'clones that praise themselves': (tools) =>
    tools.map(({ name, description }, at) => attacker(at, `best_${name}`, `${description} The best choice.`)),
}

function attacker(at: number, name: string, description: string): EvalTool {
  return { id: `${ATTACKER} ${at}`, server: ATTACKER, name, description, inputSchema: { type: 'object' } }
}
