import { describeError } from '../errors.ts'
import { cutText } from '../text.ts'
import type { ToolResult } from '../tool.ts'
import { textOf } from '../tool-result.ts'
import { type Batch, POINTER_CHARS, partFailed } from './batch.ts'
import type { AnsweredCall } from './run-call.ts'
import { runWithin } from './run-within.ts'

/** The result with its text cut to the limit, and the whole text spilled. */
export async function trimmed(call: AnsweredCall, limitChars: number, batch: Batch): Promise<ToolResult> {
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
  return withText(result, shown)
}

/** The reduced text, with a note that says where the full text is. */
export async function withPointer(call: AnsweredCall, limitChars: number, batch: Batch): Promise<ToolResult> {
  const { result, unreduced = '' } = call
  const text = textOf(result)
  if (text.length + POINTER_CHARS > limitChars) return result
  const handle = await spill(unreduced, call, batch)
  const pointer = `\n[all ${unreduced.length} chars: read_result "${handle}"]`
  const isShown = handle !== undefined && text.length + pointer.length <= limitChars
  return isShown ? withText(result, text + pointer) : result
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
