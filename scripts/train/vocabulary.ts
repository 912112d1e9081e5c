import type { Listing } from '../../packages/core/src/tool.ts'
import { teacherText } from './teacher-text.ts'

/** How many words of real catalogues get their own row, besides MiniLM's vocabulary. */
const DOMAIN_WORDS = 2_600

/** A word must be used by this many sources; other words are learned from their pieces. */
const MIN_SOURCES = 3

/**
 * The rows of the table: MiniLM's vocabulary without tokens that never occur in a text, then the words that tool
 * catalogues use often and that MiniLM would split (`github`, `oauth`, `webhook`).
 */
export function chooseVocabulary(
  base: ReadonlyMap<string, number>,
  listings: readonly Listing[],
): { tokens: string[]; words: string[] } {
  const tokens = [...base.keys()].filter((token) => !/^\[.+\]$/.test(token) && !NEVER_MET.test(token))
  const sources = new Map<string, Set<string>>()
  for (const listing of listings) {
    const origin = listing.source.kind === 'mcp' ? listing.source.server : ''
    for (const [word] of teacherText(listing)
      .toLowerCase()
      .matchAll(/[a-z0-9]+/g)) {
      if (word.length < 3 || word.length > 20 || /^\d|\d{3}/.test(word) || base.has(word)) continue
      const known = sources.get(word) ?? new Set()
      sources.set(word, known.add(origin))
    }
  }
  const words = [...sources]
    .filter(([, origins]) => origins.size >= MIN_SOURCES)
    .sort(([a, x], [b, y]) => y.size - x.size || (a < b ? -1 : 1))
    .slice(0, DOMAIN_WORDS)
    .map(([word]) => word)
  return { tokens, words }
}

// Punctuation is not read, and characters of scripts without spaces are separate words, so they never continue one.
const NEVER_MET = /^(?:##)?[\p{P}\p{S}]$|^##[^\p{Script=Latin}\p{N}]$/u
