import type { Reply } from '../reply.ts'
import type { Surface } from '../session/surface.ts'
import type { AskResult } from './ask-model.ts'
import type { Model } from './model.ts'

/** Whether a history still contains all of another, in order. Copies of messages count as equal. */
export function keepsAll(before: readonly unknown[], after: readonly unknown[]): boolean {
  if (before === after) return true
  let kept = 0
  for (const message of after) if (kept < before.length && isSame(message, before[kept])) kept++
  return kept === before.length
}

/** Whether two messages are equal, as copies are. */
export function isSame(message: unknown, other: unknown): boolean {
  return message === other || JSON.stringify(message) === JSON.stringify(other)
}

/** Whether a model asked for calls, even ones that cannot be run. */
export function hasCalls({ calls, unrunnable }: Reply): boolean {
  return calls.length + unrunnable.length > 0
}

/** The text of a cancelled answer is kept, because the user has read it. */
export function saidBefore(
  asked: Extract<AskResult<unknown>, { kind: 'cancelled' }>,
  surface: Surface,
  { dialect }: Model,
): readonly unknown[] {
  return asked.response === undefined ? [] : dialect.toMessages(asked.response, [], surface)
}
