/** What a request cost, in tokens. The three kinds of input add up to all input. */
export interface Usage {
  /** Input at full price. */
  readonly inputTokens: number
  /** Input read from the cache. */
  readonly cachedInputTokens: number
  /** Input written to the cache, where that has its own price. */
  readonly cacheWriteTokens: number
  readonly outputTokens: number
}

/** Nothing spent. */
export const NO_USAGE: Usage = { inputTokens: 0, cachedInputTokens: 0, cacheWriteTokens: 0, outputTokens: 0 }

/** US dollars for a million tokens of each kind. */
export interface Prices {
  readonly input: number
  readonly cachedInput: number
  /** Where writing the cache has its own price; that of `input` when absent. */
  readonly cacheWrite?: number
  readonly output: number
  /** The prices of requests with more input than this, cached input included, where the provider charges more for them. */
  readonly longContext?: Omit<Prices, 'longContext'> & { readonly aboveTokens: number }
}

/** What was spent. The three kinds of input add up to all input. */
export interface LedgerTotals extends Usage {
  readonly requests: number
  /** How many of the requests went to a model without a known price: `costUsd` leaves them out. */
  readonly unpriced: number
  /** What the other requests cost; absent when no price was known for any request. */
  readonly costUsd?: number
  /** What the tools said they cost. */
  readonly toolCostUsd: number
  /**
   * What the same requests would have taken with every tool's definition in each. An estimate: it leaves out that
   * full mode needs no searches.
   */
  readonly fullMode: { readonly inputTokens: number; readonly costUsd?: number }
}

/** One answer of a model, as a meter counts it. */
export interface CountedReply {
  readonly usage: Usage
  /** Absent when no price is known for the model. */
  readonly prices?: Prices | undefined
  /** Tokens of the definitions that full mode would have sent as well. */
  readonly hiddenTokens: number
}

/** Limits on what may be spent. Absent = no limit. */
export interface SpendLimits {
  /** US dollars for models and tools together. */
  readonly maxCostUsd?: number
  /** Tokens of input (cached input included) and output together. */
  readonly maxTokens?: number
}

/** A limit on what a run may spend, by the name of its option. */
export type SpendLimit = keyof SpendLimits

/**
 * Counts what a run spends. A session forked while calls run inherits the meters of these calls, so that a sub-agent
 * counts into the meters of its caller and stops at their limits. Implemented by `Ledger`.
 */
export interface Meter {
  /** What may be spent; absent = no limit. */
  readonly limits: SpendLimits
  addReply(reply: CountedReply): void
  addToolCost(costUsd: number): void
  /** Returns the prices that the run knows for a model. */
  pricesOf(modelId: string): Prices | undefined
  /** Returns the limit that is used up, if one is. */
  limitReached(): SpendLimit | undefined
}
