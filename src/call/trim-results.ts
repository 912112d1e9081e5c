import { describeError } from '../errors.ts'
import { cutText } from '../text.ts'
import type { CallResult, ToolResult } from '../tool.ts'
import type { Batch } from './batch.ts'
import { partFailed } from './part-failed.ts'
import type { AnsweredCall } from './run-call.ts'
import { runWithin } from './run-within.ts'
import { type Claim, shareBudget } from './share-budget.ts'

/** A reducer must leave out this many characters before the full text is spilled. */
const MIN_REDUCED_CHARS = 1_000
/** Room for where it is kept. */
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
  const handle = limitChars < markerOf(text).length ? undefined : await spill(text, call, batch)
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

/** Whether a reducer left out so much that the whole is worth keeping aside. */
function isKept({ result, unreduced }: AnsweredCall, { settings }: Batch): boolean {
  if (settings.spill === undefined) return false
  return unreduced !== undefined && unreduced.length - textOf(result).length >= MIN_REDUCED_CHARS
}

/** What a reducer left, with where the whole is. */
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

function textOf(result: ToolResult): string {
  return result.ok ? result.value : result.error
}

/**
 * The text within a limit. What is cut ends in a marker that says how long the whole is; the marker counts against
 * the limit, and a limit with no room for it just cuts. A surrogate pair is never torn.
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

/** What a text that was cut ends in. */
function markerOf(text: string): string {
  return `\n[truncated — ${text.length} chars total]`
}
