import type { Listing } from '../../packages/core/src/tool.ts'
import { TextTokens } from '../../packages/embedder/src/text-tokens.ts'
import { contrast, type Pair } from './contrast.ts'
import type { Gloss } from './corpora.ts'
import type { DataSet } from './datasets.ts'
import { distill, readModels } from './distill.ts'
import { imitate, type Model } from './imitate.ts'
import { likeGroups } from './like-groups.ts'
import {
  type GroupedPair,
  glossPair,
  keepNeighbours,
  listingPairs,
  questionPairs,
  withGaps,
  withNoise,
} from './pairs.ts'
import { seededRandom, shuffled } from './random.ts'
import type { Teacher } from './teacher.ts'
import { teacherText } from './teacher-text.ts'
import { TrainableNetwork } from './trainable-network.ts'
import { TrainableTable } from './trainable-table.ts'

export interface LearnOptions {
  readonly dimensions: number
  /** Epochs of imitation alone, then of contrast together with imitation. */
  readonly imitationEpochs: number
  readonly epochs: number
  /** The size of the first steps; contrast steps shrink to a tenth. */
  readonly rate: number
  /** The weight of imitation beside contrast. With too little, the table forgets what no pair covers. */
  readonly imitation: number
  /** Limits large sets, so that they do not dominate the others. */
  readonly maxQueriesPerSet: number
  /** How often labelled queries occur per epoch: each is worth more than a name. */
  readonly queryTurns: number
  readonly glossesPerEpoch: number
  /** The share of the tokens that each text lacks, other ones in each epoch. */
  readonly gaps: number
  /** How often to learn, each time in another order; the result is the mean. */
  readonly draws: number
  /** Of the network for requests: its units, the size of its first steps, and how much of what it adds is kept. */
  readonly units: number
  readonly networkRate: number
  readonly networkShare: number
  readonly seed: number
}

/** Tuned on sets left out of training; `queryTurns` on the held-out queries. */
export const DEFAULTS: LearnOptions = {
  dimensions: 256,
  imitationEpochs: 4,
  epochs: 5,
  rate: 0.003,
  imitation: 10,
  maxQueriesPerSet: 7_000,
  queryTurns: 8,
  glossesPerEpoch: 6_000,
  gaps: 0.1,
  draws: 3,
  units: 64,
  networkRate: 0.0005,
  networkShare: 0.5,
  seed: 7,
}

export interface LearnedTable {
  /** By row. */
  readonly vocabulary: readonly string[]
  readonly rows: Float32Array
  /** The rows of the network for requests. */
  readonly network: Float32Array
}

const MAX_TOKENS = 128
const BATCH = 256

/**
 * Learns a token table: distilled from the teacher, then contrastive on names, descriptions and labelled queries, in
 * several orders from the same start.
 */
export async function learnTable(
  sets: readonly DataSet[],
  glosses: readonly Gloss[],
  teacher: Teacher,
  options: LearnOptions,
): Promise<LearnedTable> {
  const { vocabulary, rows, axes } = await distill(sets, teacher, options.dimensions)
  const tokens = new TextTokens(new Map(vocabulary.map((token, row) => [token, row])))
  const read = (text: string): number[] => tokens.read(text, MAX_TOKENS)
  const listings = sets.flatMap((set) => set.listings)
  const trained = sets.flatMap(({ queries }) => queries.filter(({ isHeldOut }) => !isHeldOut))
  const lessons: Lessons = {
    sets,
    read,
    models: await readModels(sets, glosses, teacher, axes, read),
    told: listings.flatMap((listing) => listingPairs(listing, read)),
    groupOf: likeGroups(listings, await teacher.vectorsOf(listings.map(teacherText))),
    meanings: glosses.map((gloss, at) => glossPair(gloss, at, read)),
    requestWords: trained.flatMap(({ text }) => read(text)),
  }
  const draws = Array.from({ length: options.draws }, (_, draw) => {
    console.log(`draw ${draw + 1} of ${options.draws}`)
    return learnOnce(lessons, rows, options, seededRandom(options.seed + draw))
  })
  return {
    vocabulary,
    rows: meanOf(draws.map((draw) => draw.rows)),
    network: meanOf(draws.map((draw) => draw.network)),
  }
}

