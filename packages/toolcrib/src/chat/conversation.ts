import type { AskHandler, Session } from '@toolcrib/core'
import {
  type AgentEvent,
  type AgentResult,
  type Ledger,
  type LedgerTotals,
  type Model,
  type Prices,
  runAgent,
} from '@toolcrib/core/agent'

export interface ConversationOptions {
  readonly model: Model
  readonly session: Session
  readonly ledger: Ledger
  readonly callContext: { readonly onAsk: AskHandler }
  readonly system?: string
  readonly maxIterations?: number
  readonly prices?: Prices
  onEvent(event: AgentEvent): void
}

/** The messages between a user and a model, and what they cost. */
export class Conversation {
  readonly session: Session
  readonly #options: ConversationOptions
  #messages: readonly unknown[] = []
  #isCompacted = false

  constructor(options: ConversationOptions) {
    this.session = options.session
    this.#options = options
  }

  /** Sends a message and runs the model until it has answered. */
  async say(text: string, signal: AbortSignal): Promise<AgentResult> {
    const { model } = this.#options
    const result = await runAgent({
      ...this.#options,
      messages: [...this.#messages, model.dialect.userMessage(text)],
      signal,
      isCompacted: this.#isCompacted,
      hint: true,
    })
    this.#messages = result.messages
    this.#isCompacted = false
    return result
  }

  /** Drops the messages. The session keeps its tools, and the next request names them once. */
  forget(): void {
    this.#messages = []
    this.#isCompacted = true
  }

  totals(): LedgerTotals {
    return this.#options.ledger.totals()
  }
}
