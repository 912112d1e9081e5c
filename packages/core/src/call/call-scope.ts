import type { Attachment, CapabilityBackends } from '../capability.ts'
import type { Emit } from '../events.ts'
import type { ReducerLookup } from '../reduce/reducer.ts'
import type { Availability } from '../registry/availability.ts'
import type { Entry } from '../registry/entry.ts'
import type { ServerStatus } from '../registry/server-directory.ts'
import type {
  CallProgress,
  Returned,
  ToolAnnotations,
  ToolCall,
  ToolContext,
  ToolResult,
  ToolSource,
} from '../tool.ts'
import type { Meter } from '../usage.ts'
import type { AskHandler } from './ask.ts'
import type { Pausing } from './pausing.ts'
import type { Spill } from './spill.ts'

/** How to run a batch of calls. */
export interface CallContext {
  readonly sessionId: string
  readonly turnCount?: number
  /** How many characters all results of the batch may take together; overrides the registry's. */
  readonly resultBudgetChars?: number
  /** Returns what would run, without running it. */
  readonly dryRun?: boolean
  readonly signal?: AbortSignal
  /** Deadline for tools without their own, for each hook and for the spill; overrides the registry's. 0 = none. */
  readonly timeoutMs?: number
  /** How many calls of the batch run at once. Default: all. */
  readonly maxParallel?: number
  /** The files of the turn, for tools that declared `attachments`. */
  readonly attachments?: readonly Attachment[]
  /**
   * A value of the host's, such as the tenant, the user or the request: tools, hooks, backends, `onAsk` and sub-agents
   * get it as `context`. Overrides the session's. It is never sent to a model, nor stored.
   */
  readonly context?: unknown
  /** Receives progress until each call completes; exceptions are ignored. */
  readonly onProgress?: (note: CallProgress) => void
  /**
   * Called around each call of the batch, before the registry's own hooks. They apply to sub-agents too: a session
   * forked while the batch runs inherits them. They have no deadline, since one may be asking a person; `signal` ends
   * the wait.
   */
  readonly hooks?: CallHooks | readonly CallHooks[]
  /** Asks a person about calls that the policy's `ask` names; instead of the registry's. Sub-agents ask here too. */
  readonly onAsk?: AskHandler
  /** Collects calls that need a person if there is no `onAsk`, to make them later. `runAgent` passes its own. */
  readonly pausing?: Pausing
  /** Count what sub-agents spend: a session forked while the batch runs inherits them. `runAgent` passes its own. */
  readonly meters?: readonly Meter[]
  /** How often in a row the session may make the same call; overrides the registry's. 0 = no limit. */
  readonly maxIdenticalCalls?: number
  /** Runs calls in place of the tools' `execute`, after every gate and hook. For hosts that forward calls themselves. */
  readonly executor?: CallExecutor
  /**
   * The result of calls that were started earlier, if it arrived after they returned. Policy, `after_tool_call`,
   * reducers and masking apply to it; nothing is run, and arguments are neither checked nor counted.
   */
  readonly lateResult?: ToolResult
  /** Answers calls of tools that policy or quarantine deny as if there were no such tools. */
  readonly hideDenied?: boolean
  /** False: reducers do not shorten the results. */
  readonly reduce?: boolean
}

/** Runs calls in place of the tools. The gateway's `ForwardedCall` sends them to their servers. */
export interface CallExecutor {
  /** Runs a call, or returns undefined to leave it to the tool. */
  execute(call: ExecutedCall, ctx: ToolContext): Awaitable<ToolResult> | undefined
}

/** A call that passed every gate, with its valid arguments. */
export interface ExecutedCall {
  readonly name: string
  /** The name its source gave the tool: `search` for `mcp__github__search`. */
  readonly ownName: string
  readonly source: ToolSource
  readonly args: unknown
}

/** What a call resolves to; a call through `call_tool` resolves to the tool it names, with its arguments. */
export interface CallTarget {
  readonly entry: Entry
  readonly args: unknown
}

