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
  /** What to do when no match is right, or probably none: a sentence or two for the top of an answer. */
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

/** Below this probability that one of the first matches is right, an answer is poor. */
export const POOR_BELOW = 0.35

/** The matches that are counted for that: what a model gets unless it asks for more. */
const COUNTED = 5

/** Maximum words to name in an advice. */
const MAX_WORDS = 5

/**
 * Whether probably none of the first matches is right; false if there are none, and from searchers that do not know. The
 * first one alone says little: among many similar tools it is seldom the right one, while one of five often is. `leaders`
 * are the first matches of all, if `matches` are a later page.
 */
export function isPoor({ kind, matches, leaders, confidence }: Judged): boolean {
  if (kind !== 'keyword' || matches.length === 0 || confidence === undefined) return false
  const first = leaders === undefined || leaders.length === 0 ? matches : leaders
  const chance = first.slice(0, COUNTED).reduce((sum, { score }) => sum + score, 0)
  return Math.max(confidence, chance) < POOR_BELOW
}

/** The part of a result that tells how probably it contains the right tool. */
type Judged = Pick<SearchResult, 'kind' | 'confidence'> & {
  readonly matches: readonly Pick<SearchMatch, 'score'>[]
  readonly leaders?: readonly Pick<SearchMatch, 'score'>[] | undefined
}

/** The part of a result that tells how well it answers the request. */
type Verdict = Judged & Pick<SearchResult, 'query' | 'total' | 'unmatchedTerms'>

/** How an advice differs for a reader for whom tools are loaded. */
export interface AdviceWords {
  /** What to say instead of "No tool fits well". */
  readonly poor?: string
  /** What to do if one of the matches is right all the same. */
  readonly use?: string
}

/**
 * Says that no tool fits, or probably none, which words found nothing, and how to ask. Undefined if one of them may be
 * right, and for names, patterns and pages, which have matches or have none.
 */
export function adviceFor(result: Verdict, { poor = 'No tool fits well', use }: AdviceWords = {}) {
  const { kind, total, matches, unmatchedTerms = [] } = result
  if (kind !== 'keyword') return undefined
  const words = unmatchedTerms.slice(0, MAX_WORDS).map((word) => `"${word.replaceAll('"', '')}"`)
  const unfound = words.length === 0 ? '' : ` Nothing was found for ${words.join(', ')}.`
  if (total === 0) return `No tool fits.${unfound} Ask${AGAIN}`
  if (isPoor(result))
    return `${poor}.${unfound} ${use === undefined ? NONE_WILL_DO : `If one of these will do, ${use}; otherwise ask`}${AGAIN}`
  if (matches.length === 0 || !isHalfFound(result)) return undefined
  return `Perhaps no tool fits.${unfound} ${NONE_WILL_DO}${AGAIN}`
}

const NONE_WILL_DO = 'If none of these will do, ask'
const AGAIN = ' again with what the tool should do, to what, and in which service.'

/** Searchers that do not know how certain they are may still have found nothing for half of the words. */
function isHalfFound({ query, confidence, unmatchedTerms = [] }: Verdict): boolean {
  const words = query.trim().split(/\s+/).length
  return confidence === undefined && unmatchedTerms.length >= 2 && 2 * unmatchedTerms.length >= words
}
