import { TextTokens } from '../../src/embedders/text-tokens.ts'
import { contrast, type Pair } from './contrast.ts'
import type { Gloss } from './corpora.ts'
import type { DataSet } from './datasets.ts'
import { distill, readModels } from './distill.ts'
import { imitate, type Model } from './imitate.ts'
import { likeGroups } from './like-groups.ts'
import { glossPair, keepNeighbours, listingPairs, questionPairs, withNoise } from './pairs.ts'
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
  const network = new TrainableNetwork(options.dimensions, options.units, options.seed)
  const tokens = new TextTokens(new Map(vocabulary.map((token, row) => [token, row])))
  const read = (text: string): number[] => tokens.read(text, MAX_TOKENS)
  const models = await readModels(sets, glosses, teacher, axes, read)
  const listings = sets.flatMap((set) => set.listings)
  const told = listings.flatMap((listing) => listingPairs(listing, read))
  const groupOf = likeGroups(listings, await teacher.vectorsOf(listings.map(teacherText)))
  const meanings = glosses.map((gloss, at) => glossPair(gloss, at, read))

  for (let epoch = 1; epoch <= options.imitationEpochs; epoch++) {
    const likeness = imitateAll(table, shuffled(models, random), options.rate)
    console.log(`  imitation ${epoch}: cosine ${likeness.toFixed(3)}`)
  }
  const trained = sets.flatMap(({ queries }) => queries.filter(({ isHeldOut }) => !isHeldOut))
  const requestWords = trained.flatMap(({ text }) => read(text))
  for (let epoch = 1; epoch <= options.epochs; epoch++) {
    const questions = { read, groupOf, maxQueries: options.maxQueriesPerSet, random }
    const asked = Array.from({ length: options.queryTurns }, () =>
      sets.flatMap((set) => questionPairs(set, questions)),
    )
    const meant = shuffled(meanings, random).slice(0, options.glossesPerEpoch)
    const pairs = keepNeighbours([...told, ...asked.flat(), ...meant], random)
    const progress = (share: number): number => (epoch - 1 + share) / options.epochs
    const stepAt = (share: number): void => {
      const size = 1 - 0.9 * progress(share)
      table.step(options.rate * size)
      network.step(options.networkRate * size)
    }
    const noisy = withNoise(pairs, requestWords, random)
    const learners = { table, network, stepAt }
    const loss = contrastAll(learners, noisy, shuffled(models, random), options.imitation)
    console.log(`  epoch ${epoch}: loss ${loss.toFixed(3)} over ${pairs.length} pairs`)
  }
  return { vocabulary, rows: table.rows, network: network.rows(options.networkShare) }
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