/** What every draw learns from. */
interface Lessons {
  readonly sets: readonly DataSet[]
  readonly read: (text: string) => number[]
  readonly models: readonly Model[]
  readonly told: readonly GroupedPair[]
  readonly groupOf: (listing: Listing) => string
  readonly meanings: readonly GroupedPair[]
  /** Of all trained requests. */
  readonly requestWords: readonly number[]
}

function learnOnce(
  lessons: Lessons,
  start: Float32Array,
  options: LearnOptions,
  random: () => number,
): Omit<LearnedTable, 'vocabulary'> {
  const { models } = lessons
  const table = new TrainableTable(start, options.dimensions)
  const network = new TrainableNetwork(options.dimensions, options.units, options.seed)
  for (let epoch = 1; epoch <= options.imitationEpochs; epoch++) {
    const likeness = imitateAll(table, shuffled(models, random), options.rate)
    console.log(`  imitation ${epoch}: cosine ${likeness.toFixed(3)}`)
  }
  for (let epoch = 1; epoch <= options.epochs; epoch++) {
    const pairs = epochPairs(lessons, options, random)
    const stepAt = (share: number): void => {
      const size = 1 - (0.9 * (epoch - 1 + share)) / options.epochs
      table.step(options.rate * size)
      network.step(options.networkRate * size)
    }
    const learners = { table, network, stepAt }
    const loss = contrastAll(learners, pairs, shuffled(models, random), options.imitation)
    console.log(`  epoch ${epoch}: loss ${loss.toFixed(3)} over ${pairs.length} pairs`)
  }
  return { rows: Float32Array.from(table.rows), network: network.rows(options.networkShare) }
}

/** The pairs of one epoch, in the order of learning. */
function epochPairs(
  { sets, read, told, groupOf, meanings, requestWords }: Lessons,
  { maxQueriesPerSet: maxQueries, queryTurns, glossesPerEpoch, gaps }: LearnOptions,
  random: () => number,
): Pair[] {
  const asked = Array.from({ length: queryTurns }, () =>
    sets.flatMap((set) => questionPairs(set, { read, groupOf, maxQueries, random })),
  )
  const meant = shuffled(meanings, random).slice(0, glossesPerEpoch)
  const pairs = keepNeighbours([...told, ...asked.flat(), ...meant], random)
  return withGaps(withNoise(pairs, requestWords, random), gaps, random)
}

function meanOf(draws: readonly Float32Array[]): Float32Array {
  const mean = new Float32Array(draws[0]?.length ?? 0)
  for (const draw of draws)
    for (let at = 0; at < mean.length; at++)
      mean[at] = (mean[at] as number) + (draw[at] as number) / draws.length
  return mean
}

/** One epoch of imitation; returns the mean cosine to the models. */
function imitateAll(table: TrainableTable, models: readonly Model[], rate: number): number {
  let likeness = 0
  for (let start = 0; start < models.length; start += BATCH) {
    likeness += imitate(table, models.slice(start, start + BATCH), 1)
    table.step(rate)
  }
  return likeness / Math.ceil(models.length / BATCH)
}

/** What learns by contrast; `stepAt` takes a step, given the share of the epoch that is done. */
interface Learners {
  readonly table: TrainableTable
  readonly network: TrainableNetwork
  stepAt(share: number): void
}

/** One epoch of contrast, with a batch of imitation in every step; returns the mean loss. */
function contrastAll(
  { table, network, stepAt }: Learners,
  pairs: readonly Pair[],
  models: readonly Model[],
  imitation: number,
): number {
  let loss = 0
  for (let start = 0; start < pairs.length; start += BATCH) {
    loss += contrast(table, pairs.slice(start, start + BATCH), 1, network)
    const from = start % Math.max(1, models.length - BATCH)
    imitate(table, models.slice(from, from + BATCH), imitation)
    stepAt(start / pairs.length)
  }
  return loss / Math.ceil(pairs.length / BATCH)
}
