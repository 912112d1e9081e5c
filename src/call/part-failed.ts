import type { Batch } from './batch.ts'

/** Raises the event that something around a call failed; the call continues as documented. */
export function partFailed(
  part: 'hook' | 'reducer' | 'schema' | 'spill' | 'cache',
  error: string,
  { toolCallId, toolName }: { readonly toolCallId: string; readonly toolName: string },
  { emit, sessionId }: Batch,
): void {
  emit({ type: 'call-part-failed', sessionId, toolCallId, name: toolName, part, error })
}
