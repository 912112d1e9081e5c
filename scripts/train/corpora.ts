import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { Listing } from '../../packages/core/src/tool.ts'
import { type DataSet, readOwnQueries } from './datasets.ts'
import { seededRandom, shuffled } from './random.ts'

const NAME = 'openapi'

/** Operations per API: a few from many APIs teach more than many from a few. */
const OPERATIONS_PER_API = 10
const MAX_OPERATIONS = 16_000
const MAX_GLOSSES = 30_000
const MAX_TEXT = 300
/** Larger API descriptions are rare, and slow to read. */
const MAX_FILE_BYTES = 3_000_000

/** Words with the same meaning, and that meaning. */
export interface Gloss {
  readonly words: string
  readonly meaning: string
}

/**
 * Reads a folder of OpenAPI documents as a catalogue: one listing per operation, with its API as the server. The ids of
 * our own queries for it are `<server>/<name>`, which a few operations share.
 */
export function readOperations(folder: string): DataSet {
  const listings = new Map<string, Listing>()
  const random = seededRandom(11)
  for (const path of jsonFiles(folder)) {
    const document: ApiDocument = JSON.parse(readFileSync(path, 'utf8'))
    const server = plainText(document.info?.title ?? '')
      .replace(/\bAPI\b/g, '')
      .trim()
    const operations = Object.values(document.paths ?? {}).flatMap((methods) => Object.values(methods ?? {}))
    for (const operation of shuffled(operations, random).slice(0, OPERATIONS_PER_API)) {
      const listing = toListing(server, operation)
      if (listing !== undefined && !listings.has(listing.description))
        listings.set(listing.description, listing)
    }
  }
  const chosen = shuffled([...listings.values()], random).slice(0, MAX_OPERATIONS)
  const byId = new Map<string, Listing[]>()
  for (const listing of chosen) {
    const id = idOf(listing)
    byId.set(id, [...(byId.get(id) ?? []), listing])
  }
  const queries = readOwnQueries(NAME, (id) => byId.get(id) ?? [])
  return { name: NAME, listings: chosen, queries }
}

/** Reads the glosses of a WordNet `dict` folder. */
export function readGlosses(folder: string): Gloss[] {
  const glosses = ['data.noun', 'data.verb', 'data.adj'].flatMap((file) =>
    readFileSync(join(folder, file), 'utf8').split('\n').flatMap(toGloss),
  )
  return shuffled(glosses, seededRandom(13)).slice(0, MAX_GLOSSES)
}

function idOf({ name, source }: Listing): string {
  return `${source.kind === 'mcp' ? source.server : ''}/${name}`
}

interface ApiDocument {
  readonly info?: { readonly title?: string }
  readonly paths?: Readonly<Record<string, Readonly<Record<string, unknown>> | undefined>>
}

function* jsonFiles(folder: string): Generator<string> {
  for (const name of readdirSync(folder).sort()) {
    const path = join(folder, name)
    const stats = statSync(path)
    if (stats.isDirectory()) yield* jsonFiles(path)
    else if (name.endsWith('.json') && stats.size <= MAX_FILE_BYTES) yield path
  }
}

function toListing(server: string, operation: unknown): Listing | undefined {
  if (typeof operation !== 'object' || operation === null) return undefined
  const { operationId, summary, description } = operation as Record<string, unknown>
  const name = typeof operationId === 'string' ? operationId : summary
  const texts = [summary, description].filter(
    (text): text is string => typeof text === 'string' && text !== '',
  )
  const text = plainText([...new Set(texts)].join('. ')).slice(0, MAX_TEXT)
  if (typeof name !== 'string' || text.length < 15) return undefined
  return {
    name,
    ownName: name.slice(0, 80),
    description: text,
    inputSchema: {},
    source: { kind: 'mcp', server },
    trust: 0,
  }
}

function plainText(text: string): string {
  return text
    .replace(/<[^>]+>/g, ' ')
    .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replace(/[*`#]+/g, '')
    .replace(/\s+/g, ' ')
    .trim()
}

/** `… n lemma 0 lemma 0 … | what it means; "an example"` */
function toGloss(line: string): Gloss[] {
  const [head = '', meaning = ''] = line.split(' | ')
  const fields = head.split(' ')
  const count = Number.parseInt(fields[3] ?? '', 16)
  if (line.startsWith(' ') || meaning === '' || !(count > 0)) return []
  const words = Array.from({ length: count }, (_, at) => (fields[4 + 2 * at] ?? '').replace(/_/g, ' '))
  // Proper names (people, places, species) say nothing about what tools do.
  if (/^[A-Z]/.test(words[0] ?? '')) return []
  return [{ words: words.join(', '), meaning: meaning.trim().slice(0, MAX_TEXT) }]
}
