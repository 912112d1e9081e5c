import type { CallContext, CallHooks, HookedCall } from '../call/call-environment.ts'
import { runAfterHooks, runBeforeHooks } from '../call/hooks.ts'
import { BatchAbort, type Limits } from '../call/run-within.ts'
import { isRecord } from '../json.ts'
import type { Session } from '../session/session.ts'
import { scheduleWithTimers } from '../time.ts'
import type { CallResult, ToolCall, ToolResult } from '../tool.ts'

export interface RunCallsOptions {
  readonly session: Session
  readonly hooks: readonly CallHooks[]
  readonly turnCount: number
  readonly signal: AbortSignal
  readonly callContext: Partial<CallContext>
}

/** Runs one turn's calls at once, through the run's own hooks and the session. Answers in their order, never throws. */
export async function runCalls(
  calls: readonly ToolCall[],
  options: RunCallsOptions,
): Promise<readonly CallResult[]> {
  const { session, hooks, turnCount, signal, callContext } = options
  const context = { ...callContext, turnCount, signal }
  if (hooks.length === 0) return session.execute(calls, context)
  const abort = new BatchAbort(signal)
  // No deadline: a hook may be asking a person.
  const limits: Limits = { abort, timeoutMs: undefined, schedule: scheduleWithTimers }
  try {
    const seen = calls.map((call) => toHooked(call, options))
    const prepared = await Promise.all(calls.map((call, index) => prepare(call, seen[index], hooks, limits)))
    const runnable = prepared.flatMap((step) => ('call' in step ? [step.call] : []))
    const ran = new Map(
      (await session.execute(runnable, context)).map((result) => [result.toolCallId, result]),
    )
    const results = prepared.flatMap((step) =>
      'call' in step ? (ran.get(step.call.toolCallId) ?? []) : [step.answer],
    )
    return await Promise.all(results.map((result, index) => finish(result, seen[index], hooks, limits)))
  } finally {
    abort.close()
  }
}

/** The call as the tool it reaches sees it: what goes through `call_tool` is a call of the tool named there. */
export function reachedBy(session: Session, call: ToolCall): ToolCall {
  if (call.name !== 'call_tool' || !isRecord(call.args) || typeof call.args.name !== 'string') return call
  const named = call.args.name
  const name = session.view().snapshot.get(named) ? named : (session.describe(named)?.name ?? named)
  return { toolCallId: call.toolCallId, name, args: call.args.arguments ?? {} }
}

function toHooked(call: ToolCall, { session, turnCount }: RunCallsOptions): HookedCall {
  const reached = reachedBy(session, call)
  const source = session.view().snapshot.get(reached.name)?.source ?? { kind: 'builtin' }
  return { ...reached, source, sessionId: session.id, turnCount }
}

type Prepared = { readonly call: ToolCall } | { readonly answer: CallResult }

async function prepare(
  call: ToolCall,
  seen: HookedCall | undefined,
  hooks: readonly CallHooks[],
  limits: Limits,
): Promise<Prepared> {
  if (!seen) return { call }
  const outcome = await runBeforeHooks(hooks, seen, limits)
  if ('refusal' in outcome) return { answer: answerTo(call, outcome.refusal) }
  if (outcome.answer) return { answer: answerTo(call, outcome.answer) }
  if (!outcome.isChanged) return { call }
  const isDispatched = seen.name !== call.name && isRecord(call.args)
  return {
    call: {
      ...call,
      args: isDispatched ? { ...(call.args as object), arguments: outcome.args } : outcome.args,
    },
  }
}

async function finish(
  answer: CallResult,
  seen: HookedCall | undefined,
  hooks: readonly CallHooks[],
  limits: Limits,
): Promise<CallResult> {
  if (!seen) return answer
  // The hook is the host's and the call has happened: its answer stands, whatever the hook does.
  const result = await runAfterHooks(hooks, seen, answer.result, limits, () => {})
  return result === answer.result ? answer : { ...answer, result }
}

function answerTo({ toolCallId, name }: ToolCall, result: ToolResult): CallResult {
  return { toolCallId, name, result, durationMs: 0 }
}
