/**
 * Trains the ranker of `hybrid`: `npm run train -- ranker`.
 *
 * Reads the sets that bench/recall.ts reads, with embedders that were not trained on them where there are any
 * (.bench/without-<set>.bin; otherwise only the queries kept aside), and prints recall@5 of each set by features alone:
 * with weights trained without its family, with weights trained on all, and with the present ones; then the weights and
 * the calibration, also on small catalogues. Copy the numbers to packages/core/src/search/hybrid/ranker.ts and calibration.ts. The same
 * inputs give the same numbers. The features are cached (candidate-cache.ts), so that only the first run after a change of
 * the search takes minutes.
 */

import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { LabelledCase } from '../../bench/recall/labelled-case.ts'
import { ownCases } from '../../bench/recall/own-cases.ts'
import { PUBLIC_DATA, publicSets } from '../../bench/recall/public-sets.ts'
import { type Features, WEIGHTS } from '../../packages/core/src/search/hybrid/ranker.ts'
import { staticEmbedder } from '../../packages/embedder/src/static-embedder.ts'
import { type Judged, trainCalibration } from './calibration.ts'
import { cachedCatalogues, cachedQuestions, familyOf } from './candidate-cache.ts'
import { readDataSets } from './datasets.ts'
import { type QuestionSet, recallOf, trainWeights } from './listwise.ts'
import { KINDS, smallCatalogues } from './small-catalogues.ts'

const NAMES = Object.keys(WEIGHTS) as (keyof Features)[]

/** Queries per set: more of one kind teach little. */
const MAX_QUERIES = 500

/** Trains, and prints the result. */
export async function trainRanker(): Promise<void> {
  const sets: QuestionSet[] = []
  const strangers: QuestionSet[] = []
  const cases = [...(await ownCases()), ...(await publicSets())]
  for (const labelled of cases) {
    const began = performance.now()
    const set = await cachedQuestions(labelled, NAMES, MAX_QUERIES)
    sets.push(set)
    strangers.push(await cachedQuestions(strangersOf(labelled, cases), NAMES, MAX_QUERIES))
    const seconds = ((performance.now() - began) / 1000).toFixed(1)
    console.log(
      `  ${set.name}: ${set.questions.length} queries, ${set.isRight.length} candidates, ${seconds} s`,
    )
  }

  const present = NAMES.map((name) => WEIGHTS[name])
  const all = trainWeights(sets, present)
  const leftOut: { readonly set: QuestionSet; readonly weights: readonly number[] }[] = []
  console.log(`${'recall@5'.padEnd(30)} left out  all in  present`)
  for (const family of new Set(sets.map((set) => set.family))) {
    const weights = trainWeights(
      sets.filter((set) => set.family !== family),
      present,
    )
    for (const set of sets.filter((one) => one.family === family)) {
      const figures = [weights, all, present].map((some) => recallOf(set, some).toFixed(1).padStart(8))
      console.log(`${set.name.padEnd(30)} ${figures.join('')}`)
      leftOut.push({ set, weights })
    }
  }
  console.log('weights:')
  for (const [at, name] of NAMES.entries()) console.log(`  ${name}: ${(all[at] ?? 0).toFixed(2)},`)
  const weightsOf = (family: string) => leftOut.find(({ set }) => set.family === family)?.weights ?? all
  const lessons = [
    ...sets.map((set) => ({ set, lesson: 'labelled' as const })),
    ...strangers.map((set) => ({ set, lesson: 'strangers' as const })),
    ...(await smallSets(cases)),
  ]
  const judgedBy = (weights: (family: string) => readonly number[]) =>
    lessons.map((one): Judged => ({ ...one, weights: weights(one.set.family) }))
  console.log('calibration, with these weights, those of each set trained without its family:')
  for (const line of trainCalibration(judgedBy(weightsOf), NAMES)) console.log(`  ${line}`)
  console.log('calibration, if the present weights stay:')
  for (const line of trainCalibration(
    judgedBy(() => present),
    NAMES,
  ))
    console.log(`  ${line}`)
}

