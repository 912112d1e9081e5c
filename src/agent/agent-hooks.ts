import type { CallHooks } from '../call/call-environment.ts'
import type { Reply } from '../reply.ts'
import type { Usage } from '../usage.ts'

type Awaitable<Value> = Value | Promise<Value>

/** What is about to be asked. */
export interface ModelCall<Message> {
  readonly sessionId: string
  readonly iteration: number
  readonly messages: readonly Message[]
  /** What the request before took; absent for the first. Its input says how full the context window is. */
  readonly lastUsage?: Usage
}

/**
 * What the host does around a run. Several run in order. The hooks around calls are those of a registry, for this run
 * alone: they stand before the registry's own and see the tool that `call_tool` names.
 */
export interface AgentHooks<Message = unknown> extends CallHooks {
  /**
   * Before each request. What it returns takes the place of the history, so this is where to compact it. The model
   * may lose definitions it was told there: once after that, it is told again what is active.
   */
  // biome-ignore lint/suspicious/noConfusingVoidType: a hook without an answer has no return statement.
  before_model_call?(call: ModelCall<Message>): Awaitable<readonly Message[] | undefined | void>
  after_model_call?(reply: Reply, call: ModelCall<Message>): Awaitable<void>
}

/** The hooks as a list, whichever way the host gave them. */
export function agentHookList<Message>(
  hooks: AgentHooks<Message> | readonly AgentHooks<Message>[] | undefined,
): readonly AgentHooks<Message>[] {
  if (hooks === undefined) return []
  return Array.isArray(hooks) ? hooks : [hooks as AgentHooks<Message>]
}
