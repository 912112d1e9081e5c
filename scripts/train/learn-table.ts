import { TextTokens } from '../../src/embedders/text-tokens.ts'
import { splitName } from '../../src/names.ts'
import { listingText } from '../../src/search/listing-text.ts'
import type { Listing } from '../../src/tool.ts'
import { contrast, type Pair } from './contrast.ts'
import type { Gloss } from './corpora.ts'
import type { DataSet, LabelledQuery } from './datasets.ts'
import { imitate, type Model } from './imitate.ts'
import { principalAxes, projected } from './principal-axes.ts'
import { seededRandom, shuffled } from './random.ts'
import type { Teacher } from './teacher.ts'
import { teacherText } from './teacher-text.ts'
import { TrainableTable } from './trainable-table.ts'
import { chooseVocabulary } from './vocabulary.ts'

export interface LearnOptions {
  readonly dimensions: number
  readonly epochs: number
  readonly imitationEpochs: number
  readonly seed: number
  readonly rate: number
  readonly imitation: number
  readonly maxQueriesPerSet: number
  readonly queryWeight: number
  readonly glossesPerEpoch: number
  readonly afterEpoch?: (epoch: number, table: LearnedTable) => void
}

export const DEFAULTS: LearnOptions = {
  dimensions: 256,
  epochs: 5,
  imitationEpochs: 4,
  seed: 7,
  rate: 0.003,
  imitation: 10,
  maxQueriesPerSet: 1_000,
  queryWeight: 1,
  glossesPerEpoch: 6_000,
}

export interface LearnedTable {
  /** By row. */
  readonly vocabulary: readonly string[]
  readonly dimensions: number
  readonly rows: Float32Array
}

const MAX_TOKENS = 128
const BATCH = 256
/** Pairs of one source that stay together in a batch, where they are each other's hardest negatives. */
const NEIGHBOURS = 8

/** Learns a token table: distilled from the teacher, then contrastive on names, descriptions and labelled queries. */
export async function learnTable(
  sets: readonly DataSet[],
  glosses: readonly Gloss[],
  teacher: Teacher,
  options: LearnOptions,
): Promise<LearnedTable> {
  const random = seededRandom(options.seed)
  const { vocabulary, rows, axes } = await distill(sets, teacher, options.dimensions)
  const table = new TrainableTable(rows, options.dimensions)
  const tokens = new TextTokens(new Map(vocabulary.map((token, row) => [token, row])))
  const read = (text: string): number[] => tokens.read(text, MAX_TOKENS)
  const models = await readModels(sets, glosses, teacher, axes, read)
  const names = sets.flatMap(({ listings }) => listings.flatMap((listing) => namePair(listing, read) ?? []))
  const glossPairs = glosses.map((gloss, at) => glossPair(gloss, at, read))
  const learned = { vocabulary, dimensions: options.dimensions, rows }

  const batchesOf = (): number => Math.ceil(names.length / BATCH)
  const total = options.epochs * batchesOf()
  for (let epoch = 0; epoch < options.imitationEpochs; epoch++) {
    let likeness = 0
    const order = shuffled(models, random)
    for (let start = 0; start < order.length; start += BATCH) {
      likeness += imitate(table, order.slice(start, start + BATCH), 1)
      table.step(options.rate)
    }
    console.log(`  imitation ${epoch + 1}: cosine ${(likeness / Math.ceil(order.length / BATCH)).toFixed(3)}`)
  }
  options.afterEpoch?.(0, learned)
  let step = 0
  for (let epoch = 1; epoch <= options.epochs; epoch++) {
    const asked = sets.flatMap((set) => questionPairs(set, read, options, random))
    const meant = shuffled(glossPairs, random).slice(0, options.glossesPerEpoch)
    const pairs = keepNeighbours([...names, ...asked, ...meant], random)
    const order = shuffled(models, random)
    let loss = 0
    let batches = 0
    for (let start = 0; start < pairs.length; start += BATCH) {
      const rate = options.rate * (1 - 0.9 * Math.min(1, step++ / (total * 1.15)))
      loss += contrast(table, pairs.slice(start, start + BATCH), 1)
      const from = (start * 7) % Math.max(1, order.length - BATCH)
      if (options.imitation > 0) imitate(table, order.slice(from, from + BATCH), options.imitation)
      table.step(rate)
      batches++
    }
    console.log(`  epoch ${epoch}: loss ${(loss / batches).toFixed(3)} over ${pairs.length} pairs`)
    options.afterEpoch?.(epoch, learned)
  }
  return learned
}

