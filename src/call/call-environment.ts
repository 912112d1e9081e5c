import type { Attachment, CapabilityBackends } from '../capability.ts'
import type { Emit } from '../events.ts'
import type { ReducerLookup } from '../reduce/reducer.ts'
import type { CallProgress, Tool, ToolCall, ToolDefinition, ToolResult, ToolSource } from '../tool.ts'
import type { Spill } from './spill.ts'

/** What the host says about a batch of calls. */
export interface CallContext {
  readonly sessionId: string
  readonly turnCount?: number
  /** Characters all results of the batch may take together; beats the registry's. */
  readonly resultBudgetChars?: number
  /** Answers what would run, and runs nothing. */
  readonly dryRun?: boolean
  readonly signal?: AbortSignal
  /** Deadline for tools without one of their own, for each hook and for the spill; beats the registry's. 0 = none. */
  readonly timeoutMs?: number
  /** How many calls of the batch run at once; all, when absent. */
  readonly maxParallel?: number
  /** The files of the turn, for tools that declared `attachments`. */
  readonly attachments?: readonly Attachment[]
  /** Hears how far the calls of the batch have come, from tools that tell, until each is answered. One that throws harms nobody. */
  readonly onProgress?: (note: CallProgress) => void
}

/** What a call resolves to; a call through `call_tool` resolves to the tool it names and the arguments for it. */
export interface CallTarget {
  readonly tool: Tool
  readonly source: ToolSource
  readonly args: unknown
  /**
   * The tool as registered, a new object for each registration: arguments are validated against its schema, and
   * cached results go with it. Without it the tool object itself serves. One that limits itself is never trimmed:
   * only a session's meta-tools do.
   */
  readonly registration?: { readonly definition: ToolDefinition; readonly isSelfLimiting?: boolean }
}

/** What the pipeline asks of whoever knows the tools. Nothing here needs to be safe: a throw fails that call alone. */
export interface CallEnvironment {
  resolve(call: ToolCall): CallTarget | undefined
  /** A few names close to one that is not there. */
  suggest(name: string): readonly string[]
  /** The tool that finds tools, when this surface has one: errors about unknown names point to it. */
  readonly searchToolName?: string | undefined
  /** Which gate refuses the target, as text for the model; undefined when it is permitted. */
  denial(target: CallTarget): string | undefined
  /** Called once a call may run, before its arguments are looked at: the session notes the use, or checks the tool out. */
  onUse?(target: CallTarget): void
  /** True when the model has not seen the target's schema: an error about its arguments then carries it. */
  needsSchema?(target: CallTarget): boolean
  /** Handed on as it is: copying it for each batch would cost more than the rest of a small call. */
  readonly settings: CallSettings
}

/** What every call of a registry runs under. */
export interface CallSettings {
  /** False also when `isAvailable()` threw. */
  isAvailable(tool: Tool): boolean
  readonly backends: CapabilityBackends
  readonly hooks?: CallHooks | readonly CallHooks[] | undefined
  readonly reducers?: ReducerLookup | undefined
  readonly spill?: Spill | undefined
  /** Deadline where neither the tool nor the context names one; 0 = none. */
  readonly timeoutMs: number
  /** Characters for a batch whose context names no budget. */
  readonly resultBudgetChars: number
  /** How often in a row a session may ask the same; 0 = no limit. */
  readonly maxIdenticalCalls: number
  readonly emit: Emit
}

/** A call as hooks see it: the tool's registered name and its own arguments, also when it came through `call_tool`. */
export interface HookedCall {
  readonly toolCallId: string
  readonly name: string
  readonly args: unknown
  readonly source: ToolSource
  readonly sessionId: string
  readonly turnCount: number
}

/** Lets the call go on with other arguments, answers it, or refuses it. */
export type BeforeCallAnswer =
  | { readonly args: unknown }
  | { readonly result: ToolResult }
  | { readonly deny: string }

type Awaitable<Value> = Value | Promise<Value>

/**
 * What the host does around each call. Several run in order. A `before_tool_call` that throws or answers nonsense
 * denies the call: a guard that breaks must not let it through. An `after_tool_call` that does is ignored, with an
 * event: the call has already happened. Both get copies: what a hook wants changed, it returns.
 */
export interface CallHooks {
  // biome-ignore lint/suspicious/noConfusingVoidType: a hook without an answer has no return statement.
  before_tool_call?(call: HookedCall): Awaitable<BeforeCallAnswer | undefined | void>
  // biome-ignore lint/suspicious/noConfusingVoidType: a hook without an answer has no return statement.
  after_tool_call?(call: HookedCall, result: ToolResult): Awaitable<ToolResult | undefined | void>
}
