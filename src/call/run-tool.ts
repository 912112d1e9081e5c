import { CapabilityError, type CapabilityHandles } from '../capability.ts'
import { describeError } from '../errors.ts'
import type { Entry } from '../registry/entry.ts'
import type { Tool, ToolContext, ToolResult } from '../tool.ts'
import { failedWith, failure, toResult } from './answers.ts'
import type { Batch } from './batch.ts'
import type { CallTarget } from './call-scope.ts'
import { openCapabilities } from './open-capabilities.ts'
import { ProgressReport } from './progress-report.ts'
import { type Outcome, runWithin, type Stop } from './run-within.ts'
import { Slots } from './slots.ts'

/**
 * Executes the tool with what it was granted, within its deadline and once it has a slot. Waiting for a turn does
 * not count against the deadline. A call that is over releases its slot, even if its work ignores the signal and
 * carries on: holding the place for work that may never end would block the tool for good.
 */
export function runTool(
  target: CallTarget,
  args: unknown,
  toolCallId: string,
  batch: Batch,
): ToolResult | Promise<ToolResult> {
  const ofTool = slotsOf(target, batch)
  if (ofTool === undefined && batch.slots === undefined) return execute(target.entry, args, toolCallId, batch)
  return runInTurn([ofTool, batch.slots], target, args, toolCallId, batch)
}

async function runInTurn(
  queues: readonly (Slots | undefined)[],
  target: CallTarget,
  args: unknown,
  toolCallId: string,
  batch: Batch,
): Promise<ToolResult> {
  const leave: (() => void)[] = []
  try {
    for (const slots of queues) {
      if (slots === undefined) continue
      const leaveSlot = await slots.enter(batch.abort)
      if (leaveSlot === undefined) return cancelled(target.entry.tool)
      leave.push(leaveSlot)
    }
    return await execute(target.entry, args, toolCallId, batch)
  } finally {
    for (const leaveSlot of leave) leaveSlot()
  }
}

function slotsOf(target: CallTarget, { state }: Batch): Slots | undefined {
  const { maxConcurrent } = target.entry.tool
  if (maxConcurrent === undefined || !(maxConcurrent >= 1)) return undefined
  const known = state.slots.get(target.entry)
  if (known) return known
  const slots = new Slots(Math.floor(maxConcurrent))
  state.slots.set(target.entry, slots)
  return slots
}

function execute(
  entry: Entry,
  args: unknown,
  toolCallId: string,
  batch: Batch,
): ToolResult | Promise<ToolResult> {
  const { abort, state, onProgress } = batch
  const { tool } = entry
  const report = onProgress && new ProgressReport(toolCallId, onProgress, batch.mask)
  const timeoutMs = tool.timeoutMs ?? batch.timeoutMs
  const outcome = runWithin<unknown>(
    (stop) => {
      const context = contextOf(tool, toolCallId, batch, stop, report)
      const { name, source, listing } = entry
      const call = { name, ownName: listing.ownName, source, args }
      const instead = batch.executeInstead?.(call, context)
      if (instead !== undefined) return instead
      if (tool.capabilities === undefined) return tool.execute(args, context)
      return executeWithCapabilities(tool, args, context, batch)
    },
    { abort, timeoutMs, schedule: state.schedule },
  )
  const answer = (ended: Outcome<unknown>) => {
    report?.end()
    return answerOf(ended, tool, timeoutMs)
  }
  return outcome instanceof Promise ? outcome.then(answer) : answer(outcome)
}

function contextOf(
  tool: Tool,
  toolCallId: string,
  { sessionId, turnCount, shareChars }: Batch,
  stop: Stop,
  report: ProgressReport | undefined,
): ToolContext {
  return {
    sessionId,
    toolCallId,
    turnCount,
    resultLimitChars: Math.min(shareChars, tool.maxResultChars ?? shareChars),
    get signal() {
      return stop.signal
    },
    ...(report ? { onProgress: report.tell } : undefined),
  }
}

async function executeWithCapabilities(
  tool: Tool,
  args: unknown,
  context: ToolContext,
  { settings, attachments }: Batch,
): Promise<ToolResult> {
  const { sessionId, signal } = context
  let handles: CapabilityHandles
  try {
    const scope = { tool: tool.name, sessionId, signal, attachments }
    handles = await openCapabilities(tool.capabilities, settings.backends, scope)
  } catch (thrown) {
    const code = thrown instanceof CapabilityError ? thrown.code : 'not_available'
    return failure(code, `"${tool.name}" was not granted what it needs: ${describeError(thrown)}`)
  }
  return tool.execute(args, { ...handles, ...context })
}

function answerOf(outcome: Outcome<unknown>, tool: Tool, timeoutMs: number | undefined): ToolResult {
  switch (outcome.kind) {
    case 'returned':
      return toResult(outcome.value)
    case 'threw':
      return failedWith(outcome.error)
    case 'timeout':
      return failure(
        'timeout',
        `"${tool.name}" did not answer within ${timeoutMs} ms; ask it for less, or try later`,
      )
    case 'cancelled':
      return cancelled(tool)
  }
}

function cancelled(tool: Tool): ToolResult {
  return failure('cancelled', `the call of "${tool.name}" was cancelled`)
}
