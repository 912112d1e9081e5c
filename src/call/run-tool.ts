import { CapabilityError, type CapabilityHandles } from '../capability.ts'
import { describeError } from '../errors.ts'
import type { Tool, ToolContext, ToolResult } from '../tool.ts'
import { failedWith, failure, toResult } from './answers.ts'
import type { Batch } from './batch.ts'
import type { CallTarget } from './call-environment.ts'
import { type Outcome, runWithin } from './deadline.ts'
import { Gate } from './gate.ts'
import { openCapabilities } from './open-capabilities.ts'

/**
 * Executes the tool with what it was granted, within its deadline and its turn at the gates. Waiting for a turn does
 * not count against the deadline. A call that is over gives its place back, also when its work ignores the signal and
 * carries on: holding the place for work that may never end would block the tool for good.
 */
export async function runTool(
  target: CallTarget,
  args: unknown,
  toolCallId: string,
  batch: Batch,
): Promise<ToolResult> {
  const gates = [toolGate(target, batch), batch.gate].filter((gate) => gate !== undefined)
  if (gates.length === 0) return execute(target.tool, args, toolCallId, batch)
  const leave: (() => void)[] = []
  try {
    for (const gate of gates) {
      const leaveGate = await gate.enter(batch.abort)
      if (leaveGate === undefined) return cancelled(target.tool)
      leave.push(leaveGate)
    }
    return await execute(target.tool, args, toolCallId, batch)
  } finally {
    for (const leaveGate of leave) leaveGate()
  }
}

function toolGate(target: CallTarget, { state }: Batch): Gate | undefined {
  const { maxConcurrent } = target.tool
  const registration = target.registration ?? target.tool
  if (maxConcurrent === undefined || !(maxConcurrent >= 1)) return undefined
  const known = state.gates.get(registration)
  if (known) return known
  const gate = new Gate(Math.floor(maxConcurrent))
  state.gates.set(registration, gate)
  return gate
}

async function execute(tool: Tool, args: unknown, toolCallId: string, batch: Batch): Promise<ToolResult> {
  const { abort, state, sessionId, turnCount, shareChars } = batch
  const timeoutMs = tool.timeoutMs ?? batch.timeoutMs
  const work = (signal: () => AbortSignal): unknown => {
    const context: ToolContext = {
      sessionId,
      toolCallId,
      turnCount,
      resultLimitChars: Math.min(shareChars, tool.maxResultChars ?? shareChars),
      get signal() {
        return signal()
      },
    }
    if (tool.capabilities === undefined) return tool.execute(args, context)
    return executeWithCapabilities(tool, args, context, batch)
  }
  const outcome = await runWithin(work, { abort, timeoutMs, schedule: state.schedule })
  return answerOf(outcome, tool, timeoutMs)
}

async function executeWithCapabilities(
  tool: Tool,
  args: unknown,
  context: ToolContext,
  { environment, attachments }: Batch,
): Promise<ToolResult> {
  const { sessionId, signal } = context
  let handles: CapabilityHandles
  try {
    const scope = { tool: tool.name, sessionId, signal, attachments }
    handles = await openCapabilities(tool.capabilities, environment.backends, scope)
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
