import type { CallResult, ToolResult } from '../tool.ts'
import { textOf } from '../tool-result.ts'
import { type Batch, POINTER_CHARS } from './batch.ts'
import type { AnsweredCall } from './run-call.ts'

/** A reducer must leave out this many characters before the full text is spilled. */
const MIN_REDUCED_CHARS = 1_000

/** Cuts each result of a batch to its share of the budget. Only the text is cut: the rest of a result survives. */
export function trimResults(
  answered: readonly AnsweredCall[],
  budgetChars: number,
  batch: Batch,
): Promise<CallResult[]> {
  const claims = answered.map((call) => claimOf(call, isKept(call, batch) ? POINTER_CHARS : 0))
  const limits = shareBudget(budgetChars, claims)
  const results = answered.map((call, index) => {
    const limitChars = limits[index] ?? 0
    const isTooLong = textOf(call.result).length > limitChars
    return isTooLong || isKept(call, batch)
      ? shorten(call, { isTooLong, limitChars, batch })
      : answerOf(call, call.result)
  })
  return Promise.all(results)
}

/** Most results fit: the code that cuts them is loaded with the first that does not. */
async function shorten(
  call: AnsweredCall,
  { isTooLong, limitChars, batch }: { isTooLong: boolean; limitChars: number; batch: Batch },
): Promise<CallResult> {
  const { trimmed, withPointer } = await import('./trim-text.ts')
  return answerOf(call, await (isTooLong ? trimmed : withPointer)(call, limitChars, batch))
}

function answerOf({ call, durationMs }: AnsweredCall, result: ToolResult): CallResult {
  return { toolCallId: call.toolCallId, name: call.name, result, durationMs }
}

function claimOf({ result, target }: AnsweredCall, extraChars: number): Claim {
  const chars = textOf(result).length + extraChars
  try {
    const { maxResultChars } = target?.entry.tool ?? {}
    const hasLimit = typeof maxResultChars === 'number' && maxResultChars >= 0
    return {
      chars,
      isSelfLimiting: target?.entry.isSelfLimiting === true,
      maxChars: hasLimit ? Math.floor(maxResultChars) : undefined,
    }
  } catch {
    return { chars }
  }
}

/** Whether a reducer left out so much that the full text is worth spilling. */
function isKept({ result, unreduced }: AnsweredCall, { settings }: Batch): boolean {
  if (settings.spill === undefined) return false
  return unreduced !== undefined && unreduced.length - textOf(result).length >= MIN_REDUCED_CHARS
}

/** What one call's result needs of the budget. */
export interface Claim {
  /** Characters of the result, after reducing. */
  readonly chars: number
  /** The tool's own limit. */
  readonly maxChars?: number | undefined
  /** Never cut: it takes what it needs, and the others share the rest. */
  readonly isSelfLimiting?: boolean | undefined
}

/**
 * How many characters each claim gets. All claims grow equally until each has what it needs; what small results do not
 * use goes to those that need more. Limits of claims that are cut never sum to more than the budget.
 */
export function shareBudget(budgetChars: number, claims: readonly Claim[]): number[] {
  const needs = claims.map(needOf)
  // Almost always everything fits.
  if (needs.reduce((sum, need) => sum + need, 0) <= budgetChars) return needs
  const fixed = claims.reduce((sum, claim) => sum + (claim.isSelfLimiting ? claim.chars : 0), 0)
  let left = Math.max(0, budgetChars - fixed)
  const limits = claims.map((claim) => (claim.isSelfLimiting ? claim.chars : 0))
  const waiting = claims
    .map((claim, index) => ({ index, need: needOf(claim) }))
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

function needOf({ chars, maxChars, isSelfLimiting }: Claim): number {
  return isSelfLimiting || maxChars === undefined ? chars : Math.min(chars, maxChars)
}
