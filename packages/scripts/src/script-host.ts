import type { AskAnswer, ToolResult } from '@toolcrib/core'
import type { EventBody, PausedScript } from '@toolcrib/core/internal'

/** One session as its scripts see it: what they call passes the same gates as any call of the session. */
export interface ScriptHost {
  readonly sessionId: string
  /** Fires when the call of `run_script` is cancelled. */
  readonly signal: AbortSignal
  /** The tool that a path such as `github.create_issue` means, or why there is none. */
  resolve(path: string): ScriptTool | { readonly problem: string }
  /** Whether a person must be asked before a call of this tool, and has granted nothing that covers it. */
  asks(name: string): boolean
  /** Runs a call; one that a person must be asked about, and is not granted, is held. Never rejects. */
  call(call: ScriptCall, options: ScriptCallOptions): Promise<CallOutcome>
  /**
   * Asks a person about all calls at once, with an answer for each; `gone` for those whose tool has left. Undefined if nobody
   * can be asked.
   */
  ask(calls: readonly ScriptCall[]): Promise<readonly (AskAnswer | 'gone')[] | undefined>
  /** Tools that fit a request, with their signatures. Rejects for a request that cannot be read. */
  search(request: string): Promise<readonly ScriptTool[]>
  emit(event: EventBody): void
}

/** A tool that a script may call. */
export interface ScriptTool {
  readonly name: string
  readonly description: string
  /** Its path, parameters and result as TypeScript. */
  readonly types: string
  /** Whether it says that it only reads. */
  readonly isReadOnly: boolean
  /** Changes with its definition. */
  readonly fingerprint: string
}

/** One call of a script. */
export interface ScriptCall {
  readonly toolCallId: string
  readonly name: string
  readonly args: unknown
}

/** How to run one call of a script. */
export interface ScriptCallOptions {
  /** A person has granted this very call. */
  readonly isGranted: boolean
  /** Characters of its result. */
  readonly maxChars: number
  readonly signal: AbortSignal
}

/** The result of a call, or that it waits for a person: then nothing of it has run. */
export type CallOutcome = { readonly isHeld: true } | { readonly isHeld: false; readonly result: ToolResult }

/** What runs scripts of many sessions. Implemented by `Scripts`. */
export interface ScriptRunner {
  run(script: { readonly code: string; readonly toolCallId: string }, host: ScriptHost): Promise<ToolResult>
  paused(host: ScriptHost): Promise<readonly PausedScript[]>
  decide(run: string, decisions: Readonly<Record<number, boolean>>, host: ScriptHost): Promise<void>
  resume(run: string, host: ScriptHost): Promise<ToolResult>
}
