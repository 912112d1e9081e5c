/** Exact token counts. Runs in browsers too. */
import type { TokenCounter } from '@toolcrib/core'
import { sharedSlices } from '@toolcrib/core/internal'

/** Merging takes time that grows with the square of a run's length, so longer ones count piece by piece. */
const LONG_RUN = /([\p{L}\p{M}\p{N}]{200}|[^\s\p{L}\p{N}]{200}|\s{200})/u

let counter: Promise<TokenCounter> | undefined

/** The exact counter (o200k); a run of more than 200 letters, signs or spaces is counted in pieces. Its tables are large, so they are loaded on first use, in slices. */
export function exactTokenCounter(): Promise<TokenCounter> {
  counter ??= loadCounter()
  return counter
}

async function loadCounter(): Promise<TokenCounter> {
  const [{ default: tokens }, { BytePairEncodingCore }, { O200KBase }] = await Promise.all([
    import('gpt-tokenizer/bpeRanks/o200k_base'),
    import('gpt-tokenizer/BytePairEncodingCore'),
    import('gpt-tokenizer/encodingParams/o200k_base'),
  ])
  const ranks = new Map<string, number>()
  const others: (readonly number[])[] = []
  await sharedSlices.each(tokens.entries(), ([rank, token]) => {
    if (typeof token === 'string') ranks.set(token, rank)
    else others[rank] = token
  })
  // Its constructor would read 200,000 tokens at once, so it gets the few that are no text.
  const encoding = new BytePairEncodingCore(O200KBase(others))
  Object.assign(encoding, { bytePairStringRankEncoder: ranks })
  // Names of special tokens, as any server may write them, count as text.
  return (text) => text.split(LONG_RUN).reduce((sum, part) => sum + encoding.countNative(part), 0)
}
