/** Exact token counts. Runs in browsers too. */
import type { TokenCounter } from '@toolcrib/core'

/** The exact counter (o200k). Its tables are large, so they are loaded on first use. */
export async function exactTokenCounter(): Promise<TokenCounter> {
  const { countTokens } = await import('gpt-tokenizer/encoding/o200k_base')
  return (text) => countTokens(text)
}
