import type { AgentLimit, AgentStop } from '../events.ts'
import type { LedgerTotals } from '../usage.ts'
import type { AgentGrants, PausedRun, PendingCall } from './paused-run.ts'

/**
 * The result of a run. `messages` is the whole history, with a result for every call: the next run may start from it
 * unchanged, or with a user message appended.
 */
export interface AgentResult<Message = unknown, Answer = unknown> {
  /** The last text of the model. */
  readonly text: string
  readonly messages: readonly Message[]
  readonly stop: AgentStop
  /** Which limit, if `stop` is `limit`. */
  readonly limit?: AgentLimit
  readonly iterations: number
  /** What the run and its sub-agents spent; with `options.ledger`, everything counted into that. */
  readonly ledger: LedgerTotals
  /** The calls that wait for a person, if `stop` is `approval`. `messages` then ends before the answer that makes them. */
  readonly pending?: readonly PendingCall[]
  /** The run as JSON, for `resumeAgent()`, if `stop` is `approval`. */
  readonly paused?: PausedRun<Message>
  /** Continues the run with a person's answers, if `stop` is `approval`. */
  readonly resume?: (answers: { readonly grants: AgentGrants }) => Promise<AgentResult<Message, Answer>>
  /** The last answer, if there is an `answerSchema` and it matches. */
  readonly answer?: Answer
  /** Why the model refused, if it says so. */
  readonly refusal?: string
  /** The provider's error, if the run failed. */
  readonly error?: unknown
}
