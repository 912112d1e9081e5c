import { type Listing, sourceKey } from '../tool.ts'
import { wordsOf } from './lexical/text-words.ts'
import type { Query } from './query/query.ts'
import type { Ranked } from './searcher.ts'
import type { SourceLedger } from './source-ledger.ts'

/** Of each five of the first places, a source that nobody approved gets two, as long as others fit. */
const PLACES = 5
const SHARE = 2

/** Places that are shared out. What follows keeps its order. */
export const FIRST_PLACES = 2 * PLACES

/**
 * Another source's match fits when it scores this much of the one whose place it takes. Less is asked of a source that
 * somebody approved. Tuned on labelled sets and on the attacks of hybrid-attacks.test.ts.
 */
const FITS_FROM = 0.6
const APPROVED_FITS_FROM = 0.3

/**
 * A source with so few tools cannot crowd out much. Where nobody approved the others either, it is not limited: most
 * such sources are honest, and have several tools for what they are made for.
 */
const SMALL_SOURCE = 64

/** Words of a server's name that say nothing about it. */
const GENERIC_WORDS: ReadonlySet<string> = new Set(['mcp', 'server', 'tools', 'the'])

/**
 * Shares out the first places, so that no source that nobody approved crowds out the rest, however many tools it brings.
 * Nothing is dropped: what makes room follows later. Limited are MCP servers that nobody approved, unless the query names
 * the server or the tool. Builtin tools, plugins and trusted servers have no limit.
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

  /** The sources that hold more of the first places than their share. */
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

  /** The first places, from matches in the order of their fit. */
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

  /** Who gets the next place: the best, or when its source has had its share, another that fits. */
  #next(waiting: readonly Ranked[], held: ReadonlyMap<string, number>, share: number): number {
    const best = waiting[0] as Ranked
    const heldBy = ({ listing }: Ranked) => held.get(sourceKey(listing.source)) ?? 0
    const hasShare = (match: Ranked) => this.#isLimited(match.listing) && heldBy(match) >= share
    if (!hasShare(best)) return 0
    const within = waiting.findIndex((other) => !hasShare(other) && this.#fits(other, best))
    if (within >= 0) return within
    // All that fit have had their share: the source that was there first gains.
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
    return other.score > 0 && other.score >= from * best.score
  }

  #isLimited(listing: Listing): boolean {
    const { source, trust } = listing
    if (source.kind !== 'mcp' || trust > 0 || this.#exact.has(listing)) return false
    const words = wordsOf(source.server).filter((word) => !GENERIC_WORDS.has(word))
    return words.length === 0 || !words.every((word) => this.#named.has(word))
  }
}

/** How many of the places up to this one a limited source may hold. */
function shareAt(place: number): number {
  return SHARE * (Math.floor(place / PLACES) + 1)
}

/** A match that made room shows no higher score than the one before it: scores fall from place to place. */
function below(previous: Ranked | undefined, match: Ranked): Ranked {
  if (previous === undefined || match.score <= previous.score) return match
  return {
    ...match,
    score: previous.score,
    reasons: [...match.reasons, 'made room for other sources'],
  }
}