/** Small catalogues of a set for each kind; more of our own requests, which are the most diverse. */
const SMALL_CATALOGUES = 400
const SMALL_CATALOGUES_OF_REQUESTS = 1_600

/** Small catalogues sampled from each set, and from the catalogue that our own requests are for. */
async function smallSets(cases: readonly LabelledCase[]): Promise<Pick<Judged, 'set' | 'lesson'>[]> {
  const sets: Pick<Judged, 'set' | 'lesson'>[] = []
  const noTool = noToolRequests()
  for (const labelled of [...cases.filter(({ name }) => !/among/.test(name)), ...ownRequests()]) {
    const { name, leftOutTable, isKeptAside } = labelled
    const queries =
      leftOutTable === undefined && isKeptAside
        ? labelled.queries.filter(({ query }) => isKeptAside(query))
        : labelled.queries
    const embedder = staticEmbedder(leftOutTable === undefined ? {} : { path: leftOutTable })
    const count = name === OWN_REQUESTS ? SMALL_CATALOGUES_OF_REQUESTS : SMALL_CATALOGUES
    const asked = await smallCatalogues({ ...labelled, queries }, count, { embedder, noTool })
    for (const lesson of KINDS) {
      const catalogues = asked[lesson]
      const set = await cachedCatalogues(
        { name: `${name}, small, ${lesson}`, leftOutTable, catalogues },
        NAMES,
      )
      sets.push({ set, lesson })
    }
    console.log(`  ${name}: ${asked.served.length} small catalogues`)
  }
  return sets
}

const OWN_REQUESTS = 'requests'

/** The requests of our own that the embedder was not trained on, for the tools of a large catalogue. */
function ownRequests(): LabelledCase[] {
  if (!existsSync(PUBLIC_DATA)) return []
  const set = readDataSets(PUBLIC_DATA).find(({ name }) => name === 'catalog-toucan')
  if (set === undefined) return []
  const queries = set.queries.filter(({ isHeldOut, relevant }) => isHeldOut && relevant.length > 0)
  return [
    {
      name: OWN_REQUESTS,
      tools: set.listings.map(({ name, ownName, description, inputSchema, source }) => ({
        id: name,
        name: ownName,
        description,
        inputSchema,
        ...(source.kind === 'mcp' ? { server: source.server } : {}),
      })),
      queries: queries.map(({ text, relevant }, at) => ({
        id: `request-${at}`,
        query: text,
        relevant: relevant.map(({ name }) => name),
      })),
    },
  ]
}

/** Every so many queries of other families are asked as strangers. */
const STRANGER_EVERY = 25

/** Requests that a set's tools cannot serve: some that need no tool, and some that are for other catalogues. */
function strangersOf(labelled: LabelledCase, cases: readonly LabelledCase[]): LabelledCase {
  const family = familyOf(labelled.name)
  const others = cases.filter(({ name }) => familyOf(name) !== family && !/among|dumps/.test(name))
  const asked = others.flatMap(({ queries }) => queries.filter((_, at) => at % STRANGER_EVERY === 0))
  const none = noToolRequests().map((query, at) => ({ id: `none-${at}`, query }))
  const queries = [...asked, ...none].map(({ id, query }) => ({ id, query, relevant: [] }))
  const { name, tools, leftOutTable } = labelled
  return {
    name: `${name}, strangers`,
    tools,
    queries,
    ...(leftOutTable === undefined ? {} : { leftOutTable }),
  }
}

function noToolRequests(): string[] {
  const file = join(import.meta.dirname, '../../bench/recall/no-tool-requests.jsonl')
  const lines = readFileSync(file, 'utf8').trim().split('\n')
  return lines.filter((_, at) => at % 2 === 0).map((line): string => JSON.parse(line).query)
}
