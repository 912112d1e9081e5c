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

/**
 * Estimates how many tokens a text takes. Fast and small; used for decisions, while figures shown to people are exact.
 */
export const estimateTokens: TokenCounter = (text) => estimateAscii(text) ?? estimateTokenCount(text)

// Kinds of ASCII characters. A run of spaces, of punctuation or of anything else is estimated as a whole.
const SPACE = 1
const PUNCTUATION = 2
const DIGIT = 4
const SMALL_LETTER = 8
const SEPARATOR = SPACE | PUNCTUATION
const KINDS = Uint8Array.from({ length: 128 }, (_, code) => {
  const character = String.fromCharCode(code)
  if (/\s/.test(character)) return SPACE
  if (/[0-9]/.test(character)) return DIGIT
  if (/[a-z]/.test(character)) return SMALL_LETTER
  return '.,!?;(){}[]<>:/\\|@#$%^&*+=`~_"-'.includes(character) ? PUNCTUATION : 0
})

/**
 * The same count as `estimateTokenCount()` in less than a third of the time, since a start counts the tokens of every
 * definition. Undefined for text that is not ASCII.
 */
function estimateAscii(text: string): number | undefined {
  let tokens = 0
  for (let start = 0; start < text.length; ) {
    const kind = KINDS[text.charCodeAt(start)]
    if (kind === undefined) return undefined
    const separator = kind & SEPARATOR
    let common = kind
    let end = start + 1
    for (; end < text.length; end++) {
      const next = KINDS[text.charCodeAt(end)]
      if (next === undefined) return undefined
      if ((next & SEPARATOR) !== separator) break
      common &= next
    }
    tokens += separator === SPACE ? spaceTokens(text, start, end) : runTokens(end - start, common)
    start = end
  }
  return tokens
}

/** The tokens of a run of one kind, or of a word whose characters have these kinds in common. */
function runTokens(length: number, common: number): number {
  if (common === DIGIT) return Math.ceil(length / 3)
  if (length <= 3 || (common === SMALL_LETTER && length <= 8)) return 1
  return Math.ceil(length / (common === PUNCTUATION ? 6 : 7))
}

/** Spaces between words cost nothing, unless they indent a line, or follow a line without punctuation at its end. */
function spaceTokens(text: string, start: number, end: number): number {
  const spaces = text.slice(start, end)
  const line = spaces.indexOf('\n')
  if (line === -1) return 0
  const isIndented = line < spaces.length - 1
  return isIndented || KINDS[text.charCodeAt(start - 1)] !== PUNCTUATION ? 1 : 0
}
