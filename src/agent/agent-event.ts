import type { Reply } from '../dialects/dialect.ts'
import type { CallResult, ToolCall } from '../tool.ts'
import type { LedgerTotals } from './ledger.ts'

/**
 * What happens in a run, as it happens. Events of sub-agents come the same way, with the session of the sub-agent.
 */
export type AgentEvent = { readonly sessionId: string; readonly iteration: number } & AgentEventBody

/** What happened, without where. */
export type AgentEventBody =
  /** A request goes out with these many tools. */
  | {
      readonly type: 'asking'
      readonly tools: number
      readonly deferredCount: number
      readonly mayCall: boolean
    }
  /** A piece of the answer. After `retrying` the answer starts anew. */
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'retrying'; readonly reason: string; readonly delayMs: number; readonly attempt: number }
  | { readonly type: 'replied'; readonly reply: Reply }
  | { readonly type: 'calling'; readonly calls: readonly ToolCall[] }
  /** All calls of the turn are answered, those that could not be run included. */
  | { readonly type: 'called'; readonly results: readonly CallResult[] }
  /** The model goes round in circles: it is told, or has no tools for a turn. */
  | {
      readonly type: 'looping'
      readonly answer: 'nudge' | 'withhold'
      readonly name: string
      readonly times: number
    }
  | { readonly type: 'compacted'; readonly before: number; readonly after: number }
  | { readonly type: 'stopped'; readonly stop: AgentStop; readonly ledger: LedgerTotals }

/**
 * Why a run ended. done: the model has answered; refused: it will not; length: its answer met a token limit; limit: so
 * many iterations are enough; cancelled: the signal fired; failed: the provider could not be asked.
 */
export type AgentStop = 'done' | 'refused' | 'length' | 'limit' | 'cancelled' | 'failed'

export type EmitAgent = (event: AgentEventBody) => void
