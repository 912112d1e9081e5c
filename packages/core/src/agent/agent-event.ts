import type { AgentEventBody } from '../events.ts'

/**
 * A step of a run. `onEvent` of `runAgent` receives those of the run, `onEvent` of `agentTool` those of sub-agents,
 * with the id of the sub-agent's session. The registry's event stream has all of them, as `{ type: 'agent', event }`.
 */
export type AgentEvent = { readonly sessionId: string; readonly iteration: number } & AgentEventBody

export type EmitAgent = (event: AgentEventBody) => void
