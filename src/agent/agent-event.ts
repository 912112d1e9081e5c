import type { AgentEventBody } from '../events.ts'

/**
 * A step of a run, as it happens. Steps of sub-agents come the same way, with the session of the sub-agent. The registry's
 * stream carries each as `{ type: 'agent', event }`.
 */
export type AgentEvent = { readonly sessionId: string; readonly iteration: number } & AgentEventBody

export type EmitAgent = (event: AgentEventBody) => void
