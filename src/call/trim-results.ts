import { describeError } from '../errors.ts'
import type { CallResult, ToolResult } from '../tool.ts'
import type { Batch } from './batch.ts'
import type { AnsweredCall } from './run-call.ts'
import { type Claim, shareBudget } from './share-budget.ts'
import { trimText } from './trim-text.ts'

/** A limit below this has no room to point to a spilled text. */
const MIN_SPILL_LIMIT_CHARS = 120

/** The answers of a batch, each cut to what the budget grants it. Only the text is cut: the rest of a result survives. */
export function trimResults(
  answered: readonly AnsweredCall[],
  budgetChars: number,
  batch: Batch,
): Promise<CallResult[]> {
  const limits = shareBudget(budgetChars, answered.map(claimOf))
  return Promise.all(
    answered.map(async (call, index) => {
      const { toolCallId, name, durationMs } = call
      const limitChars = limits[index] ?? 0
      const fits = textOf(call.result).length <= limitChars
      const result = fits ? call.result : await trimResult(call, limitChars, batch)
      return { toolCallId, name, result, durationMs }
    }),
  )
}

function claimOf({ result, tool }: AnsweredCall): Claim {
  const chars = textOf(result).length
  try {
    const { maxResultChars, isSelfLimiting } = tool ?? {}
    const hasLimit = typeof maxResultChars === 'number' && maxResultChars >= 0
    return { chars, isSelfLimiting, maxChars: hasLimit ? Math.floor(maxResultChars) : undefined }
  } catch {
    return { chars }
  }
}

async function trimResult(call: AnsweredCall, limitChars: number, batch: Batch): Promise<ToolResult> {
  const { toolCallId, name, result } = call
  const text = textOf(result)
  const handle = limitChars < MIN_SPILL_LIMIT_CHARS ? undefined : await spill(text, call, batch)
  const trimmed = trimText(text, limitChars, handle)
  batch.emit({
    type: 'result-trimmed',
    sessionId: batch.sessionId,
    toolCallId,
    name,
    totalChars: text.length,
    keptChars: trimmed.length,
    ...(handle === undefined ? {} : { handle }),
  })
  return result.ok ? { ...result, value: trimmed } : { ...result, error: trimmed }
}

async function spill(text: string, call: AnsweredCall, batch: Batch): Promise<string | undefined> {
  try {
    const handle: unknown = await batch.environment.spill?.put(batch.sessionId, text)
    return typeof handle === 'string' ? handle : undefined
  } catch (thrown) {
    const { toolCallId, name } = call
    const error = describeError(thrown)
    batch.emit({
      type: 'call-part-failed',
      sessionId: batch.sessionId,
      toolCallId,
      name,
      part: 'spill',
      error,
    })
    return undefined
  }
}

function textOf(result: ToolResult): string {
  return result.ok ? result.value : result.error
}
