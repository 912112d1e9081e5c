import { anyText, anyValue, type OptionRules } from '../check-options.ts'
import type { ServerStatus } from '../registry/server-directory.ts'

/** How to search. */
export interface SearchOptions {
  /** How many matches, 1 to 100; 5 when absent. */
  readonly limit?: number
  /** How many matches to skip. */
  readonly offset?: number
  /** Only this server's tools. */
  readonly server?: string
}

/** Numbers out of range are clamped, so any will do. */
export const SEARCH_RULES: OptionRules<SearchOptions> = { limit: anyValue, offset: anyValue, server: anyText }

/** A search result, best first. */
export interface SearchResult {
  readonly query: string
  readonly kind: 'select' | 'keyword' | 'regex'
  /** How many fit, before the limit. */
  readonly total: number
  readonly matches: readonly SearchMatch[]
  /** Names of `select:` that are not there. */
  readonly missing?: readonly string[]
  /** Words that fit no tool, as written, in order. */
  readonly unmatchedTerms?: readonly string[]
  /** Servers that are still connecting or failed, so that a miss does not read as "there is none". */
  readonly servers?: readonly ServerStatus[]
}

/** A listing with its score and the reasons for it. */
export interface SearchMatch {
  readonly name: string
  readonly score: number
  readonly description: string
  readonly reasons: readonly string[]
}

/** What a match is compared by. */
export type ScoredMatch = Pick<SearchMatch, 'name' | 'score'>

/** A match below this share of the best score was found by a word in passing. */
const FAR_WEAKER = 0.1

/**
 * Whether a match is far weaker than the best of its search: worth showing, not worth activating. A tool that passes
 * `+word` and fits nothing else (score 0) is always far weaker than one that fits, and never than another like it.
 */
export function isFarWeaker(
  match: ScoredMatch,
  { matches }: { readonly matches: readonly ScoredMatch[] },
): boolean {
  const best = Math.max(...matches.map(({ score }) => score))
  return match.score < FAR_WEAKER * best
}
