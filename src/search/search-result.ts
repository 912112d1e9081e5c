import { anyText, numberFrom, type OptionRules } from '../check-options.ts'
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

/** Numbers out of range are clamped, so any number will do. */
const anyNumber = numberFrom(Number.NEGATIVE_INFINITY)

export const SEARCH_RULES: OptionRules<SearchOptions> = {
  limit: anyNumber,
  offset: anyNumber,
  server: anyText,
}

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
