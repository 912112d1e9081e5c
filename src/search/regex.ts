import { RE2JS } from 're2js'
import { describeError, ToolcribError } from '../errors.ts'
import type { Listing } from '../tool.ts'
import type { Query } from './query.ts'
import type { Ranking, RankOptions, Searcher, SearchIndex } from './searcher.ts'
import { topMatches } from './top-matches.ts'

const MAX_PATTERN_LENGTH = 200
const NAME_MATCHES = 2
const DESCRIPTION_MATCHES = 1

/**
 * Finds what a pattern matches in name or description, whatever the case; name matches first, then by name. RE2
 * syntax, in time linear in the text, so that no pattern can stall the process. A pattern that is too long or that
 * RE2 refuses (backreferences, lookaround) throws `pattern-invalid`.
 */
export function regex(): Searcher {
  return { name: 'regex', reads: 'pattern', open: () => new RegexIndex() }
}

class RegexIndex implements SearchIndex {
  readonly #sources = new Map<string, readonly Listing[]>()

  update(source: string, listings: readonly Listing[]): void {
    if (listings.length === 0) this.#sources.delete(source)
    else this.#sources.set(source, listings)
  }

  rank(query: Query, { limit, accepts }: RankOptions): Ranking {
    const source = query.pattern ?? query.words.join(' ')
    const pattern = compile(source)
    const matches: { listing: Listing; score: number; reasons: string[] }[] = []
    for (const listings of this.#sources.values()) {
      for (const listing of listings) {
        if (!accepts(listing)) continue
        const inName = pattern.test(listing.name)
        const inDescription = pattern.test(listing.description)
        if (!inName && !inDescription) continue
        const score = (inName ? NAME_MATCHES : 0) + (inDescription ? DESCRIPTION_MATCHES : 0)
        const reasons: string[] = []
        if (inName) reasons.push(`name matches /${source}/`)
        if (inDescription) reasons.push(`description matches /${source}/`)
        matches.push({ listing, score, reasons })
      }
    }
    const unmatchedTerms = matches.length === 0 ? [source] : []
    return { total: matches.length, matches: topMatches(matches, limit), unmatchedTerms }
  }
}

function compile(source: string): RE2JS {
  if (source.length > MAX_PATTERN_LENGTH) {
    throw invalid(
      `the pattern is ${source.length} characters long; ${MAX_PATTERN_LENGTH} is the most, so shorten it`,
    )
  }
  try {
    return RE2JS.compile(source, RE2JS.CASE_INSENSITIVE)
  } catch (thrown) {
    throw invalid(`/${source}/ is not a pattern: ${describeError(thrown)}; use RE2 syntax`, thrown)
  }
}

function invalid(reason: string, cause?: unknown): ToolcribError {
  return new ToolcribError('pattern-invalid', reason, cause === undefined ? undefined : { cause })
}
