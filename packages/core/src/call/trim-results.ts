import { describeError } from '../errors.ts'
import { cutText } from '../text.ts'
import type { CallResult, ToolResult } from '../tool.ts'
import { textOf } from '../tool-result.ts'
import { type Batch, partFailed } from './batch.ts'
import type { AnsweredCall } from './run-call.ts'
import { runWithin } from './run-within.ts'

/** A reducer must leave out this many characters before the full text is spilled. */
const MIN_REDUCED_CHARS = 1_000
/** Reserved for the note that says where the full text is. */
const POINTER_CHARS = 80

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
    if (textOf(call.result).length > limitChars) return trimmed(call, limitChars, batch)
    return isKept(call, batch) ? withPointer(call, limitChars, batch) : answerOf(call, call.result)
  })
  return Promise.all(results)
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

async function trimmed(call: AnsweredCall, limitChars: number, batch: Batch): Promise<CallResult> {
  const { result, toolName } = call
  const text = textOf(result)
  // The whole text, even if the tool's own reducer shortened it: `read_result` must find all of it.
  const whole = call.unreduced ?? text
  const handle = limitChars < markerOf(text).length ? undefined : await spill(whole, call, batch)
  const shown = trimText(text, limitChars, handle)
  batch.emit({
    type: 'result-trimmed',
    sessionId: batch.sessionId,
    toolCallId: call.call.toolCallId,
    name: toolName,
    totalChars: text.length,
    keptChars: shown.length,
    ...(handle === undefined ? {} : { handle }),
  })
  return answerOf(call, withText(result, shown))
}

/** Whether a reducer left out so much that the full text is worth spilling. */
function isKept({ result, unreduced }: AnsweredCall, { settings }: Batch): boolean {
  if (settings.spill === undefined) return false
  return unreduced !== undefined && unreduced.length - textOf(result).length >= MIN_REDUCED_CHARS
}

/** The reduced text, with a note that says where the full text is. */
async function withPointer(call: AnsweredCall, limitChars: number, batch: Batch): Promise<CallResult> {
  const { result, unreduced = '' } = call
  const text = textOf(result)
  if (text.length + POINTER_CHARS > limitChars) return answerOf(call, result)
  const handle = await spill(unreduced, call, batch)
  const pointer = `\n[all ${unreduced.length} chars: read_result "${handle}"]`
  const isShown = handle !== undefined && text.length + pointer.length <= limitChars
  return answerOf(call, isShown ? withText(result, text + pointer) : result)
}

async function spill(text: string, call: AnsweredCall, batch: Batch): Promise<string | undefined> {
  const { settings, abort, timeoutMs, state, sessionId } = batch
  const { spill } = settings
  if (spill === undefined) return undefined
  const limits = { abort, timeoutMs, schedule: state.schedule }
  const outcome = await runWithin<unknown>(() => spill.put(sessionId, text), limits)
  if (outcome.kind === 'returned') return typeof outcome.value === 'string' ? outcome.value : undefined
  const error = outcome.kind === 'threw' ? describeError(outcome.error) : outcome.kind
  partFailed('spill', error, { toolCallId: call.call.toolCallId, toolName: call.toolName }, batch)
  return undefined
}

function withText(result: ToolResult, text: string): ToolResult {
  return result.ok ? { ...result, value: text } : { ...result, error: text }
}

/**
 * Cuts a text to a limit. A cut text ends in a marker with the full length; the marker counts against the limit, and is
 * omitted if the limit has no room for it. A surrogate pair is never split.
 */
export function trimText(text: string, limitChars: number, handle?: string): string {
  if (text.length <= limitChars) return text
  const marker = markerOf(text)
  const pointers =
    handle === undefined
      ? []
      : [` Read the rest with read_result, handle "${handle}".`, ` read_result "${handle}"`]
  const endings = [...pointers.map((pointer) => marker + pointer), marker]
  const ending = endings.find((candidate) => candidate.length <= limitChars) ?? ''
  return cutText(text, limitChars - ending.length) + ending
}

/** The end of a text that was cut. */
function markerOf(text: string): string {
  return `\n[truncated — ${text.length} chars total]`
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
