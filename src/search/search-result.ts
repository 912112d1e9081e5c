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
  /** Servers that are still connecting or have failed, so that a miss does not look final. */
  readonly servers?: readonly ServerStatus[]
}

/** A listing with its score and the reasons for it. */
export interface SearchMatch {
  readonly name: string
  readonly score: number
  readonly description: string
  readonly reasons: readonly string[]
}

/** The part of a match needed to compare it. */
export type ScoredMatch = Pick<SearchMatch, 'name' | 'score'>

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
  const best = Math.max(...matches.map(({ score }) => score))
  return match.score < FAR_WEAKER * best
}
