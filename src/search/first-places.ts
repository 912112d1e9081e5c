import { sourceKey } from '../names.ts'
import type { Listing } from '../tool.ts'
import { wordsOf } from './lexical/text-words.ts'
import type { Query } from './query/query.ts'
import type { SourceLedger } from './ranked-search.ts'
import type { Ranked } from './searcher.ts'

/** Of every five first places, an unapproved source gets two, as long as other sources match. */
const PLACES = 5
const SHARE = 2

/** How many first places are shared between sources. Later matches keep their order. */
export const FIRST_PLACES = 2 * PLACES

/**
 * Another source's match may take a place if its score is at least this share of the score it displaces. The
 * threshold is lower for approved sources. Tuned on labelled sets and on the attacks in hybrid-attacks.test.ts.
 */
const FITS_FROM = 0.6
const APPROVED_FITS_FROM = 0.3

/**
 * A source with this few tools cannot crowd out much. If the other sources are unapproved too, it is not limited:
 * most such sources are honest and have several tools for their purpose.
 */
const SMALL_SOURCE = 64

/** Words in server names that carry no meaning. */
const GENERIC_WORDS: ReadonlySet<string> = new Set(['mcp', 'server', 'tools', 'the'])

/**
 * Limits each unapproved source's share of the first places, so that it cannot crowd out the rest, however many tools
 * it has. No match is dropped; displaced ones follow later. The limit applies to unapproved MCP servers, unless the
 * query names the server or the tool. Builtin tools, plugins and trusted servers have no limit.
 */
export class FirstPlaces {
  readonly #named: ReadonlySet<string>
  readonly #exact: ReadonlySet<Listing>
  readonly #sources: SourceLedger

  constructor(query: Query, exact: ReadonlySet<Listing>, sources: SourceLedger) {
    this.#sources = sources
    this.#named = new Set(query.words.flatMap(wordsOf))
    this.#exact = exact
  }

  /** The sources that have more than their share of the first places. */
  crowding(matches: readonly Ranked[]): ReadonlySet<string> {
    const held = new Map<string, number>()
    const crowding = new Set<string>()
    for (const [place, { listing }] of matches.slice(0, FIRST_PLACES).entries()) {
      if (!this.#isLimited(listing)) continue
      const source = sourceKey(listing.source)
      held.set(source, (held.get(source) ?? 0) + 1)
      if ((held.get(source) ?? 0) > shareAt(place)) crowding.add(source)
    }
    return crowding
  }

  /** Fills the first places, from matches in ranked order. */
  share(matches: readonly Ranked[]): Ranked[] {
    const waiting = [...matches]
    const placed: Ranked[] = []
    const held = new Map<string, number>()
    while (placed.length < FIRST_PLACES && waiting.length > 0) {
      const at = this.#next(waiting, held, shareAt(placed.length))
      const [next] = waiting.splice(at, 1) as [Ranked]
      placed.push(below(placed.at(-1), next))
      const source = sourceKey(next.listing.source)
      held.set(source, (held.get(source) ?? 0) + 1)
    }
    return placed
  }

  /** Picks the next match: the best or, if its source has used up its share, another that matches well enough. */
  #next(waiting: readonly Ranked[], held: ReadonlyMap<string, number>, share: number): number {
    const best = waiting[0] as Ranked
    const heldBy = ({ listing }: Ranked) => held.get(sourceKey(listing.source)) ?? 0
    const hasShare = (match: Ranked) => this.#isLimited(match.listing) && heldBy(match) >= share
    if (!hasShare(best)) return 0
    const within = waiting.findIndex((other) => !hasShare(other) && this.#fits(other, best))
    if (within >= 0) return within
    // All sources with good matches have used up their share, so the one that came first wins.
    const senior = waiting.findIndex(
      (other) =>
        heldBy(other) <= heldBy(best) &&
        this.#sources.isSenior(other.listing.source, best.listing.source) &&
        this.#fits(other, best),
    )
    return Math.max(0, senior)
  }

  #fits(other: Ranked, best: Ranked): boolean {
    const isApproved = other.listing.trust > 0 || other.listing.source.kind !== 'mcp'
    const isSmall = this.#sources.toolsOf(best.listing.source) <= SMALL_SOURCE
    if (!isApproved && isSmall) return false
    const from = isApproved ? APPROVED_FITS_FROM : FITS_FROM
    return fitOf(other) > 0 && fitOf(other) >= from * fitOf(best)
  }

  #isLimited(listing: Listing): boolean {
    const { source, trust } = listing
    if (source.kind !== 'mcp' || trust > 0 || this.#exact.has(listing)) return false
    const words = wordsOf(source.server).filter((word) => !GENERIC_WORDS.has(word))
    return words.length === 0 || !words.every((word) => this.#named.has(word))
  }
}

function fitOf({ fit, score }: Ranked): number {
  return fit ?? score
}

/** How many places up to this one a limited source may have. */
function shareAt(place: number): number {
  return SHARE * (Math.floor(place / PLACES) + 1)
}

/** Caps a displaced match's score at the previous one's, so that scores never increase down the list. */
function below(previous: Ranked | undefined, match: Ranked): Ranked {
  if (previous === undefined || match.score <= previous.score) return match
  return {
    ...match,
    score: previous.score,
    reasons: [...match.reasons, 'moved down to make room for other sources'],
  }
}
