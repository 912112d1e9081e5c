/**
 * Trains the ranker of `hybrid`: `npm run train -- ranker`.
 *
 * Reads the sets that bench/recall.ts reads, with embedders that were not trained on them where there are any
 * (.bench/without-<set>.bin; otherwise only the queries kept aside), and prints the weights, the calibration, and
 * recall@5 on each family of sets with weights trained without that family. Copy the numbers to
 * src/search/hybrid/ranker.ts. The same inputs give the same numbers.
 */

import type { LabelledCase } from '../../bench/recall/labelled-case.ts'
import { ownCases } from '../../bench/recall/own-cases.ts'
import { publicSets } from '../../bench/recall/public-sets.ts'
import { toGroups } from '../../src/cli/eval/load-case.ts'
import { staticEmbedder } from '../../src/embedders/static-embedder.ts'
import { type Features, WEIGHTS } from '../../src/search/hybrid/ranker.ts'
import { HybridIndex } from '../../src/search/hybrid.ts'
import { acceptEvery, parseQuery } from '../../src/search/query/query.ts'
import { CheckedEmbedder } from '../../src/search/vectors/embedder.ts'
import { ListingVectors } from '../../src/search/vectors/listing-vectors.ts'
import type { Listing } from '../../src/tool.ts'
import { trainCalibration } from './calibration.ts'
import { type Question, type QuestionSet, recallOf, trainWeights } from './listwise.ts'

const NAMES = Object.keys(WEIGHTS) as (keyof Features)[]

/** Queries per set: more of one kind teach little. */
const MAX_QUERIES = 600
const CANDIDATES = 27

/** Trains, and prints the result. */
export async function trainRanker(): Promise<void> {
  const sets: QuestionSet[] = []
  for (const labelled of [...(await ownCases()), ...(await publicSets())]) {
    const set = await questionsOf(labelled)
    sets.push(set)
    console.log(`  read ${set.name}: ${set.questions.length} queries`)
  }
  const families = [...new Set(sets.map(({ family }) => family))]
  console.log('recall@5 with weights trained without the family, and with the present ones:')
  const leftOut: QuestionSet[] = []
  for (const family of families) {
    const weights = trainWeights(
      sets.filter((set) => set.family !== family),
      NAMES.length,
    )
    for (const set of sets.filter((one) => one.family === family)) {
      const present = NAMES.map((name) => WEIGHTS[name])
      const [now, before] = [recallOf(set, weights), recallOf(set, present)]
      console.log(`  ${set.name.padEnd(30)} ${now.toFixed(1)}  ${before.toFixed(1)}`)
      leftOut.push({ ...set, weights })
    }
  }
  const weights = trainWeights(sets, NAMES.length)
  console.log('weights:')
  for (const [at, name] of NAMES.entries()) console.log(`  ${name}: ${(weights[at] ?? 0).toFixed(2)},`)
  console.log('calibration:')
  for (const line of trainCalibration(leftOut, NAMES)) console.log(`  ${line}`)
}

async function questionsOf({
  name,
  tools,
  queries,
  isKeptAside,
  leftOutTable,
}: LabelledCase): Promise<QuestionSet> {
  const path = leftOutTable === undefined ? {} : { path: leftOutTable }
  const embedder = new CheckedEmbedder(staticEmbedder(path))
  const index = new HybridIndex(embedder, new ListingVectors(embedder, { saved: new Map(), onEmbedded() {} }))
  const idOf = new Map<Listing, string>()
  for (const [source, listings] of toGroups(tools, idOf)) index.update(source, listings)
  const unseen =
    leftOutTable === undefined && isKeptAside ? queries.filter(({ query }) => isKeptAside(query)) : queries
  const step = Math.max(1, unseen.length / MAX_QUERIES)
  const asked = unseen.filter((_, at) => Math.floor(at / step) !== Math.floor((at - 1) / step))
  const questions: Question[] = []
  for (const { query, relevant } of asked) {
    const found = await index.candidates(parseQuery(query), { limit: CANDIDATES, accepts: acceptEvery })
    const wanted = new Set(relevant)
    questions.push({
      relevant: wanted.size,
      rows: (found ?? []).map(({ listing, features }) => ({
        isRight: wanted.has(idOf.get(listing) ?? ''),
        features: Float64Array.from(NAMES, (one) => features[one]),
      })),
    })
  }
  return { name, family: name.split(/[ ,]/)[0] ?? name, questions }
}
