import { describeError } from '../errors.ts'
import { copyJson, isRecord } from '../json.ts'
import { copyResult } from '../secrets/mask-results.ts'
import { clipText } from '../text.ts'
import type { ToolResult } from '../tool.ts'
import { failure, readReturned, toResult } from '../tool-result.ts'
import type { HookList } from './batch.ts'
import type { HookedCall } from './call-scope.ts'
import { BatchAbort, type Limits, type Outcome, runWithin } from './run-within.ts'

/** The limits of a batch; each hook has its own deadline. */
export type HookLimits = Omit<Limits, 'timeoutMs'>

/** The outcome of the hooks before a call: it is refused, already answered, or continues with these arguments. */
export type BeforeOutcome =
  | { readonly refusal: ToolResult }
  | { readonly answer?: ToolResult; readonly args: unknown; readonly isChanged: boolean }

/** Runs each `before_tool_call` in order, until one answers or denies the call. */
export async function runBeforeHooks(
  hooks: HookList,
  call: HookedCall,
  limits: HookLimits,
): Promise<BeforeOutcome> {
  let args = call.args
  let isChanged = false
  for (const { hook, timeoutMs } of hooks) {
    if (!hook.before_tool_call) continue
    // Each gets a copy: a hook returns its changes, so that they are validated.
    const seen = { ...call, args: copyJson(args) }
    const outcome = await runWithin(() => hook.before_tool_call?.(seen), { ...limits, timeoutMs })
    if (outcome.kind !== 'returned') return { refusal: brokenGuard(outcome) }
    const said = readBeforeAnswer(outcome.value)
    if (said === undefined) continue
    if ('refusal' in said) return said
    // The call is answered, so its arguments no longer matter.
    if ('answer' in said) return { ...said, args, isChanged: false }
    args = said.args
    isChanged = true
  }
  return { args, isChanged }
}

function readBeforeAnswer(
  said: unknown,
): { refusal: ToolResult } | { answer: ToolResult } | { args: unknown } | undefined {
  if (said === undefined || said === null) return undefined
  try {
    if (isRecord(said)) {
      const { deny, result } = said
      const unknown = Object.keys(said).find((key) => !BEFORE_KEYS.includes(key))
      if (unknown !== undefined) return { refusal: unknownAnswer(unknown) }
      if (deny !== undefined && deny !== false) return { refusal: failure('denied', denialText(deny)) }
      if (result !== undefined) return { answer: toResult(result) }
      if (said.args !== undefined) return { args: copyJson(said.args ?? {}) }
      if (deny === false) return undefined
    }
  } catch (thrown) {
    return {
      refusal: failure('denied', `a hook returned something that cannot be read: ${describeError(thrown)}`),
    }
  }
  return {
    refusal: failure('denied', 'a hook returned something other than { args }, { result } or { deny }'),
  }
}

const BEFORE_KEYS = ['args', 'result', 'deny']

// A misspelt `deny` must not let the call through.
function unknownAnswer(key: string): ToolResult {
  const known = '{ args }, { result } or { deny }'
  return failure('denied', `a hook returned the unknown key "${clipText(key, 60)}"; it may return ${known}`)
}

function denialText(deny: unknown): string {
  return typeof deny === 'string' && deny !== '' ? deny : 'a hook denied the call'
}

function brokenGuard(outcome: Exclude<Outcome<unknown>, { kind: 'returned' }>): ToolResult {
  if (outcome.kind === 'cancelled') return failure('cancelled', 'the call was cancelled')
  if (outcome.kind === 'timeout') return failure('denied', 'a hook before the call did not return in time')
  return failure('denied', `a hook before the call failed: ${describeError(outcome.error)}`)
}

/**
 * Shows the result to each `after_tool_call` in order; each may replace it. One that fails is reported and ignored. Once
 * the batch is cancelled, the hooks still run, but the batch does not wait for them.
 */
export async function runAfterHooks(
  hooks: HookList,
  call: HookedCall,
  result: ToolResult,
  limits: HookLimits,
  onFailure: (error: string) => void,
): Promise<ToolResult> {
  const { isAborted } = limits.abort
  let current = result
  for (const { hook, timeoutMs } of hooks) {
    if (!hook.after_tool_call) continue
    // Copies: a hook returns its changes.
    const seen = copyResult(current)
    const seenCall = { ...call, args: copyJson(call.args) }
    const show = () => hook.after_tool_call?.(seenCall, seen)
    if (isAborted) {
      void runWithin(show, { ...limits, timeoutMs, abort: new BatchAbort(undefined) })
      continue
    }
    const outcome = await runWithin(show, { ...limits, timeoutMs })
    if (outcome.kind !== 'returned') {
      onFailure(outcome.kind === 'threw' ? describeError(outcome.error) : outcome.kind)
      continue
    }
    if (outcome.value === undefined || outcome.value === null) continue
    const read = readReturned(outcome.value)
    if (typeof read === 'string') {
      onFailure(read)
      continue
    }
    if (current.raw !== undefined) read.raw = current.raw
    current = read
  }
  return current
}
