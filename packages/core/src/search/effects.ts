import type { Listing } from '../tool.ts'
import { ALSO_THINGS, EFFECTS, type Effect, effectOf, strongest } from '../tool-effect.ts'
import { stem, wordsOf } from './lexical/text-words.ts'
import type { Query } from './query/query.ts'
import { matchFit, type Ranked } from './searcher.ts'

/** A tool that reads goes before one that does more if it fits at least this share as well. */
const READS_INSTEAD_FROM = 0.3

/**
 * A request to list, get or find never has a tool that changes something above one that reads the same thing, nor one that
 * deletes above any that reads, if it fits about as well.
 */
export function readersFirst(matches: readonly Ranked[], query: Query, places: number): readonly Ranked[] {
  if (query.kind !== 'keyword' || askedEffect(query.words) !== 'reads') return matches
  const first = matches.slice(0, places).map((match) => ({ match, effect: effectOf(match.listing) }))
  const ordered = [...first]
  for (const one of first.toReversed()) {
    if (one.effect !== 'writes' && one.effect !== 'destroys') continue
    const isReadInstead = ({ match, effect }: (typeof first)[number]) =>
      effect === 'reads' &&
      matchFit(match) >= READS_INSTEAD_FROM * matchFit(one.match) &&
      (one.effect === 'destroys' || isSameThing(match.listing, one.match.listing))
    const at = ordered.indexOf(one)
    const last = ordered.findLastIndex(isReadInstead)
    if (last < at) continue
    ordered.splice(at, 1)
    ordered.splice(last, 0, one)
  }
  // Scores are the chances of the places, so they stay.
  const placed = ordered.map(({ match }, at) =>
    withScoreOf((first[at] as (typeof first)[number]).match, match),
  )
  return [...placed, ...matches.slice(places)]
}

function withScoreOf({ score, fit }: Ranked, match: Ranked): Ranked {
  return { ...match, score, ...(fit === undefined ? {} : { fit }) }
}

/** Whether the names of two tools share a word besides their verbs. */
function isSameThing(one: Listing, other: Listing): boolean {
  const things = new Set(thingsOf(one))
  return thingsOf(other).some((word) => things.has(word))
}

function thingsOf({ ownName }: Listing): string[] {
  return wordsOf(ownName)
    .filter((word) => !EFFECTS.has(word) || ALSO_THINGS.has(word))
    .map(stem)
}

/** A tool that deletes is hinted at only to whoever asks to delete something. */
export function mayBeHinted(listing: Listing, request: string): boolean {
  return effectOf(listing) !== 'destroys' || askedEffect(request.split(/\s+/)) === 'destroys'
}

/** What a request asks for, by the verbs that its clauses begin with; undefined if they do not tell. */
export function askedEffect(words: readonly string[]): Effect | undefined {
  const clauses = words.join(' ').toLowerCase().replace(POLITE_START, '').split(CLAUSE_BORDER)
  const effects = clauses.flatMap((clause) => EFFECTS.get(/^[a-z]+/.exec(clause)?.[0] ?? '') ?? [])
  if (QUESTION.test(clauses[0] ?? '')) effects.push('reads')
  return strongest(effects)
}

const POLITE_START =
  /^(?:(?:hi|hey|hello|please|(?:can|could|would) you|can i|i (?:want|need|would like|d like|'d like) to|help me|let s|let us)[ ,!]+)+/
const CLAUSE_BORDER = /(?:[,;.!?]\s*|\s+)(?:(?:and|or|then|also)\s+)+|[,;.!?]\s+/
const QUESTION =
  /^(?:what|which|who|where|when|how (?:many|much|long|far|big|old)|is there|are there|tell me)\b/
