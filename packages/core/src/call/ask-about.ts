import { describeError } from '../errors.ts'
import { copyJson, isRecord } from '../json.ts'
import type { ToolResult } from '../tool.ts'
import { failure, toForwardedResult } from '../tool-result.ts'
import { type AskAnswer, type AskedCall, digestOf } from './ask.ts'
import type { Batch } from './batch.ts'
import type { CallTarget } from './call-scope.ts'
import { Grants } from './grants.ts'
import type { OpenCall } from './open-call.ts'
import { runWithin } from './run-within.ts'

/** A validated call, about which a person may have to be asked. */
export interface ValidCall {
  readonly toolCallId: string
  readonly target: CallTarget
  readonly args: unknown
}

/**
 * Asks about those calls for which the policy wants a person's answer and there is no grant, all at once. Returns for each
 * call the result that answers it, or undefined if it may run. Never throws.
 */
export async function askAbout(
  calls: readonly ValidCall[],
  batch: Batch,
): Promise<readonly (ToolResult | undefined)[]> {
  const open = calls.filter(({ target }) => needsPerson(target, batch))
  const answers = open.length === 0 ? [] : await answersTo(open, batch)
  const results = new Map(open.map((call, at) => [call, answers[at]]))
  return calls.map((call) => {
    const answer = results.get(call)
    if (typeof answer === 'object') return answer.result
    return answer === 'deny' ? refused(call.target.entry.name) : undefined
  })
}

/** Whether a person must be asked about calls of a tool, and has granted nothing that covers them. */
export function needsPerson(
  target: CallTarget,
  { scope, state, sessionId }: Pick<Batch, 'scope' | 'state' | 'sessionId'>,
): boolean {
  state.grants ??= new Grants()
  return scope.asks(target) && !state.grants.covers(sessionId, target.entry.definition, state.now())
}

/** Asks about all these calls at once, and notes what is granted. Never throws. */
export async function answersTo(calls: readonly ValidCall[], batch: Batch): Promise<readonly AskAnswer[]> {
  const { state, sessionId, emit } = batch
  for (const { toolCallId, target } of calls)
    emit({ type: 'call-asked', sessionId, toolCallId, name: target.entry.name })
  const answers = await askPerson(calls, batch)
  state.grants ??= new Grants()
  for (const [index, call] of calls.entries()) {
    const { name, definition } = call.target.entry
    const answer = answers[index]
    if (typeof answer === 'string' && answer !== 'deny')
      state.grants.add(answer, sessionId, definition, state.now())
    // It may have been answered with a question, or wait.
    if (typeof answer === 'object' && (answer.result.ok || answer.result.code !== 'denied')) continue
    const said = typeof answer === 'string' ? answer : 'deny'
    emit({ type: 'call-decided', sessionId, toolCallId: call.toolCallId, name, answer: said })
  }
  return answers
}

/** A person's answer for each call, or the result that answers it. */
async function askPerson(calls: readonly ValidCall[], batch: Batch): Promise<readonly AskAnswer[]> {
  const { onAsk, abort, state, sessionId, context } = batch
  const all = (toResult: (tool: string) => ToolResult) =>
    calls.map(({ target }) => ({ result: toResult(target.entry.name) }))
  if (onAsk === undefined) return all((tool) => notAsked(tool, 'nobody can be asked here'))
  try {
    const asked = await Promise.all(calls.map(asAsked))
    const ask = ({ signal }: { readonly signal: AbortSignal }) =>
      onAsk({ calls: asked, sessionId, context, signal })
    const outcome = await runWithin<unknown>(ask, { abort, timeoutMs: undefined, schedule: state.schedule })
    if (outcome.kind === 'cancelled') return all(() => failure('cancelled', 'the call was cancelled'))
    if (outcome.kind !== 'returned')
      return all((tool) =>
        notAsked(tool, outcome.kind === 'threw' ? describeError(outcome.error) : 'no answer'),
      )
    const { value } = outcome
    return calls.map(({ target }, index) =>
      readAnswer(Array.isArray(value) ? value[index] : value, target.entry.name),
    )
  } catch (thrown) {
    return all((tool) => notAsked(tool, describeError(thrown)))
  }
}

async function asAsked({ toolCallId, target, args }: ValidCall): Promise<AskedCall> {
  const { name, source, tool } = target.entry
  const { title, annotations, uses } = tool
  return {
    ...{ toolCallId, tool: name, source, args: copyJson(args), digest: await digestOf(args) },
    ...(title === undefined ? {} : { title }),
    ...(uses === undefined ? {} : { uses }),
    ...(annotations === undefined ? {} : { annotations: { ...annotations } }),
  }
}

function readAnswer(answer: unknown, tool: string): AskAnswer {
  if (answer === 'once' || answer === 'session' || answer === 'always' || answer === 'deny') return answer
  if (isRecord(answer) && isRecord(answer.result)) return { result: toForwardedResult(answer.result) }
  const reason = 'onAsk returned something other than "once", "session", "always" or "deny"'
  return { result: notAsked(tool, answer === undefined ? 'it was not answered' : reason) }
}

function refused(tool: string): ToolResult {
  return failure('denied', `The user refused "${tool}". Nothing was run; do not try another way.`)
}

function notAsked(tool: string, reason: string): ToolResult {
  return failure('denied', `"${tool}" needs a person's approval: ${reason}. Nothing was run; tell the user.`)
}

/** Asks a person about the calls that need one. Those that may not run are answered. */
export async function withAnswers(opened: readonly OpenCall[], batch: Batch): Promise<readonly OpenCall[]> {
  const valid = opened.flatMap(({ call, target, step }) =>
    target && 'args' in step && batch.scope.asks(target)
      ? [{ toolCallId: call.toolCallId, target, args: step.args, call }]
      : [],
  )
  const results = await askAbout(valid, batch)
  const answers = new Map(valid.map(({ call }, index) => [call, results[index]]))
  return opened.map((one) => {
    const answer = answers.get(one.call)
    return answer === undefined ? one : { ...one, isUse: false, step: { answer } }
  })
}
