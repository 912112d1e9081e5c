import { isApproved, sourceKey } from '../names.ts'
import type { Listing, ToolSource } from '../tool.ts'
import { wordsOf } from './lexical/text-words.ts'
import type { Query } from './query/query.ts'
import { matchFit, type Ranked } from './searcher.ts'
import type { SourceLedger } from './source-ledger.ts'

/** Of every five first places, an unapproved source gets two, as long as other sources match. */
const PLACES = 5
const SHARE = 2

/** How many first places are shared between sources. Later matches keep their order. */
export const FIRST_PLACES = 2 * PLACES

/**
 * Another source's match may take a place if it fits at least this share as well as the match that it displaces: one of
 * an approved source, any other that is sure to fit, and the rest. Tuned on labelled sets and on the attacks in
 * hybrid-attacks.test.ts.
 */
const APPROVED_FITS_FROM = 0.2
const SURE_FITS_FROM = 0.3
const FITS_FROM = 0.6

/**
 * A source with this few tools cannot crowd out much. If the other sources are unapproved too, it is not limited:
 * most such sources are honest and have several tools for their purpose.
 */
const SMALL_SOURCE = 40

/** Words in server names that carry no meaning. */
const GENERIC_WORDS: ReadonlySet<string> = new Set(['mcp', 'server', 'tools', 'the'])

/**
 * Limits each unapproved source's share of the first places, so that it cannot crowd out the rest, however many tools
 * it has. No match is dropped; displaced ones follow later. The limit applies to unapproved MCP servers, unless the
 * query names the server or the tool. Builtin tools, plugins and trusted servers have no limit.
 */
export class FirstPlaces {
  /** The words of the query. */
  readonly #named: ReadonlySet<string>
  readonly #namedServers = new Map<string, boolean>()
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

  /** Whether a match of another source could take the place of one of these. */
  canBeShared(matches: readonly Ranked[], crowding: ReadonlySet<string>): boolean {
    if (this.#sources.hasApproved) return crowding.size > 0
    return matches.some(
      ({ listing: { source } }) => crowding.has(sourceKey(source)) && !this.#isSmall(source),
    )
  }

  /** Fills the first places, from matches in ranked order. `alone`: how well others fit without the crowding sources. */
  share(matches: readonly Ranked[], alone: ReadonlyMap<Listing, number> = new Map()): Ranked[] {
    const waiting = [...matches]
    const placed: Ranked[] = []
    const held = new Map<string, number>()
    while (placed.length < FIRST_PLACES && waiting.length > 0) {
      const at = this.#next(waiting, held, shareAt(placed.length), alone)
      const [next] = waiting.splice(at, 1) as [Ranked]
      placed.push(below(placed.at(-1), next))
      const source = sourceKey(next.listing.source)
      held.set(source, (held.get(source) ?? 0) + 1)
    }
    return placed
  }

  /** Picks the next match: the best or, if its source has used up its share, another that matches well enough. */
  #next(
    waiting: readonly Ranked[],
    held: ReadonlyMap<string, number>,
    share: number,
    alone: ReadonlyMap<Listing, number>,
  ): number {
    const best = waiting[0] as Ranked
    const heldBy = ({ listing }: Ranked) => held.get(sourceKey(listing.source)) ?? 0
    const hasShare = (match: Ranked) => this.#isLimited(match.listing) && heldBy(match) >= share
    if (!hasShare(best)) return 0
    const fitAlone = (match: Ranked) => alone.get(match.listing) ?? matchFit(match)
    const fits = (match: Ranked) => this.#mayDisplace(match, best, alone)
    let within = -1
    for (const [at, other] of waiting.entries()) {
      if (hasShare(other) || !fits(other)) continue
      if (within < 0 || fitAlone(other) > fitAlone(waiting[within] as Ranked)) within = at
    }
    if (within >= 0) return within
    // All sources with good matches have used up their share, so the one that came first wins.
    const senior = waiting.findIndex(
      (other) =>
        heldBy(other) <= heldBy(best) &&
        this.#sources.isSenior(other.listing.source, best.listing.source) &&
        fits(other),
    )
    return Math.max(0, senior)
  }

  /** Whether a match may take the place of one whose source has used up its share. */
  #mayDisplace(match: Ranked, best: Ranked, alone: ReadonlyMap<Listing, number>): boolean {
    const { listing } = match
    const mayTrust = isApproved(listing)
    if (!mayTrust && this.#isSmall(best.listing.source)) return false
    const sure = alone.get(listing)
    const fit = sure ?? matchFit(match)
    const from = mayTrust ? APPROVED_FITS_FROM : sure === undefined ? FITS_FROM : SURE_FITS_FROM
    return fit > 0 && fit >= from * matchFit(best)
  }

  #isSmall(source: ToolSource): boolean {
    return this.#sources.toolsOf(source) <= SMALL_SOURCE
  }

  #isLimited(listing: Listing): boolean {
    const { source } = listing
    if (source.kind !== 'mcp' || isApproved(listing) || this.#exact.has(listing)) return false
    return !this.#isNamed(source.server)
  }

  /** Whether the query names a server. Asked again and again for the same few. */
  #isNamed(server: string): boolean {
    const known = this.#namedServers.get(server)
    if (known !== undefined) return known
    const words = wordsOf(server).filter((word) => !GENERIC_WORDS.has(word))
    const isNamed = words.length > 0 && words.every((word) => this.#named.has(word))
    this.#namedServers.set(server, isNamed)
    return isNamed
  }
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
