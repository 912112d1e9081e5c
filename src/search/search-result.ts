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

/** What a search found, best first. */
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
  /** Servers that are still connecting or failed, so that a miss is not taken for "there is none". */
  readonly servers?: readonly ServerStatus[]
}

/** A listing with its score and the reasons for it. */
export interface SearchMatch {
  readonly name: string
  readonly score: number
  readonly description: string
  readonly reasons: readonly string[]
}
