import { estimateTokenCount } from 'tokenx'

/** Counts the tokens of a text. */
export type TokenCounter = (text: string) => number

/** About how many tokens a text takes. Fast and small; decisions use it, figures shown to people are exact. */
export const estimateTokens: TokenCounter = (text) => estimateTokenCount(text)

/** The exact counter (o200k). Its tables are large, so they are loaded on first use. */
export async function exactTokenCounter(): Promise<TokenCounter> {
  const { countTokens } = await import('gpt-tokenizer/encoding/o200k_base')
  return (text) => countTokens(text)
}