/**
 * The scope of a batch of calls: one turn of a session, or a registry without a session. Implemented by `SessionScope` and
 * `CatalogueScope`. If an implementation throws, only that call fails.
 */
export interface CallScope {
  /** The search tool, if it is shown: errors about unknown names mention it. */
  readonly searchToolName: string | undefined
  /** Whether `read_result` may be called: without it, no result points to a spill. */
  readonly canReadResults: boolean
  /** With `hidesDenied`, a target that `denial` refuses is undefined. */
  resolve(call: ToolCall, options?: { readonly hidesDenied?: boolean }): CallTarget | undefined
  /** Returns the gate that refuses the target, as text for the model; undefined if it is permitted. */
  denial(target: CallTarget): string | undefined
  /** Whether a person must be asked before the target runs. */
  asks(target: CallTarget): boolean
  /** Whether the model was shown a tool of this name that no longer exists. */
  isGone(name: string): boolean
  /** Returns the servers that failed or are still connecting, and may be the reason for an unknown name. */
  missingServers(name: string): readonly ServerStatus[]
  /** Returns all tools that share a bare name; else a few names close to an unknown one. */
  suggest(name: string): readonly string[]
  /** True if the model has not seen the target's schema: an error about its arguments then includes it. */
  needsSchema(target: CallTarget): boolean
  /** True while the model may only guess the target's arguments: names that its schema does not have are refused. */
  isUnseen(target: CallTarget): boolean
  /** Called once the calls of a batch are opened, with the targets whose schema an error shows. */
  noteSchemas(targets: readonly CallTarget[]): void
  /**
   * Called once per batch with the targets that may run, before any of them does: a session checks out those that are
   * not active, and does not evict them while the batch runs.
   */
  noteUses(targets: readonly CallTarget[]): void
  /** Returns the servers without `trust` whose text a result contains. */
  untrustedServers(target: CallTarget, result: ToolResult): readonly string[]
}

/** The settings of all calls of a registry. */
export interface CallSettings {
  readonly availability: Availability
  readonly backends: CapabilityBackends
  readonly hooks?: CallHooks | readonly CallHooks[] | undefined
  readonly onAsk?: AskHandler | undefined
  /** The host's value where neither the call nor its session has one. */
  readonly context?: unknown
  readonly reducers?: ReducerLookup | undefined
  readonly spill?: Spill | undefined
  /** Deadline if neither the tool nor the context has one; 0 = none. */
  readonly timeoutMs: number
  /** The budget of a batch whose context has none. */
  readonly resultBudgetChars: number
  /** How often in a row a session may make the same call; 0 = no limit. */
  readonly maxIdenticalCalls: number
  readonly emit: Emit
}

/** A call as hooks see it: the tool's registered name and its own arguments, even if it came through `call_tool`. */
export interface HookedCall<Host = unknown> {
  readonly toolCallId: string
  readonly name: string
  readonly title?: string
  /** What the tool's author claims about it. */
  readonly annotations?: ToolAnnotations
  /** The host's value, as in `ToolContext`. */
  readonly context: Host
  readonly args: unknown
  readonly source: ToolSource
  readonly sessionId: string
  readonly turnCount: number
}

/** Continues the call with other arguments, answers it, or refuses it. */
export type BeforeCallAnswer =
  | { readonly args: unknown }
  | { readonly result: Returned }
  | { readonly deny: string }

type Awaitable<Value> = Value | Promise<Value>

/**
 * The host's hooks around each call. Several run in order. A `before_tool_call` that throws, or returns anything else,
 * denies the call: a broken guard must not let it through. An `after_tool_call` that does is ignored, with an event:
 * the call has already happened. Both get copies: a hook returns its changes.
 */
export interface CallHooks {
  // biome-ignore lint/suspicious/noConfusingVoidType: a hook without an answer has no return statement.
  before_tool_call?(call: HookedCall): Awaitable<BeforeCallAnswer | undefined | void>
  after_tool_call?(call: HookedCall, result: ToolResult): Awaitable<Returned>
}