/** Every row as the teacher sees its token alone, in the strongest dimensions; rare tokens count more. */
async function distill(
  sets: readonly DataSet[],
  teacher: Teacher,
  dimensions: number,
): Promise<{ vocabulary: string[]; rows: Float32Array; axes: Float32Array[] }> {
  const listings = sets.flatMap((set) => set.listings)
  const { tokens, words } = chooseVocabulary(teacher.model.vocabulary, listings)
  const vectors = [...(await teacher.tokenVectors(tokens)), ...(await teacher.vectorsOf(words))]
  const texts = await teacher.vectorsOf(listings.map(teacherText))
  const axes = principalAxes(
    [...texts, ...vectors.filter((_, at) => at % 3 === 0)],
    teacher.dimensions,
    dimensions,
  )
  const rows = new Float32Array(vectors.length * dimensions)
  for (const [row, vector] of vectors.entries()) {
    // Vocabularies are ordered by frequency. Added words are as telling as rare ones.
    const rank = Math.min(row, tokens.length)
    const weight = Math.log(1 + rank) / 10
    rows.set(
      projected(vector, axes).map((value) => value * weight),
      row * dimensions,
    )
  }
  return { vocabulary: [...tokens, ...words], rows, axes }
}

async function readModels(
  sets: readonly DataSet[],
  glosses: readonly Gloss[],
  teacher: Teacher,
  axes: readonly Float32Array[],
  read: (text: string) => number[],
): Promise<Model[]> {
  const known = sets.flatMap(({ listings, queries }) => [
    ...listings.map(teacherText),
    ...queries.filter((query) => !query.isHeldOut).map((query) => query.text),
  ])
  const texts = [...known, ...glosses.map(({ meaning }) => meaning)]
  const vectors = await teacher.vectorsOf(texts)
  return texts.map((text, at) => ({
    tokens: read(text),
    vector: normalized(projected(vectors[at] as Float32Array, axes)),
  }))
}

function namePair(
  listing: Listing,
  read: (text: string) => number[],
): (Pair & { group: string }) | undefined {
  const group = groupOf(listing)
  const named = splitName(listing.ownName)
  const origin = listing.source.kind === 'mcp' ? splitName(listing.source.server) : []
  const asked = read([...origin.filter((word) => !named.includes(word)), ...named].join(' '))
  const answer = read(listing.description.slice(0, 400))
  if (asked.length === 0 || answer.length < 3) return undefined
  return {
    asked,
    answer,
    weight: 1,
    group,
    keys: [keyOf(listing), `text ${listing.description.slice(0, 60)}`],
  }
}

function glossPair(
  { words, meaning }: Gloss,
  at: number,
  read: (text: string) => number[],
): Pair & { group: string } {
  return {
    asked: read(words),
    answer: read(meaning),
    weight: 1,
    group: `gloss ${at}`,
    keys: [`gloss ${words}`],
  }
}

function questionPairs(
  set: DataSet,
  read: (text: string) => number[],
  { maxQueriesPerSet, queryWeight }: LearnOptions,
  random: () => number,
): (Pair & { group: string })[] {
  const usable = set.queries.filter((query) => !query.isHeldOut && query.relevant.length > 0)
  const chosen = shuffled(usable, random).slice(0, maxQueriesPerSet)
  return chosen.flatMap((query) => {
    const listing = pick(query, random)
    const asked = read(query.text)
    const answer = read(listingText(listing))
    if (asked.length === 0 || answer.length === 0) return []
    return [{ asked, answer, weight: queryWeight, group: groupOf(listing), keys: query.relevant.map(keyOf) }]
  })
}

function pick({ relevant }: LabelledQuery, random: () => number): Listing {
  return relevant[Math.floor(random() * relevant.length)] as Listing
}

function groupOf({ source }: Listing): string {
  return source.kind === 'mcp' ? source.server : 'none'
}

/** Equal for tools of one name, whichever server offers them. */
function keyOf({ ownName }: Listing): string {
  return `name ${splitName(ownName).join(' ')}`
}

/** Shuffles pairs, but leaves a few of each source side by side. */
function keepNeighbours(pairs: readonly (Pair & { group: string })[], random: () => number): Pair[] {
  const groups = new Map<string, (Pair & { group: string })[]>()
  for (const pair of shuffled(pairs, random)) {
    const group = groups.get(pair.group)
    if (group === undefined) groups.set(pair.group, [pair])
    else group.push(pair)
  }
  const chunks: Pair[][] = []
  for (const group of groups.values())
    for (let start = 0; start < group.length; start += NEIGHBOURS)
      chunks.push(group.slice(start, start + NEIGHBOURS))
  return shuffled(chunks, random).flat()
}

function normalized(vector: Float32Array): Float32Array {
  let square = 0
  for (const value of vector) square += value * value
  const scale = square > 0 ? 1 / Math.sqrt(square) : 0
  return vector.map((value) => value * scale)
}
