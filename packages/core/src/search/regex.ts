import { compilePattern } from '../bounded-pattern.ts'
import { isServed } from '../names.ts'
import { WorkBudget } from '../time.ts'
import type { Listing } from '../tool.ts'
import type { Query } from './query/query.ts'
import type { Ranking, RankOptions, Searcher, SearchIndex } from './searcher.ts'
import { type Scored, topMatches } from './top-matches.ts'

const NAME_MATCHES = 2
const DESCRIPTION_MATCHES = 1

/**
 * Finds tools whose name or description matches a pattern, ignoring case; name matches first, then sorted by name. `^` is the
 * start of the registered name, of the name after `mcp__`, and of the server's own name.
 * Throws `pattern-invalid` if `compilePattern` rejects the pattern, or if it exceeds the work budget of one search:
 * no pattern blocks the process, and no result is silently incomplete.
 */
export function regex(): Searcher {
  return { name: 'regex', reads: 'pattern', order: 'fixed', open: () => new RegexIndex() }
}

class RegexIndex implements SearchIndex {
  readonly #sources = new Map<string, readonly Listing[]>()

  update(source: string, listings: readonly Listing[]): void {
    if (listings.length === 0) this.#sources.delete(source)
    else this.#sources.set(source, listings)
  }

  rank(query: Query, { limit, accepts }: RankOptions): Ranking {
    const source = query.pattern ?? query.words.join(' ')
    const pattern = compilePattern(source, { ignoreCase: true })
    const budget = new WorkBudget()
    const spellings = START_OR_EDGE.test(source) ? spellingsOf : ({ name }: Listing) => [name]
    const matches: Scored[] = []
    for (const listings of this.#sources.values()) {
      for (const listing of listings) {
        if (!accepts(listing)) continue
        const inName = spellings(listing).some((name) => pattern.test(name, budget)) ? NAME_MATCHES : 0
        const inDescription = pattern.test(listing.description, budget) ? DESCRIPTION_MATCHES : 0
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

/** What may match at the start of a name and not within it: only then do the spellings of a name matter. */
const START_OR_EDGE = /\^|\\[AbB]/

/** The name of a tool as it is registered, as clients of a gateway see it, and as its server calls it: each ends the one before. */
function spellingsOf({ name, ownName, source }: Listing): string[] {
  return isServed(source) ? [name, name.replace(/^(mcp|openapi)__/, ''), ownName] : [name]
}

function reasonsOf(score: number, source: string): string[] {
  const reasons: string[] = []
  if (score >= NAME_MATCHES) reasons.push(`name matches /${source}/`)
  if (score !== NAME_MATCHES) reasons.push(`description matches /${source}/`)
  return reasons
}
