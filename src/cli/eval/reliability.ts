import { rounded } from './figures.ts'

/** Matches with a score in one tenth of the scale. */
export interface Bin {
  readonly from: number
  readonly to: number
  readonly matches: number
  /** Their mean score, which is what they promise, and the share of them that is right. */
  readonly score: number
  readonly right: number
}

const BINS = 10

/** The reliability curve of scores that are probabilities; empty tenths are left out. */
export function reliabilityOf(
  judged: readonly { readonly score: number; readonly isRight: boolean }[],
): Bin[] {
  const bins: Bin[] = []
  for (let bin = 0; bin < BINS; bin++) {
    const inside = judged.filter(({ score }) => Math.min(BINS - 1, Math.floor(BINS * score)) === bin)
    if (inside.length === 0) continue
    const share = (sum: number) => rounded(sum / inside.length, 3)
    bins.push({
      from: bin / BINS,
      to: (bin + 1) / BINS,
      matches: inside.length,
      score: share(inside.reduce((sum, { score }) => sum + score, 0)),
      right: share(inside.filter(({ isRight }) => isRight).length),
    })
  }
  return bins
}
