import { estimateTokenCount } from 'tokenx'

/** The first `maxChars` characters of a text. Never splits a surrogate pair. */
export function cutText(text: string, maxChars: number): string {
  const last = text.charCodeAt(maxChars - 1)
  const isHighSurrogate = last >= 0xd800 && last <= 0xdbff
  return text.slice(0, Math.max(0, isHighSurrogate ? maxChars - 1 : maxChars))
}

/** Shortens a text for display: at most `maxChars` characters, ending in `…` if it was cut. */
export function clipText(text: string, maxChars: number): string {
  return text.length <= maxChars ? text : `${cutText(text, maxChars - 1)}…`
}

/** Limits a number to a range; returns `otherwise` if no number was given. */
export function clamp(
  value: number | undefined,
  range: { readonly min: number; readonly max: number; readonly otherwise: number },
): number {
  if (value === undefined || Number.isNaN(value)) return range.otherwise
  return Math.trunc(Math.min(range.max, Math.max(range.min, value)))
}

/** Counts the tokens of a text. */
export type TokenCounter = (text: string) => number

/** About how many tokens a text takes. Fast and small; decisions use it, figures shown to people are exact. */
export const estimateTokens: TokenCounter = (text) => estimateTokenCount(text)

/** The exact counter (o200k). Its tables are large, so they are loaded on first use. */
export async function exactTokenCounter(): Promise<TokenCounter> {
  const { countTokens } = await import('gpt-tokenizer/encoding/o200k_base')
  return (text) => countTokens(text)
}
