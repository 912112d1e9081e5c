import { anyText, anyValue, type OptionRules } from '../check-options.ts'
import type { ServerStatus } from '../registry/server-directory.ts'

/** Options of a search. */
export interface SearchOptions {
  /** Maximum matches, 1 to 100. 5 by default. */
  readonly limit?: number
  /** How many matches to skip. */
  readonly offset?: number
  /** Only tools of this server. */
  readonly server?: string
}

/** Numbers out of range are clamped, so any will do. */
export const SEARCH_RULES: OptionRules<SearchOptions> = { limit: anyValue, offset: anyValue, server: anyText }

/** A search result, best first. */
export interface SearchResult {
  readonly query: string
  readonly kind: 'select' | 'keyword' | 'regex'
  /** How many tools match, before the limit. */
  readonly total: number
  readonly matches: readonly SearchMatch[]
  /** Names in `select:` that do not exist. */
  readonly missing?: readonly string[]
  /** Words that match no tool, as written, in order. */
  readonly unmatchedTerms?: readonly string[]
  /** The probability that the first match is right, from searchers that know it. */
  readonly confidence?: number
  /** What to do when the first match probably is not right: one sentence or two for the top of an answer. */
  readonly advice?: string
  /** Servers that are still connecting or have failed, so that a miss does not look final. */
  readonly servers?: readonly ServerStatus[]
}

/** A listing with its score and the reasons for it. */
export interface SearchMatch {
  readonly name: string
  /** From `hybrid`, the probability that it is right; from other searchers, a number without a scale. */
  readonly score: number
  /** How well it matches, to compare it with the others of the same search; the score by default. */
  readonly fit?: number
  readonly description: string
  readonly reasons: readonly string[]
}

/** The part of a match needed to compare it. */
export type ScoredMatch = Pick<SearchMatch, 'name' | 'score' | 'fit'>

/** A match below this share of the best score matched only an incidental word. */
const FAR_WEAKER = 0.1

/**
 * Whether a match is far weaker than the best of its search: worth showing, but not activating. A tool that passes
 * `+word` and matches nothing else (score 0) is always far weaker than one that matches, but never than another such
 * tool.
 */
export function isFarWeaker(
  match: ScoredMatch,
  { matches }: { readonly matches: readonly ScoredMatch[] },
): boolean {
  const best = Math.max(...matches.map(fitOf))
  return fitOf(match) < FAR_WEAKER * best
}

function fitOf({ fit, score }: ScoredMatch): number {
  return fit ?? score
}

/** Below this probability, the first match is reported as a poor one. */
const POOR_BELOW = 0.3

/** Maximum words to name in an advice. */
const MAX_WORDS = 5

/**
 * Says that no tool fits well, or none at all, which words found nothing, and how to ask. Undefined if the first match is
 * good, and for names, patterns and mere filters, which fit or do not.
 */
export function adviceFor(result: SearchResult): string | undefined {
  const { kind, matches, unmatchedTerms = [] } = result
  if (kind !== 'keyword' || !isPoor(result)) return undefined
  const words = unmatchedTerms.slice(0, MAX_WORDS).map((word) => `"${word.replaceAll('"', '')}"`)
  const missing = words.length === 0 ? '' : ` Nothing was found for ${words.join(', ')}.`
  const [fits, when] =
    matches.length === 0 ? ['No tool fits.', 'Ask'] : ['No tool fits well.', 'If none of these will do, ask']
  return `${fits}${missing} ${when} again with what the tool should do and the service it belongs to, such as "create issue github".`
}

/** From searchers that do not know how certain they are, an answer is poor if half of the words found nothing. */
function isPoor({ query, confidence, matches, unmatchedTerms = [] }: SearchResult): boolean {
  if (matches.length === 0) return true
  if (confidence !== undefined) return confidence < POOR_BELOW
  return unmatchedTerms.length >= 2 && 2 * unmatchedTerms.length >= query.trim().split(/\s+/).length
}
