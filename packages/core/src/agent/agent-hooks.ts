import type { CallHooks } from '../call/call-scope.ts'
import type { Reply } from '../reply.ts'
import type { Usage } from '../usage.ts'

type Awaitable<Value> = Value | Promise<Value>

/** A request that is about to be sent. */
export interface ModelCall<Message> {
  readonly sessionId: string
  readonly iteration: number
  readonly messages: readonly Message[]
  /** The usage of the previous request; absent for the first. Its input shows how full the context window is. */
  readonly lastUsage?: Usage
  /** The host's value, as in `ToolContext`. */
  readonly context: unknown
}

/**
 * The host's hooks around a run. Several hooks run in order. The hooks around calls work like those of
 * `session.execute()`: they run before the registry's own, see the tool that `call_tool` names, and apply to sub-agents
 * at any depth.
 */
export interface AgentHooks<Message = unknown> extends CallHooks {
  /**
   * Runs before each request. What it returns replaces the history, so this is where to compact it. Definitions that
   * only the history held may be lost: the next request says again which tools are active.
   */
  // biome-ignore lint/suspicious/noConfusingVoidType: a hook without an answer has no return statement.
  before_model_call?(call: ModelCall<Message>): Awaitable<readonly Message[] | undefined | void>
  after_model_call?(reply: Reply, call: ModelCall<Message>): Awaitable<void>
  /**
   * Runs whenever the history is complete: after the calls of an answer, and with the last answer. Save `messages` here,
   * to go on from them after a crash.
   */
  checkpoint?(call: ModelCall<Message>): Awaitable<void>
}

/** The hooks as a list, whichever way the host gave them. */
export function agentHookList<Message>(
  hooks: AgentHooks<Message> | readonly AgentHooks<Message>[] | undefined,
): readonly AgentHooks<Message>[] {
  if (hooks === undefined) return []
  return Array.isArray(hooks) ? hooks : [hooks as AgentHooks<Message>]
}

/** The part of a hook that runs around calls; undefined if it has none. */
export function callHooksOf(hook: CallHooks): readonly CallHooks[] {
  const { before_tool_call, after_tool_call } = hook
  if (!before_tool_call && !after_tool_call) return []
  const known = callParts.get(hook)
  if (known) return [known]
  const part: CallHooks = {
    ...(before_tool_call ? { before_tool_call: (call) => hook.before_tool_call?.(call) } : {}),
    ...(after_tool_call ? { after_tool_call: (call, result) => hook.after_tool_call?.(call, result) } : {}),
  }
  callParts.set(hook, part)
  return [part]
}

/**
 * One part per hook. Sessions compare hooks by identity, so a hook that a host passes to a run and to its sub-agents
 * runs once around each call.
 */
const callParts = new WeakMap<CallHooks, CallHooks>()

/** An error thrown by a hook around model calls. It ends the run, which keeps its history. */
export class HookFailed {
  readonly cause: unknown

  constructor(cause: unknown) {
    this.cause = cause
  }
}
