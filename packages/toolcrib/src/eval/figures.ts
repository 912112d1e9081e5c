/** A range as two shares. */
export type Interval = readonly [low: number, high: number]

/** How often the queries are resampled to estimate how much a mean varies. */
const DRAWS = 1_000

export function mean(values: readonly number[]): number {
  return rounded(values.reduce((sum, value) => sum + value, 0) / values.length, 4)
}

export function rounded(value: number, digits: number): number {
  return Number(value.toFixed(digits))
}

/** The 95 % confidence interval of a mean, by a repeatable bootstrap. */
export function confidenceInterval(values: readonly number[]): Interval {
  const random = seededRandom(42)
  const means = Array.from({ length: DRAWS }, () => {
    let sum = 0
    for (let drawn = 0; drawn < values.length; drawn++)
      sum += values[Math.floor(random() * values.length)] ?? 0
    return sum / values.length
  }).sort((a, b) => a - b)
  return [
    rounded(means[Math.floor(DRAWS * 0.025)] ?? 0, 4),
    rounded(means[Math.floor(DRAWS * 0.975)] ?? 0, 4),
  ]
}

/** The probability of such an uneven split when neither side is better: the two-sided sign test. */
export function signTest(wins: number, losses: number): number {
  const rounds = wins + losses
  if (rounds === 0) return 1
  // Log factorials, since plain ones overflow with a thousand queries.
  const logFactorial = [0]
  for (let n = 1; n <= rounds; n++) logFactorial[n] = (logFactorial[n - 1] ?? 0) + Math.log(n)
  const at = (n: number) => logFactorial[n] ?? 0
  let tail = 0
  for (let n = 0; n <= Math.min(wins, losses); n++) {
    tail += Math.exp(at(rounds) - at(n) - at(rounds - n) - rounds * Math.LN2)
  }
  return Math.min(1, rounded(2 * tail, 4))
}

/** A small linear congruential generator: repeatable, and random enough to draw queries. */
function seededRandom(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}

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
