import type { LabelledCase } from '../../bench/recall/labelled-case.ts'
import type { Embedder } from '../../packages/core/src/search/vectors/embedder.ts'
import { listingText } from '../../packages/core/src/search/vectors/listing-text.ts'
import type { Listing } from '../../packages/core/src/tool.ts'
import {
  cloneKey,
  type EvalQuery,
  type EvalTool,
  toGroups,
} from '../../packages/toolcrib/src/eval/load-case.ts'
import { seededRandom, shuffled } from './random.ts'

/** The sizes of the catalogues, one after the other. */
export const SIZES = [5, 10, 20, 40, 80, 160]

/**
 * What a small catalogue has for a request: its tool; other tools of its server; only other servers. And a request that
 * needs no tool.
 */
export const KINDS = ['served', 'near miss', 'elsewhere', 'no tool'] as const
export type Kind = (typeof KINDS)[number]

/** A small catalogue, and a request for it. */
export interface Asked {
  readonly tools: readonly EvalTool[]
  readonly queries: readonly Pick<EvalQuery, 'query' | 'relevant'>[]
}

/** At most this share of a catalogue is of the server that the request is for. */
const OWN_SERVER = 0.6

/** Tools of one server that are taken at most. */
const MAX_OF_SERVER = 20

/** Cosine of tools that do the same: they would be right, and count as wrong. */
const SAME_FROM = 0.7

const SEED = 11

/**
 * Samples small catalogues from a labelled set, server by server: `count` for each kind. Every request is asked of a
 * catalogue that has its tool, and of others that lack it.
 */
export async function smallCatalogues(
  { tools, queries }: Pick<LabelledCase, 'tools' | 'queries'>,
  count: number,
  { embedder, noTool }: { readonly embedder: Embedder; readonly noTool: readonly string[] },
): Promise<Record<Kind, Asked[]>> {
  const random = seededRandom(SEED)
  const shelf = new Shelf(tools, await vectorsOf(tools, embedder), random)
  const byId = new Map(tools.map((tool) => [tool.id, tool]))
  const asked: Record<Kind, Asked[]> = { served: [], 'near miss': [], elsewhere: [], 'no tool': [] }
  const order = shuffled(queries, random)
  for (let at = 0; at < count && order.length > 0; at++) {
    const { query, relevant } = order[at % order.length] as EvalQuery
    const size = SIZES[(at + Math.floor(at / order.length)) % SIZES.length] as number
    const right = relevant.flatMap((id) => byId.get(id) ?? [])
    if (right.length === 0 || right.length >= size) continue
    const own = shelf.siblings(right)
    const others = shelf.others(right, size)
    const room = Math.ceil(OWN_SERVER * size)
    const served = [...right, ...own.slice(0, room), ...others].slice(0, size)
    const keys = new Set(right.map(cloneKey))
    const ids = served.filter((tool) => keys.has(cloneKey(tool))).map(({ id }) => id)
    asked.served.push({ tools: served, queries: [{ query, relevant: ids }] })
    const near = own.filter((tool) => !shelf.areSame(tool, right)).slice(0, room)
    const withoutTool = [{ query, relevant: [] }]
    if (near.length > 0)
      asked['near miss'].push({ tools: [...near, ...others].slice(0, size), queries: withoutTool })
    const elsewhere = others.slice(0, size)
    asked.elsewhere.push({ tools: elsewhere, queries: withoutTool })
    const idle = noTool[Math.floor(random() * noTool.length)] as string
    asked['no tool'].push({ tools: elsewhere, queries: [{ query: idle, relevant: [] }] })
  }
  return asked
}

/** The tools of a set, by server. A tool without one is its own. */
class Shelf {
  readonly #servers = new Map<string, EvalTool[]>()
  readonly #names: readonly string[]
  readonly #vectors: ReadonlyMap<EvalTool, Float32Array>
  readonly #random: () => number

  constructor(
    tools: readonly EvalTool[],
    vectors: ReadonlyMap<EvalTool, Float32Array>,
    random: () => number,
  ) {
    for (const tool of tools) {
      const known = this.#servers.get(serverOf(tool))
      if (known === undefined) this.#servers.set(serverOf(tool), [tool])
      else known.push(tool)
    }
    this.#names = [...this.#servers.keys()]
    this.#vectors = vectors
    this.#random = random
  }

  /** The other tools of these tools' servers, in random order. */
  siblings(tools: readonly EvalTool[]): EvalTool[] {
    const servers = [...new Set(tools.map(serverOf))]
    const own = servers.flatMap((server) => this.#servers.get(server) ?? [])
    return shuffled(
      own.filter((tool) => !tools.includes(tool)),
      this.#random,
    )
  }

  /** About this many tools of other servers, none of which does the same. */
  others(tools: readonly EvalTool[], count: number): EvalTool[] {
    const own = new Set(tools.map(serverOf))
    const others = new Set<EvalTool>()
    for (let tried = 0; tried < 4 * count && others.size < count; tried++) {
      const server = this.#names[Math.floor(this.#random() * this.#names.length)] as string
      if (own.has(server)) continue
      for (const tool of (this.#servers.get(server) ?? []).slice(0, MAX_OF_SERVER))
        if (!this.areSame(tool, tools)) others.add(tool)
    }
    return [...others]
  }

  /** Whether a tool does the same as one of the others. */
  areSame(tool: EvalTool, others: readonly EvalTool[]): boolean {
    const vector = this.#vectors.get(tool) ?? new Float32Array(0)
    return others.some(
      (other) =>
        squeezed(other.name) === squeezed(tool.name) ||
        vector.reduce((sum, value, at) => sum + value * (this.#vectors.get(other)?.[at] ?? 0), 0) >=
          SAME_FROM,
    )
  }
}

async function vectorsOf(
  tools: readonly EvalTool[],
  embedder: Embedder,
): Promise<Map<EvalTool, Float32Array>> {
  const idOf = new Map<Listing, string>()
  toGroups(tools, idOf)
  const byId = new Map(tools.map((tool) => [tool.id, tool]))
  const vectors = await embedder.embed([...idOf.keys()].map(listingText))
  return new Map(
    [...idOf.values()].map((id, at) => [
      byId.get(id) as EvalTool,
      Float32Array.from(vectors[at] as Float32Array),
    ]),
  )
}

function serverOf({ server, id }: EvalTool): string {
  return server ?? `tool ${id}`
}

function squeezed(name: string): string {
  return name.toLowerCase().replace(/[^\p{L}\p{N}]/gu, '')
}
