import type { SearchMatch } from '../search/search-result.ts'
import { matchFit } from '../search/searcher.ts'
import type { SearchSession } from './search-session.ts'

/** The part of a match needed to compare it. */
type ScoredMatch = Pick<SearchMatch, 'name' | 'score' | 'fit'>

/** The part of a session that tells which matches to activate. */
export type Matchmaker = Pick<SearchSession, 'isActive' | 'originOf'>

/** A match below this share of the best score matched only an incidental word. */
const FAR_WEAKER = 0.1

/**
 * From searchers whose scores are probabilities: beside a match that is more likely right than not, one below this share
 * of its probability is right in less than one answer of a hundred.
 */
const FAR_LESS_LIKELY = 1 / 40
const LIKELY_FROM = 0.5

/**
 * The names of the matches worth activating: those that are active, and those that are not far weaker than the best. A tool
 * that passes `+word` and matches nothing else (score 0) is always far weaker than one that matches, but never than another
 * such tool. A server that nobody approved makes only its own tools unlikely: it may have written one to fit every request.
 * If a match is worth it, so is every likelier one. `leaders` are the best matches of earlier pages.
 */
export function worthActivating(
  matches: readonly ScoredMatch[],
  session: Matchmaker,
  leaders: readonly ScoredMatch[] = [],
): readonly string[] {
  const compared = [...leaders, ...matches]
  const best = Math.max(...compared.map(matchFit))
  const likely = compared
    .filter((match) => likelihoodOf(match) > 0)
    .map(({ name, score }) => ({ score, origin: session.originOf(name) }))
  const isFarLessLikely = ({ name, score }: ScoredMatch) => {
    const source = session.originOf(name)?.source
    return likely.some(
      ({ score: other, origin }) =>
        score < FAR_LESS_LIKELY * other && (origin?.isApproved === true || origin?.source === source),
    )
  }
  const near = matches.filter((match) => matchFit(match) >= FAR_WEAKER * best)
  const least = Math.min(...near.filter((match) => !isFarLessLikely(match)).map(({ score }) => score))
  const worthIt = new Set(near.filter(({ score }) => score >= least))
  return matches.filter((match) => worthIt.has(match) || session.isActive(match.name)).map(({ name }) => name)
}

/** The matches that may make one look unlikely: those of its own server, and those that somebody approved. */
export function besideOf(
  name: string,
  compared: readonly ScoredMatch[],
  session: Pick<Matchmaker, 'originOf'>,
): readonly ScoredMatch[] {
  const source = session.originOf(name)?.source
  return compared.filter((other) => {
    const origin = session.originOf(other.name)
    return origin?.isApproved || origin?.source === source
  })
}

/** The probability of a match that is more likely right than not; 0 of any other, and from searchers that do not know. */
function likelihoodOf({ fit, score }: ScoredMatch): number {
  return fit !== undefined && score >= LIKELY_FROM ? score : 0
}
