import {
  anyFunction,
  anyList,
  anyObject,
  anyText,
  checkOptions,
  either,
  milliseconds,
  numberFrom,
  type OptionRules,
  trueOrFalse,
  type ValueCheck,
  wholeNumber,
} from '../check-options.ts'
import type { CallContext, CallHooks } from './call-scope.ts'
import { hooksOf } from './hooks.ts'

export const aSignal: ValueCheck = { expected: 'an AbortSignal', accepts: isSignal }

/** Hooks, one or a list of them, each with known keys only: a guard that is misspelt must not be a guard that is off. */
export const callHooks: ValueCheck = {
  expected: 'hooks with before_tool_call or after_tool_call, or a list of such',
  accepts: (value) => value !== null && typeof value === 'object',
}

const HOOK_RULES: OptionRules<CallHooks> = { before_tool_call: anyFunction, after_tool_call: anyFunction }

const RULES: OptionRules<CallContext> = {
  sessionId: either(anyText, numberFrom(Number.NEGATIVE_INFINITY)),
  turnCount: numberFrom(0),
  resultBudgetChars: numberFrom(0),
  dryRun: trueOrFalse,
  signal: aSignal,
  timeoutMs: milliseconds(),
  maxParallel: wholeNumber({ from: 1 }),
  attachments: anyList,
  onProgress: anyFunction,
  hooks: callHooks,
  meters: anyList,
  maxIdenticalCalls: wholeNumber(),
  execute: anyFunction,
}

/** Checks the context of a batch. Throws `config-invalid` for an unknown key or a value out of range. */
export function readContext(context: unknown = {}): CallContext {
  checkOptions<CallContext>('the context of a call', context, RULES)
  const { sessionId = '', ...rest } = context as Partial<CallContext>
  checkHooks('the context of a call', rest.hooks)
  return { ...rest, sessionId: String(sessionId) }
}

/** The session id of a context that may be anything; empty when it has none. */
export function sessionIdOf(context: unknown): string {
  try {
    const { sessionId } = context as Partial<CallContext>
    return typeof sessionId === 'string' || typeof sessionId === 'number' ? String(sessionId) : ''
  } catch {
    return ''
  }
}

/** Throws `config-invalid` for hooks with an unknown key, naming the nearest known one. */
export function checkHooks(owner: string, hooks: CallHooks | readonly CallHooks[] | undefined): void {
  for (const hook of hooksOf(hooks)) checkOptions<CallHooks>(`a hook of ${owner}`, hook, HOOK_RULES)
}

function isSignal(value: unknown): boolean {
  if (!anyObject.accepts(value)) return false
  const { aborted, addEventListener, removeEventListener } = value as Partial<AbortSignal>
  const isTarget = typeof addEventListener === 'function' && typeof removeEventListener === 'function'
  return isTarget && typeof aborted === 'boolean'
}
