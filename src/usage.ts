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

/** What was spent. The three kinds of input add up to all input. */
export interface LedgerTotals extends Usage {
  readonly requests: number
  /** What the models cost; there when their prices are known. */
  readonly costUsd?: number
  /** What the tools said they cost. */
  readonly toolCostUsd: number
  /**
   * What the same requests would have taken with every tool's definition in each. An estimate: it leaves out that
   * full mode needs no searches.
   */
  readonly fullMode: { readonly inputTokens: number; readonly costUsd?: number }
}
