import { anyText, numberFrom, type OptionRules } from '../check-options.ts'
import type { ServerStatus } from '../registry/server-directory.ts'
import type { SearchVerdict } from './searcher.ts'

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
export interface SearchResult extends SearchVerdict {
  readonly query: string
  readonly kind: 'select' | 'keyword' | 'regex'
  /** How many tools match, before the limit. */
  readonly total: number
  readonly matches: readonly SearchMatch[]
  /** Names in `select:` that do not exist. */
  readonly missing?: readonly string[]
  /** What to do when no match is right, or probably none: a sentence or two for the top of an answer. */
  readonly advice?: string
  /** Servers that are still connecting or have failed, so that a miss does not look final. */
  readonly servers?: readonly ServerStatus[]
}

/** A listing with its score and the reasons for it. */
export interface SearchMatch {
  readonly name: string
  /**
   * What it means depends on the query and the searcher. For a request in words, `hybrid` returns the probability that the
   * match is right, and the result has a `confidence`; scores of other searchers can only be compared within one result.
   * For names (`select:`) and queries that only filter (`server:`, `+word`), which are not ranked, it is 1; for `/pattern/`, 1 if the
   * description matches, 2 if the name does, 3 if both do. 0: it passes the `+word` of a request and fits no other word.
   */
  readonly score: number
  /** How well it matches, to compare it with the others of the same search; the score by default. */
  readonly fit?: number
  readonly description: string
  readonly reasons: readonly string[]
}

/** Below this probability that there is a tool for the request at all, an answer is poor. */
export const POOR_BELOW = 0.35

/** Maximum words to name in an advice. */
const MAX_WORDS = 5

/**
 * Whether matches were found of which probably none is right; false from searchers that do not know. Not by the score of the
 * first one: among many similar tools, or copies of one, each has a small chance, while one of them is right.
 */
export function isPoor({ kind, matches, answerable = 1 }: Judged): boolean {
  return kind === 'keyword' && matches.length > 0 && answerable < POOR_BELOW
}

/** The part of a result that tells whether it can contain the right tool. */
type Judged = Pick<SearchResult, 'kind' | 'answerable'> & { readonly matches: readonly object[] }

/** The part of a result that tells how well it answers the request. */
type JudgedResult = Judged &
  Pick<SearchResult, 'query' | 'total' | 'unmatchedTerms' | 'absentService' | 'confidence'>

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
export function adviceFor(result: JudgedResult, { poor = 'No tool fits well', use }: AdviceWords = {}) {
  const { kind, total, matches, unmatchedTerms = [], absentService: absent } = result
  if (kind !== 'keyword') return undefined
  const words = unmatchedTerms.slice(0, MAX_WORDS).map((word) => `"${word.replaceAll('"', '')}"`)
  const unfound = words.length === 0 ? '' : ` Nothing was found for ${words.join(', ')}.`
  if (total === 0) return `No tool fits.${unfound} Ask${AGAIN}`
  if (isPoor(result))
    return `${poor}.${unfound} ${use === undefined ? NONE_WILL_DO : `If one of these will do, ${use}; otherwise ask`}${AGAIN}`
  if (matches.length === 0) return undefined
  if (!isHalfFound(result))
    return absent && `Nothing here mentions "${absent}". If you named a product, it is not here.`
  return `Perhaps no tool fits.${unfound} ${NONE_WILL_DO}${AGAIN}`
}

const NONE_WILL_DO = 'If none of these will do, ask'
const AGAIN = ' again with what the tool should do, to what, and in which service.'

/** Searchers that do not know how certain they are may still have found nothing for half of the words. */
function isHalfFound({ query, confidence, unmatchedTerms = [] }: JudgedResult): boolean {
  const words = query.trim().split(/\s+/).length
  return confidence === undefined && unmatchedTerms.length >= 2 && 2 * unmatchedTerms.length >= words
}
