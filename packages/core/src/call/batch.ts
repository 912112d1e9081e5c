import type { Attachment } from '../capability.ts'
import type { Emit } from '../events.ts'
import type { SchemaCache } from '../schema/check-arguments.ts'
import type { Mask } from '../secrets/mask-results.ts'
import type { AskHandler } from './ask.ts'
import type { CallContext, CallHooks, CallScope, CallSettings } from './call-scope.ts'
import type { CallState } from './call-state.ts'
import type { Pausing } from './pausing.ts'
import type { BatchAbort } from './run-within.ts'
import type { Slots } from './slots.ts'

/** What the calls of one batch share. */
export interface Batch {
  readonly scope: CallScope
  readonly settings: CallSettings
  readonly state: CallState
  readonly schemas: SchemaCache
  readonly sessionId: string
  readonly turnCount: number
  readonly isDryRun: boolean
  /** For tools without their own deadline, for each hook of the registry and for the spill; 0 = none. */
  readonly timeoutMs: number
  readonly attachments: readonly Attachment[]
  /** The host's callback, which may throw. */
  readonly onProgress: CallContext['onProgress'] | undefined
  readonly hooks: HookList
  /** How often in a row the same call may be made; 0 = no limit. */
  readonly maxIdenticalCalls: number
  readonly onAsk: AskHandler | undefined
  readonly pausing: Pausing | undefined
  /** The host's value. */
  readonly context: unknown
  readonly executor: CallContext['executor'] | undefined
  readonly lateResult: CallContext['lateResult'] | undefined
  readonly hidesDenied: boolean
  /** Whether reducers shorten the results. */
  readonly isReduced: boolean
  readonly abort: BatchAbort
  /** For batches with `maxParallel`. */
  readonly slots: Slots | undefined
  /** An equal part of the budget. */
  readonly shareChars: number
  /** Masks the secrets of the backends in a text; undefined if no backend has any. */
  readonly mask: Mask | undefined
  /** Never throws. */
  readonly emit: Emit
}

/** The hooks of a batch in the order they run, each with its deadline. */
export type HookList = readonly { readonly hook: CallHooks; readonly timeoutMs: number | undefined }[]

/** Emits the event that something around a call failed; the call continues as documented. */
export function partFailed(
  part: 'hook' | 'reducer' | 'schema' | 'spill' | 'cache',
  error: string,
  { toolCallId, toolName }: { readonly toolCallId: string; readonly toolName: string },
  { emit, sessionId }: Batch,
): void {
  emit({ type: 'call-part-failed', sessionId, toolCallId, name: toolName, part, error })
}

/** Reserved for the note that says where the full text of a reduced result is. */
export const POINTER_CHARS = 80
