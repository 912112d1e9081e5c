import type { CallResult, ToolCall } from './tool.ts'
import type { Usage } from './usage.ts'

/** What the model answered. */
export interface Reply {
  readonly text: string
  readonly calls: readonly ToolCall[]
  /** Calls that cannot run, with their results; `toMessages` passes those to the model. */
  readonly unrunnable: readonly CallResult[]
  readonly stop: Stop
  /** Why the model refused, if it says so. */
  readonly refusal?: string
  /** The provider's error, if it sent one in place of an answer; `stop` is then `cut`. */
  readonly error?: { readonly message: string; readonly code?: string | number }
  readonly usage: Usage
}

/**
 * Why the model stopped. calls: it waits for results; length: a token limit; refused: it will not answer; paused: it
 * continues when the messages are sent again; cut: the stream ended early.
 */
export type Stop = 'done' | 'calls' | 'length' | 'refused' | 'paused' | 'cut'
