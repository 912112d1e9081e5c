import {
  type CapabilityBackends,
  type CapabilityName,
  type CapabilityRequest,
  declaredNames,
} from '../capability.ts'
import type { Entry } from '../registry/entry.ts'
import type { Mask } from '../secrets/mask-results.ts'
import type { CallProgress, ProgressNote, Tool, ToolContext, ToolResult } from '../tool.ts'
import { failedWith, failure, toForwardedResult, toResult } from '../tool-result.ts'
import type { Batch } from './batch.ts'
import type { CallTarget } from './call-scope.ts'
import { type Outcome, runWithin, type Stop } from './run-within.ts'
import { Slots } from './slots.ts'

/**
 * Executes the tool with its granted capabilities, within its deadline and once it has a slot. Waiting for a slot does
 * not count against the deadline. A call that has ended releases its slot, even if its work ignores the signal and
 * continues: work that never ends would otherwise block the tool for good.
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
  let isForwarded = false
  const outcome = runWithin<unknown>(
    (stop) => {
      const context = contextOf(tool, toolCallId, batch, stop, report)
      const { name, source, listing } = entry
      const call = { name, ownName: listing.ownName, source, args }
      const forwarded = batch.executor?.execute(call, context)
      isForwarded = forwarded !== undefined
      if (forwarded !== undefined) return forwarded
      if (tool.capabilities === undefined) return tool.execute(args, context)
      return import('./grant-capabilities.ts').then(({ runGranted }) =>
        runGranted(tool, args, context, batch),
      )
    },
    { abort, timeoutMs, schedule: state.schedule },
  )
  const answer = (ended: Outcome<unknown>) => {
    report?.end()
    if (isForwarded && ended.kind === 'returned') return toForwardedResult(ended.value)
    return answerOf(ended, tool, timeoutMs)
  }
  return outcome instanceof Promise ? outcome.then(answer) : answer(outcome)
}

function contextOf(
  tool: Tool,
  toolCallId: string,
  { sessionId, turnCount, shareChars, context, pausing }: Batch,
  stop: Stop,
  report: ProgressReport | undefined,
): ToolContext {
  return {
    sessionId,
    toolCallId,
    turnCount,
    context,
    resultLimitChars: Math.min(shareChars, tool.maxResultChars ?? shareChars),
    get signal() {
      return stop.signal
    },
    ...(report ? { onProgress: report.tell } : undefined),
    ...(pausing ? { pausing } : undefined),
  }
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
        `"${tool.name}" did not return within ${timeoutMs} ms; request less data, or try again later`,
      )
    case 'cancelled':
      return cancelled(tool)
  }
}

function cancelled(tool: Tool): ToolResult {
  return failure('cancelled', `the call of "${tool.name}" was cancelled`)
}

/** The capabilities a tool declares and no backend grants. */
export function missingCapabilities(
  request: CapabilityRequest | undefined,
  backends: CapabilityBackends,
): CapabilityName[] {
  return declaredNames(request).filter((name) => backends[name] === undefined)
}

/** Passes a tool's progress to the host until its call ends. */
export class ProgressReport {
  readonly #toolCallId: string
  readonly #listener: (note: CallProgress) => void
  readonly #mask: Mask | undefined
  #isOver = false

  constructor(toolCallId: string, listener: (note: CallProgress) => void, mask: Mask | undefined) {
    this.#toolCallId = toolCallId
    this.#listener = listener
    this.#mask = mask
  }

  /** Passes a note on with secrets masked. Drops invalid notes. Never throws. */
  readonly tell = (note: ProgressNote): void => {
    if (this.#isOver) return
    try {
      const { progress, total, message } = note
      if (typeof progress !== 'number') return
      this.#listener({
        toolCallId: this.#toolCallId,
        progress,
        ...(typeof total === 'number' ? { total } : undefined),
        ...(typeof message === 'string' ? { message: this.#mask?.(message) ?? message } : undefined),
      })
    } catch {
      // A failing listener or mask must not fail the call.
    }
  }

  end(): void {
    this.#isOver = true
  }
}
