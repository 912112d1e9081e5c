import { splitName } from '../../packages/core/src/names.ts'
import { CatalogueSearch } from '../../packages/core/src/search/catalogue-search.ts'
import { parameterTexts } from '../../packages/core/src/search/lexical/listing-terms.ts'
import { STOP_WORDS } from '../../packages/core/src/search/lexical/text-words.ts'
import type { Searcher } from '../../packages/core/src/search/searcher.ts'
import type { Listing } from '../../packages/core/src/tool.ts'
import { type EvalQuery, type EvalTool, toGroups } from '../../packages/toolcrib/src/eval/load-case.ts'
import { Learned, similarRequests } from './asked-words.ts'
import type { LabelledCase } from './labelled-case.ts'

/** How many matches a model sees. */
const PLACES = 5
/** Requests that the attacker reads and tries its tools on, and requests it is judged by: it sees none of these. */
const MAX_KNOWN = 240
const MAX_JUDGED = 200
const PASSES = 2

/** Who the attacker competes with: servers that the user approved, or servers that nobody approved. */
type Honest = 'approved' | 'nobody approved'

/** What an adaptive attacker achieves on requests that it has not seen. Shares are between 0 and 1. */
export interface AdaptiveFigures {
  readonly honest: Honest
  readonly servers: number
  /** Requests with a wanted tool among the first five, without the attacker and with it. */
  readonly clean: number
  readonly attacked: number
  /** Requests for which the attacker comes first. */
  readonly first: number
}

/** What the attacker varies. */
interface Genes {
  /** The name: that of the honest tool, with learned words, or learned words alone. */
  readonly name: 'same' | 'same and asked' | 'asked'
  /** How much of the honest description is repeated: every word, four of five, the first eight, or none. */
  readonly copies: 'all' | 'most' | 'start' | 'none'
  /** Words of requests added to the description. */
  readonly asked: 0 | 4 | 8 | 16
  /** Whole requests for similar tools added to the description. */
  readonly examples: 0 | 1 | 2 | 4
  readonly parameters: 'none' | 'same' | 'padded' | 'asked'
  /** What all descriptions of a server begin with, to look like one service. */
  readonly preface: '' | 'Your assistant can use it to'
  /** Tools by honest tool, or by verb and thing. */
  readonly tools: 'one per tool' | 'two per tool' | 'verbs and things'
}

const VALUES: { readonly [Gene in keyof Genes]: readonly Genes[Gene][] } = {
  tools: ['one per tool', 'verbs and things', 'two per tool'],
  copies: ['most', 'all', 'start', 'none'],
  asked: [8, 0, 4, 16],
  examples: [1, 0, 2, 4],
  name: ['same and asked', 'same', 'asked'],
  parameters: ['padded', 'none', 'same', 'asked'],
  preface: ['', 'Your assistant can use it to'],
}

/**
 * Searches a set beside an attacker that reads the honest tools, knows how people ask for such things, and has a quarter of the
 * requests to learn words from and a quarter to try its tools on: it changes one thing after the other and keeps what works
 * against this search. The other half of the requests judges it.
 */
export async function measureAdaptive(
  { tools, queries }: LabelledCase,
  makeSearcher: () => Searcher,
  setup: { readonly honest: Honest; readonly servers: number },
): Promise<AdaptiveFigures> {
  const half = (odd: number, most: number) => {
    const all = queries.filter((_, at) => at % 2 === odd)
    const step = Math.max(1, Math.ceil(all.length / most))
    return all.filter((_, at) => at % step === 0)
  }
  const known = half(0, MAX_KNOWN)
  const judged = half(1, MAX_JUDGED)
  const [read, training] = [0, 1].map((odd) => known.filter((_, at) => at % 2 === odd)) as [
    EvalQuery[],
    EvalQuery[],
  ]
  const arena = new Arena(tools, makeSearcher(), setup)
  const examples = await similarRequests(tools)
  const learned = new Learned(tools, read, examples)
  let genes = Object.fromEntries(
    Object.entries(VALUES).map(([gene, [first]]) => [gene, first]),
  ) as unknown as Genes
  let best = await arena.fight(attackersOf(tools, learned, genes), training)
  for (let pass = 0; pass < PASSES; pass++)
    for (const [gene, values] of Object.entries(VALUES))
      for (const value of values) {
        const tried: Genes = { ...genes, [gene]: value }
        if (tried[gene as keyof Genes] === genes[gene as keyof Genes]) continue
        const outcome = await arena.fight(attackersOf(tools, learned, tried), training)
        if (gainOf(outcome) <= gainOf(best)) continue
        best = outcome
        genes = tried
      }
  const clean = await arena.fight([], judged)
  const all = new Learned(tools, known, examples)
  const { found, first } = await arena.fight(attackersOf(tools, all, genes), judged)
  return { ...setup, clean: clean.found, attacked: found, first }
}

interface Outcome {
  readonly found: number
  readonly first: number
}

/** First places count, and wanted tools that are no longer shown. */
function gainOf({ found, first }: Outcome): number {
  return first - found
}

/** The honest tools, whose index is kept, and the attacker's servers, which change. */
class Arena {
  readonly #search: CatalogueSearch
  readonly #idOf = new Map<Listing, string>()
  readonly #honest: ReadonlyMap<string, readonly Listing[]>
  readonly #servers: number

