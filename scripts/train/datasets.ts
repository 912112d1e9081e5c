import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import type { JsonSchema, Listing } from '../../packages/core/src/tool.ts'

/** A catalogue, and queries with known relevant tools. */
export interface DataSet {
  readonly name: string
  readonly listings: readonly Listing[]
  readonly queries: readonly LabelledQuery[]
}

export interface LabelledQuery {
  /** The file it comes from. */
  readonly file: string
  readonly text: string
  readonly relevant: readonly Listing[]
  /** Held out: never trained on, so that results on it are honest. */
  readonly isHeldOut: boolean
}

/** One query in this many is held out. */
const HELD_OUT_ONE_IN = 5

/** Licences that allow training on a catalogue's texts. */
const OPEN_LICENCES = /^(MIT|Apache-2\.0|ISC|0BSD|BSD-[23]-Clause)\b/

/** Our own queries for the tools of a set: a file with the name of the set. */
const OWN_QUERIES = join(import.meta.dirname, 'requests')

/**
 * Reads every folder of `root`. A folder with a `tools.jsonl` is a catalogue, and its other `.jsonl` files are
 * queries; a folder of `.json` files has one `tools/list` result in each. Our own queries for a set are added to it.
 */
export function readDataSets(root: string): DataSet[] {
  const folders = readdirSync(root, { withFileTypes: true }).filter((entry) => entry.isDirectory())
  return folders.map(({ name }) => {
    const folder = join(root, name)
    return existsSync(join(folder, 'tools.jsonl')) ? readLabelledSet(folder) : readDumps(folder)
  })
}

function readLabelledSet(folder: string): DataSet {
  const byId = new Map<string, [Listing]>()
  for (const tool of readLines<ToolLine>(join(folder, 'tools.jsonl'))) byId.set(tool.id, [toListing(tool)])
  const files = readdirSync(folder).filter((file) => file.endsWith('.jsonl') && file !== 'tools.jsonl')
  const name = basename(folder)
  const find = (id: string): readonly Listing[] => byId.get(id) ?? []
  const queries = files.flatMap((file) => readQueries(join(folder, file), basename(file, '.jsonl'), find))
  return {
    name,
    listings: [...byId.values()].flat(),
    queries: [...queries, ...readOwnQueries(name, find)],
  }
}

/** Our own queries for the tools of a set, if there are any. `find` returns the listings with an id. */
export function readOwnQueries(set: string, find: (id: string) => readonly Listing[]): LabelledQuery[] {
  const path = join(OWN_QUERIES, `${set}.jsonl`)
  return existsSync(path) ? readQueries(path, 'requests', find) : []
}

function readQueries(path: string, file: string, find: (id: string) => readonly Listing[]): LabelledQuery[] {
  return readLines<QueryLine>(path).map(({ query, relevant }) => ({
    file,
    text: query,
    relevant: relevant.flatMap(find),
    isHeldOut: hashOf(query) % HELD_OUT_ONE_IN === 0,
  }))
}

function readDumps(folder: string): DataSet {
  const files = readdirSync(folder).filter((file) => file.endsWith('.json') && !file.startsWith('_'))
  const listings = files.flatMap((file) => {
    const dump: Dump = JSON.parse(readFileSync(join(folder, file), 'utf8'))
    if (!OPEN_LICENCES.test(dump.license ?? '')) return []
    const server = file.replace(/\.json$/, '').replace(/^.*__/, '')
    return dump.tools.map((tool) => toListing({ ...tool, id: tool.name, server }))
  })
  return { name: basename(folder), listings, queries: [] }
}

interface Dump {
  readonly license?: string
  readonly tools: readonly Omit<ToolLine, 'id'>[]
}

interface ToolLine {
  readonly id: string
  readonly server?: string
  readonly name: string
  readonly description?: string
  readonly inputSchema?: JsonSchema
}

interface QueryLine {
  readonly query: string
  readonly relevant: readonly string[]
}

function toListing({ id, server, name, description, inputSchema }: ToolLine): Listing {
  return {
    name: id,
    ownName: name,
    description: description ?? '',
    inputSchema: inputSchema ?? {},
    source: server === undefined ? { kind: 'builtin' } : { kind: 'mcp', server },
    trust: 0,
  }
}

function readLines<Line>(path: string): Line[] {
  const lines = readFileSync(path, 'utf8').split('\n')
  return lines.filter((line) => line.trim() !== '').map((line): Line => JSON.parse(line))
}

function hashOf(text: string): number {
  let hash = 0x811c9dc5
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193)
  return (hash ^ (hash >>> 15)) >>> 0
}
