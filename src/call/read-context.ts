import type { CallContext } from './call-environment.ts'

/** What the host said about a batch, each part only if it is of its kind. Never throws. */
export function readContext(context: unknown): CallContext {
  const turnCount = asNumber(read(context, 'turnCount'))
  const resultBudgetChars = asNumber(read(context, 'resultBudgetChars'))
  const timeoutMs = asNumber(read(context, 'timeoutMs'))
  const maxParallel = asNumber(read(context, 'maxParallel'))
  const signal = read(context, 'signal')
  const attachments = read(context, 'attachments')
  const onProgress = read(context, 'onProgress')
  return {
    sessionId: readSessionId(context),
    dryRun: read(context, 'dryRun') === true,
    ...(turnCount === undefined ? undefined : { turnCount }),
    ...(resultBudgetChars === undefined ? undefined : { resultBudgetChars }),
    ...(timeoutMs === undefined ? undefined : { timeoutMs }),
    ...(maxParallel === undefined ? undefined : { maxParallel }),
    ...(isSignal(signal) ? { signal } : undefined),
    ...(Array.isArray(attachments) ? { attachments } : undefined),
    ...(isListener(onProgress) ? { onProgress } : undefined),
  }
}

/** Which session a batch is of; empty when the host does not say. Never throws. */
export function readSessionId(context: unknown): string {
  const sessionId = read(context, 'sessionId')
  return typeof sessionId === 'string' || typeof sessionId === 'number' ? String(sessionId) : ''
}

function read(context: unknown, key: keyof CallContext): unknown {
  try {
    return (context as Partial<CallContext> | null | undefined)?.[key]
  } catch {
    return undefined
  }
}

function asNumber(value: unknown): number | undefined {
  return typeof value === 'number' ? value : undefined
}

function isListener(value: unknown): value is NonNullable<CallContext['onProgress']> {
  return typeof value === 'function'
}

function isSignal(value: unknown): value is AbortSignal {
  // Most calls bring none; throwing and catching for those would cost more than the rest of the call.
  if (typeof value !== 'object' || value === null) return false
  try {
    const { aborted, addEventListener, removeEventListener } = value as Partial<AbortSignal>
    const isTarget = typeof addEventListener === 'function' && typeof removeEventListener === 'function'
    return isTarget && typeof aborted === 'boolean'
  } catch {
    return false
  }
}