  constructor(
    tools: readonly EvalTool[],
    searcher: Searcher,
    { honest, servers }: { readonly honest: Honest; readonly servers: number },
  ) {
    this.#search = new CatalogueSearch(searcher)
    this.#servers = servers
    const trust = honest === 'approved' ? 1 : 0
    this.#honest = new Map(
      [...toGroups(tools, this.#idOf)].map(([key, listings]) => [
        key,
        listings.map((listing) => {
          const own = { ...listing, trust }
          this.#idOf.set(own, this.#idOf.get(listing) ?? '')
          return own
        }),
      ]),
    )
  }

  async fight(attackers: readonly Written[], queries: readonly EvalQuery[]): Promise<Outcome> {
    const groups = new Map(this.#honest)
    for (let server = 0; server < this.#servers; server++) {
      // A server has neighbouring tools: those for the same honest servers.
      const own = attackers.slice(...sliceOf(server, this.#servers, attackers.length))
      if (own.length > 0)
        groups.set(
          `mcp:attacker${server}`,
          own.map((tool) => toListing(tool, server)),
        )
    }
    this.#search.sync(groups)
    let [found, first] = [0, 0]
    for (const { query, relevant } of queries) {
      const { ranked } = await this.#search.search(query, { limit: PLACES })
      const ids = ranked.map(({ listing }) => this.#idOf.get(listing))
      if (ids.some((id) => id !== undefined && relevant.includes(id))) found++
      if (ids.length > 0 && ids[0] === undefined) first++
    }
    return { found: found / queries.length, first: first / queries.length }
  }
}

function sliceOf(part: number, parts: number, length: number): [number, number] {
  return [Math.floor((part * length) / parts), Math.floor(((part + 1) * length) / parts)]
}

interface Written {
  readonly name: string
  readonly description: string
  readonly parameters: readonly string[]
}

function toListing({ name, description, parameters }: Written, server: number): Listing {
  const source = { kind: 'mcp', server: `attacker${server}` } as const
  const properties = Object.fromEntries(parameters.map((parameter) => [parameter, { type: 'string' }]))
  const inputSchema = { type: 'object', properties } as const
  return {
    name: `mcp__attacker${server}__${name}`,
    ownName: name,
    description,
    inputSchema,
    source,
    trust: 0,
  }
}

const PADDING = ['id', 'name', 'text', 'date', 'user', 'limit', 'format', 'filter']
const VERBS = ['list', 'get', 'create', 'update', 'delete', 'search', 'send', 'show']

function attackersOf(tools: readonly EvalTool[], learned: Learned, genes: Genes): Written[] {
  if (genes.tools === 'verbs and things') return grid(tools, learned, genes)
  const write = (tool: EvalTool, genes: Genes, at: number) => {
    const parameters = parameterTexts(tool.inputSchema).names
    return written(
      splitName(tool.name),
      tool.description,
      parameters,
      learned.of(tool),
      learned.examples(tool),
      genes,
      at,
    )
  }
  const ones = tools.map((tool, at) => write(tool, genes, at))
  if (genes.tools === 'one per tool') return ones
  const other: Genes = { ...genes, copies: 'none', name: 'asked', asked: 16 }
  return tools.flatMap((tool, at) => [ones[at] as Written, write(tool, other, tools.length + at)])
}

function grid(tools: readonly EvalTool[], learned: Learned, genes: Genes): Written[] {
  const counts = new Map<string, number>()
  for (const { name } of tools)
    for (const word of splitName(name))
      if (!VERBS.includes(word) && !STOP_WORDS.has(word)) counts.set(word, (counts.get(word) ?? 0) + 1)
  const things = [...counts]
    .sort((a, b) => b[1] - a[1])
    .slice(0, tools.length)
    .map(([thing]) => thing)
  return things.map((thing, at) => {
    const verb = VERBS[at % VERBS.length] as string
    const text = `${VERBS.join(', ')} any ${thing} of the user`
    return written([verb, thing], text, [thing], learned.around([verb, thing]), [], genes, at)
  })
}

function written(
  name: readonly string[],
  description: string,
  parameters: readonly string[],
  asked: readonly string[],
  examples: readonly string[],
  genes: Genes,
  at: number,
): Written {
  const words = description.split(/\s+/)
  const copied = {
    all: words,
    most: words.filter((_, place) => place % 5 !== 4),
    start: words.slice(0, 8),
    none: [],
  }[genes.copies]
  const added = asked.slice(0, genes.asked)
  // A sentence has short words; a list of search terms would be recognised.
  const said = added.length === 0 ? [] : ['for when you ask to', ...added.join(' or a ').split(' ')]
  const named = { same: name, 'same and asked': [...name, ...asked.slice(0, 3)], asked: asked.slice(0, 4) }[
    genes.name
  ]
  const given = { none: [], same: parameters, padded: PADDING, asked: asked.slice(0, 8) }[genes.parameters]
  return {
    name: `${(named.length === 0 ? name : named).join('_')}_${at}`,
    description: [genes.preface, ...copied, ...said, ...examples.slice(0, genes.examples)].join(' ').trim(),
    parameters: given,
  }
}
