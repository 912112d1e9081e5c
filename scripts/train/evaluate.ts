import type { DataSet, LabelledQuery } from './datasets.ts'

/** The quality of a ranking, in per cent, averaged over queries. */
export interface Quality {
  readonly queries: number
  readonly recall1: number
  readonly recall5: number
  readonly ndcg10: number
}

/** Returns the indexes (in the set's listings) of the best matches for each query, best first. */
export type RankAll = (set: DataSet, queries: readonly LabelledQuery[]) => readonly (readonly number[])[]

/** The quality per query file of each labelled set, on the queries that `isAsked` selects. */
export function evaluate(
  sets: readonly DataSet[],
  rankAll: RankAll,
  isAsked: (query: LabelledQuery) => boolean,
): Map<string, Quality> {
  const results = new Map<string, Quality>()
  for (const set of sets) {
    for (const file of new Set(set.queries.map((query) => query.file))) {
      const queries = set.queries.filter((query) => query.file === file && isAsked(query))
      if (queries.length > 0)
        results.set(`${set.name} ${file}`, qualityOf(set, queries, rankAll(set, queries)))
    }
  }
  return results
}

function qualityOf(
  set: DataSet,
  queries: readonly LabelledQuery[],
  rankings: readonly (readonly number[])[],
): Quality {
  let recall1 = 0
  let recall5 = 0
  let ndcg10 = 0
  for (const [at, { relevant }] of queries.entries()) {
    const wanted = new Set(relevant)
    const found = (rankings[at] ?? []).slice(0, 10).map((place) => {
      const listing = set.listings[place]
      return listing !== undefined && wanted.has(listing)
    })
    const share = (top: number): number => found.slice(0, top).filter(Boolean).length / wanted.size
    recall1 += share(1)
    recall5 += share(5)
    let gain = 0
    let ideal = 0
    for (let rank = 0; rank < 10; rank++) {
      if (found[rank]) gain += 1 / Math.log2(rank + 2)
      if (rank < wanted.size) ideal += 1 / Math.log2(rank + 2)
    }
    ndcg10 += gain / ideal
  }
  const percent = (sum: number): number => (100 * sum) / queries.length
  return {
    queries: queries.length,
    recall1: percent(recall1),
    recall5: percent(recall5),
    ndcg10: percent(ndcg10),
  }
}
