/**
 * List prices of 16 November 2026, in US dollars per million input tokens, for prompts below each provider's
 * long-context limit. A prefix is cached from `minTokens` on, in steps of `block` tokens.
 */
export const PRICES = {
  // Claude Opus 5.5; the cache is written for five minutes.
  anthropic: { model: 'Claude Opus 5.5', input: 4, cached: 0.2, cacheWrite: 5, minTokens: 1_024, block: 1 },
  // GPT-6.1 Sol; input costs double above 272,000 tokens.
  openai: { model: 'GPT-6.1 Sol', input: 2, cached: 0.1, cacheWrite: 2.5, minTokens: 1_024, block: 128 },
  // Gemini 3 Pro; as listed on 18 November 2025. Writing to the cache is not billed separately.
  gemini: { model: 'Gemini 3 Pro', input: 2, cached: 0.2, cacheWrite: 2, minTokens: 4_096, block: 1 },
} as const

export type Prices = (typeof PRICES)[keyof typeof PRICES]
