/** What one call's result asks of the budget. */
export interface Claim {
  /** Characters of the result, after reducing. */
  readonly chars: number
  /** The tool's own limit. */
  readonly maxChars?: number | undefined
  /** Never cut: it takes what it takes, and the others share the rest. */
  readonly isSelfLimiting?: boolean | undefined
}

/** What each of `calls` may count on before anything is known: an equal part of the budget. */
export function fairShare(budgetChars: number, calls: number): number {
  return Math.floor(budgetChars / Math.max(calls, 1))
}

/**
 * How many characters each claim gets. Every claim is raised alike until it has what it needs; what small results
 * leave unused goes to those that need more. Limits of claims that are cut never sum to more than the budget.
 */
export function shareBudget(budgetChars: number, claims: readonly Claim[]): number[] {
  const fixed = claims.reduce((sum, claim) => sum + (claim.isSelfLimiting ? claim.chars : 0), 0)
  let left = Math.max(0, budgetChars - fixed)
  const limits = claims.map((claim) => (claim.isSelfLimiting ? claim.chars : 0))
  const waiting = claims
    .map((claim, index) => ({ index, need: Math.min(claim.chars, claim.maxChars ?? claim.chars) }))
    .filter(({ index }) => !claims[index]?.isSelfLimiting)
    .sort((a, b) => a.need - b.need || a.index - b.index)
  for (const [served, { index, need }] of waiting.entries()) {
    const even = Math.floor(left / (waiting.length - served))
    // Smallest first: once one needs more than an even part, so does every later one, and all get the same.
    if (need > even) {
      for (const { index } of waiting.slice(served)) limits[index] = even
      break
    }
    limits[index] = need
    left -= need
  }
  return limits
}
