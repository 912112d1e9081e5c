import { createHash } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { LabelledCase } from '../../bench/recall/labelled-case.ts'
import type { Features } from '../../packages/core/src/search/hybrid/ranker.ts'
import { HybridIndex } from '../../packages/core/src/search/hybrid.ts'
import { parseQuery } from '../../packages/core/src/search/query/query.ts'
import { acceptEvery } from '../../packages/core/src/search/searcher.ts'
import { CheckedEmbedder } from '../../packages/core/src/search/vectors/embedder.ts'
import { ListingVectors } from '../../packages/core/src/search/vectors/listing-vectors.ts'
import type { Listing } from '../../packages/core/src/tool.ts'
import { staticEmbedder } from '../../packages/embedder/src/static-embedder.ts'
import { toGroups } from '../../packages/toolcrib/src/eval/load-case.ts'
import type { Question, QuestionSet } from './listwise.ts'
import type { Asked } from './small-catalogues.ts'

const FOLDER = '.bench/ranker'
const SEARCH = join(import.meta.dirname, '../../packages/core/src/search')

/** The matches that a search asks for, as the registry does. */
const LIMIT = 27

/**
 * The candidates of a set's queries with their features, from disk if nothing changed that they depend on: the code of the
 * search, the tools, the queries, the embedder.
 */
export async function cachedQuestions(
  labelled: LabelledCase,
  names: readonly (keyof Features)[],
  maxQueries: number,
): Promise<QuestionSet> {
  const { name, tools, leftOutTable } = labelled
  const queries = chosenQueries(labelled, maxQueries)
  return cachedCatalogues({ name, leftOutTable, catalogues: [{ tools, queries }] }, names)
}

/** Catalogues, each with the requests it is asked. */
interface Catalogues {
  readonly name: string
  readonly leftOutTable: string | undefined
  readonly catalogues: readonly Asked[]
}

/** The same for many catalogues. */
export async function cachedCatalogues(
  asked: Catalogues,
  names: readonly (keyof Features)[],
): Promise<QuestionSet> {
  const key = keyOf(asked, names)
  const file = join(FOLDER, `${asked.name.replace(/\W+/g, '-')}.bin`)
  const known = read(file, key)
  if (known !== undefined) return known
  const set = await questionsOf(asked, names)
  write(file, key, set)
  return set
}

/** Code that turns features into scores: the features do not depend on it. */
const BEHIND_FEATURES = [join('hybrid', 'calibration.ts'), join('hybrid', 'judge.ts')]

function keyOf({ catalogues, leftOutTable }: Catalogues, names: readonly string[]): string {
  const hash = createHash('sha256').update(JSON.stringify(names))
  for (const { tools, queries } of catalogues) hash.update(JSON.stringify([tools, queries]))
  const files = readdirSync(SEARCH, { recursive: true, encoding: 'utf8' })
  for (const file of files.filter((one) => one.endsWith('.ts') && !one.endsWith('.test.ts')).sort())
    if (!BEHIND_FEATURES.includes(file)) hash.update(readFileSync(join(SEARCH, file)))
  hash.update(
    leftOutTable === undefined ? shippedTable() : `${leftOutTable} ${statSync(leftOutTable).mtimeMs}`,
  )
  return hash.digest('hex')
}

/** Changes when the embedder in the package is trained again, also under the same name. */
function shippedTable(): string {
  const embedder = staticEmbedder()
  return JSON.stringify([embedder.name, embedder.embed(['send a message to the team'])])
}

/** What a file starts with: one line of JSON. The rows follow as 32-bit floats, then a byte per row. */
interface Head extends Pick<QuestionSet, 'name' | 'family' | 'questions' | 'width'> {
  readonly key: string
}

function read(file: string, key: string): QuestionSet | undefined {
  let bytes: Buffer
  try {
    bytes = readFileSync(file)
  } catch {
    return undefined
  }
  const end = bytes.indexOf('\n')
  const { key: cached, ...head }: Head = JSON.parse(bytes.toString('utf8', 0, end))
  if (cached !== key) return undefined
  const count = head.questions.at(-1)?.end ?? 0
  // A copy, since floats must be aligned.
  const body = Uint8Array.from(bytes.subarray(end + 1))
  const rows = new Float32Array(body.buffer, 0, count * head.width)
  return { ...head, rows, isRight: body.subarray(rows.byteLength) }
}

function write(file: string, key: string, { rows, isRight, ...head }: QuestionSet): void {
  mkdirSync(FOLDER, { recursive: true })
  const line = `${JSON.stringify({ ...head, key })}\n`
  writeFileSync(file, Buffer.concat([Buffer.from(line), new Uint8Array(rows.buffer), isRight]))
}

/** The queries of a set that its embedder has not seen; at most so many, evenly spread. */
function chosenQueries(
  { queries, isKeptAside, leftOutTable }: LabelledCase,
  maxQueries: number,
): LabelledCase['queries'] {
  const unseen =
    leftOutTable === undefined && isKeptAside ? queries.filter(({ query }) => isKeptAside(query)) : queries
  const step = Math.max(1, unseen.length / maxQueries)
  return unseen.filter((_, at) => Math.floor(at / step) !== Math.floor((at - 1) / step))
}

async function questionsOf(
  { name, catalogues, leftOutTable }: Catalogues,
  names: readonly (keyof Features)[],
): Promise<QuestionSet> {
  const embedder = new CheckedEmbedder(
    staticEmbedder(leftOutTable === undefined ? {} : { path: leftOutTable }),
  )
  const questions: Question[] = []
  const rows: number[] = []
  const isRight: number[] = []
  for (const { tools, queries } of catalogues) {
    const vectors = new ListingVectors(embedder, { saved: new Map(), onEmbedded() {} })
    const index = new HybridIndex(embedder, vectors)
    const idOf = new Map<Listing, string>()
    for (const [source, listings] of toGroups(tools, idOf)) index.update(source, listings)
    for (const { query, relevant } of queries) {
      const start = isRight.length
      const wanted = new Set(relevant)
      const found = await index.candidates(parseQuery(query), { limit: LIMIT, accepts: acceptEvery })
      for (const { listing, features } of found ?? []) {
        for (const one of names) rows.push(features[one])
        isRight.push(wanted.has(idOf.get(listing) ?? '') ? 1 : 0)
      }
      questions.push({ tools: tools.length, relevant: wanted.size, start, end: isRight.length })
    }
  }
  return {
    name,
    family: familyOf(name),
    questions,
    width: names.length,
    rows: Float32Array.from(rows),
    isRight: Uint8Array.from(isRight),
  }
}

/** Sets of one family share a catalogue or an author: its name is the first word of theirs. */
export function familyOf(name: string): string {
  return name.split(/[ ,]/)[0] ?? name
}
