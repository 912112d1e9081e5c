import { signTest } from './figures.ts'
import type { Measurement, QueryOutcome } from './measure.ts'

/** Two searchers on the same queries. A query counts for the one that ranks its tools better (nDCG@10). */
export interface Comparison {
  readonly first: string
  readonly second: string
  readonly firstBetter: number
  readonly secondBetter: number
  readonly equal: number
  /** The probability of such an uneven split by chance. Below 0.05 the difference is probably real. */
  readonly pValue: number
  /** The queries on which they differ, largest differences first. */
  readonly differences: readonly Difference[]
}

export interface Difference {
  readonly id: string
  readonly query: string
  readonly relevant: readonly string[]
  /** Rank of the first relevant tool, or null when it is not in the top ten. */
  readonly firstRank: number | null
  readonly secondRank: number | null
}

export function compare(a: Measurement, b: Measurement): Comparison {
  const pairs = a.outcomes.flatMap((one, at) => {
    const other = b.outcomes[at]
    return other ? [{ one, other, gap: one.ndcg - other.ndcg }] : []
  })
  const firstBetter = pairs.filter(({ gap }) => gap > 0).length
  const secondBetter = pairs.filter(({ gap }) => gap < 0).length
  const differing = pairs.filter(({ gap }) => gap !== 0).sort((x, y) => Math.abs(y.gap) - Math.abs(x.gap))
  return {
    first: a.report.searcher,
    second: b.report.searcher,
    firstBetter,
    secondBetter,
    equal: pairs.length - firstBetter - secondBetter,
    pValue: signTest(firstBetter, secondBetter),
    differences: differing.map(({ one, other }) => ({
      id: one.id,
      query: one.query,
      relevant: one.relevant,
      firstRank: rankOf(one),
      secondRank: rankOf(other),
    })),
  }
}

function rankOf({ reciprocalRank }: QueryOutcome): number | null {
  return reciprocalRank === 0 ? null : Math.round(1 / reciprocalRank)
}
