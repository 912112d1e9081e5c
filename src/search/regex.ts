import { RE2JS } from 're2js'
import { describeError, ToolcribError } from '../errors.ts'
import type { Listing } from '../tool.ts'
import type { Query } from './query/query.ts'
import type { Ranking, RankOptions, Searcher, SearchIndex } from './searcher.ts'
import { type Scored, topMatches } from './top-matches.ts'

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
    const matches: Scored[] = []
    for (const listings of this.#sources.values()) {
      for (const listing of listings) {
        if (!accepts(listing)) continue
        const inName = pattern.test(listing.name) ? NAME_MATCHES : 0
        const inDescription = pattern.test(listing.description) ? DESCRIPTION_MATCHES : 0
        if (inName + inDescription > 0) matches.push({ listing, score: inName + inDescription })
      }
    }
    return {
      total: matches.length,
      matches: topMatches(matches, limit).map((match) => ({
        ...match,
        reasons: reasonsOf(match.score, source),
      })),
      unmatchedTerms: matches.length === 0 ? [source] : [],
    }
  }
}

function reasonsOf(score: number, source: string): string[] {
  const reasons: string[] = []
  if (score >= NAME_MATCHES) reasons.push(`name matches /${source}/`)
  if (score !== NAME_MATCHES) reasons.push(`description matches /${source}/`)
  return reasons
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
    // RE2 puts the flag in front of what it read.
    const reason = describeError(thrown).replace('error parsing regexp: ', '').replace('`(?i)', '`')
    throw invalid(`/${source}/ is not a pattern: ${reason}; use RE2 syntax`, thrown)
  }
}

function invalid(reason: string, cause?: unknown): ToolcribError {
  return new ToolcribError('pattern-invalid', reason, cause === undefined ? undefined : { cause })
}
