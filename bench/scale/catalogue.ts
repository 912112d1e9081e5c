import { existsSync } from 'node:fs'
import { STOP_WORDS } from '../../packages/core/src/search/lexical/text-words.ts'
import type { JsonSchema } from '../../packages/core/src/tool.ts'
import type { EvalTool } from '../../packages/toolcrib/src/eval/load-case.ts'
import { ownCases } from '../recall/own-cases.ts'
import { PUBLIC_DATA, publicSets } from '../recall/public-sets.ts'

/** A server with its tools. */
export interface ScaleServer {
  readonly name: string
  readonly tools: readonly Omit<EvalTool, 'id' | 'server'>[]
}

/** Of every hundred different words of a copied server, how many are replaced. */
const REPLACED = 35

/**
 * A catalogue of any size: real tools, then copies of their servers in which a third of the words is replaced by others
 * about as frequent, the same word by the same one throughout a server. So the frequencies of words stay those of real
 * tools, and no two servers are the same. Depends on nothing but the base tools.
 */
export class ScaleCatalogue {
  readonly #servers: readonly ScaleServer[]
  readonly #ranked: readonly string[]
  readonly #ranks: ReadonlyMap<string, number>

  constructor(tools: readonly EvalTool[]) {
    this.#servers = byServer(tools)
    this.#ranked = wordsByFrequency(tools)
    this.#ranks = new Map(this.#ranked.map((word, rank) => [word, rank]))
  }

  /** Servers with `count` tools in total. */
  *servers(count: number): Generator<ScaleServer> {
    let left = count
    for (let turn = 0; left > 0; turn++) {
      for (const server of this.#servers) {
        if (left <= 0) return
        const tools = server.tools.slice(0, left)
        left -= tools.length
        yield turn === 0 ? { ...server, tools } : this.#copy({ ...server, tools }, turn)
      }
    }
  }

  #copy({ name, tools }: ScaleServer, turn: number): ScaleServer {
    const seed = hash(name, turn)
    const replaced = (text: string) => text.replace(WORD, (word) => this.#replace(word, seed))
    // Replacing words can make two names equal.
    const taken = new Set<string>()
    const copies = tools.map((tool, at) => {
      const renamed = tool.name.replace(/[A-Za-z]+/g, (word) => this.#replace(word, seed))
      const unique = taken.has(renamed.toLowerCase()) ? `${renamed}_${at}` : renamed
      taken.add(unique.toLowerCase())
      return {
        name: unique,
        description: replaced(tool.description),
        inputSchema: rewritten(tool.inputSchema, replaced) as JsonSchema,
      }
    })
    return { name: `${replaced(name)}-${invented(seed)}${turn}`, tools: copies }
  }

  #replace(word: string, seed: number): string {
    const rank = this.#ranks.get(word.toLowerCase())
    if (rank === undefined) return word
    const dice = hash(word.toLowerCase(), seed)
    if (dice % 100 >= REPLACED) return word
    const spread = 8 + Math.floor(rank / 4)
    const other = rank - (spread >> 1) + ((dice >>> 8) % spread)
    return this.#ranked[Math.max(0, other) % this.#ranked.length] ?? word
  }
}

const WORD = /[A-Za-z]{4,}/g

/** The tools that a catalogue is made of: all that are there, else those in the repository. */
export async function baseTools({ smoke }: { readonly smoke: boolean }): Promise<EvalTool[]> {
  const own = await ownCases()
  const cases = smoke || !existsSync(PUBLIC_DATA) ? own.slice(0, 1) : [...own, ...(await publicSets())]
  const tools = cases.flatMap((one) => one.tools)
  return [
    ...new Map(tools.map((tool) => [`${tool.server}/${tool.name}`.toLowerCase(), tool])).values(),
  ].filter(({ name, server = 'own' }) => isUsable(name) && isUsable(server))
}

function isUsable(name: string): boolean {
  return name.length > 0 && name.length < 100 && !/[,*"\p{C}]/u.test(name) && name.trim() === name
}

function byServer(tools: readonly EvalTool[]): ScaleServer[] {
  const servers = new Map<string, { name: string; tools: Omit<EvalTool, 'id' | 'server'>[] }>()
  for (const { server = 'own', name, description, inputSchema } of tools) {
    const known = servers.get(server.toLowerCase())
    const tool = { name, description, inputSchema }
    if (known === undefined) servers.set(server.toLowerCase(), { name: server, tools: [tool] })
    else known.tools.push(tool)
  }
  return [...servers.values()]
}

function wordsByFrequency(tools: readonly EvalTool[]): string[] {
  const counts = new Map<string, number>()
  for (const { description } of tools) {
    for (const [word] of description.toLowerCase().matchAll(WORD))
      if (!STOP_WORDS.has(word)) counts.set(word, (counts.get(word) ?? 0) + 1)
  }
  return [...counts].sort(([a, x], [b, y]) => y - x || (a < b ? -1 : 1)).map(([word]) => word)
}

/** A copy of a schema with other descriptions; the names of parameters stay. */
function rewritten(value: unknown, replaced: (text: string) => string, key = ''): unknown {
  if (typeof value === 'string') return key === 'description' ? replaced(value) : value
  if (Array.isArray(value)) return value.map((item) => rewritten(item, replaced))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, nested]) => [name, rewritten(nested, replaced, name)]),
  )
}

/** A word that is in no text: products have names. */
function invented(seed: number): string {
  const syllables = ['ba', 'do', 'ki', 'lem', 'nor', 'pa', 'ra', 'sut', 'ti', 'vel', 'zo', 'mur', 'fe', 'gan']
  const at = (shift: number) => syllables[(seed >>> shift) % syllables.length] ?? ''
  return at(0) + at(7) + at(14)
}

function hash(text: string, seed: number): number {
  let value = Math.imul(seed + 1, 0x9e3779b1) ^ 0x811c9dc5
  for (let at = 0; at < text.length; at++) value = Math.imul(value ^ text.charCodeAt(at), 0x01000193)
  value ^= value >>> 15
  return (Math.imul(value, 0x85ebca6b) ^ (value >>> 13)) >>> 0
}
