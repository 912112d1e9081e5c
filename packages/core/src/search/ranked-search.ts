import { sourceKey } from '../names.ts'
import type { Listing } from '../tool.ts'
import { type Fingerprint, Fingerprints, isClone } from './clones.ts'
import { readersFirst } from './effects.ts'
import { FIRST_PLACES, FirstPlaces } from './first-places.ts'
import { wordsOf } from './lexical/text-words.ts'
import type { Accepts, Query } from './query/query.ts'
import { matchFit, type Ranked, type Ranking, type SearchIndex, type SearchMemory } from './searcher.ts'
import type { SourceLedger } from './source-ledger.ts'

/**
 * Extra matches to rank beyond the limit, to replace folded and unready ones: ranking again is far more expensive.
 * Clones and their originals are searched among them.
 */
const SPARE_MATCHES = 17

/** The matches among which the first places are shared: those available when three are requested. */
const SHARED_MATCHES = 3 + SPARE_MATCHES

/** How far apart in the ranking to look for clones. They have similar scores, so they are close together. */
const CLONE_DISTANCE = 50

/** The confidence in the best match of the other sources from which it is known to fit. */
const SURE_FROM = 0.05

/** What to rank, and what to leave out. */
export interface RankedSearchOptions {
  readonly query: Query
  readonly index: SearchIndex
  /** Listings that the query names; they come first. */
  readonly exact: ReadonlySet<Listing>
  readonly clones: CloneFolding
  readonly sources: SourceLedger
  /** Whether a listing may be found. */
  readonly accepts: Accepts
  /** Whether a listing can be used now; called only for listings about to be returned. */
  readonly isReady: Accepts
  readonly memory: SearchMemory | undefined
  /** `fit`: the first places are shared between sources, and no exact name scores below a later match. */
  readonly order: 'fit' | 'fixed'
}

/** Ranks one query: exact names first, clones folded, the first places shared between sources. */
export class RankedSearch {
  readonly #options: RankedSearchOptions

  constructor(options: RankedSearchOptions) {
    this.#options = options
  }

  /**
   * The first `count` matches; `total` is less the clones and unready tools encountered. `ranked`: what was ranked, at least
   * `depth` if there are as many.
   */
  async first(count: number, depth = 0): Promise<Ranking & { readonly ranked: readonly Ranked[] }> {
    for (let limit = Math.max(count + SPARE_MATCHES, depth); ; limit *= 4) {
      const ranking = await this.#rank(limit, this.#options.accepts)
      const candidates = this.#ordered(ranking.matches, ranking)
      const { kept, dropped } = this.#pick(candidates, count)
      const isWhole = ranking.matches.length < limit
      if (kept.length < count && !isWhole) continue
      const matches = (await this.#shared(kept, ranking)).slice(0, count)
      return {
        ...ranking,
        total: Math.max(ranking.total, isWhole ? candidates.length : 0) - dropped,
        matches,
        ranked: ranking.matches,
        unmatchedTerms: ranking.unmatchedTerms.filter((term) => !this.#isPartOfExact(term)),
        ...(ranking.confidence === undefined ? {} : { confidence: confidenceIn(matches, ranking) }),
        ...(ranking.answerable === undefined || this.#options.exact.size === 0 ? {} : { answerable: 1 }),
      }
    }
  }

  #rank(limit: number, accepts: Accepts, countsAll = true): Ranking | Promise<Ranking> {
    const { query, index, memory } = this.#options
    const options = { limit, accepts, countsAll }
    return index.rank(query, memory === undefined ? options : { ...options, memory })
  }

  /** Shares the first places if a source has more than its share. */
  async #shared(kept: readonly Ranked[], ranking: Ranking): Promise<readonly Ranked[]> {
    const { order, sources, query, exact } = this.#options
    if (order === 'fixed' || sources.size === 1) return kept
    const places = new FirstPlaces(query, exact, sources)
    const crowding = places.crowding(kept)
    if (!places.canBeShared(kept, crowding)) return kept
    const candidates = this.#ordered(ranking.matches.slice(0, SHARED_MATCHES), ranking)
    const pool = this.#pick(candidates, SHARED_MATCHES).kept
    const { matches, isSure } = await this.#othersThan(crowding, pool, ranking)
    const alone = new Map(isSure ? matches.map((match) => [match.listing, matchFit(match)]) : [])
    const first = places.share([...pool, ...unranked(matches, pool)], alone)
    const placed = new Set(first.map(({ listing }) => listing))
    return [...first, ...kept.filter(({ listing }) => !placed.has(listing))]
  }

  /**
   * The best matches of other sources, ranked as if the crowding ones were not there: their words and meanings, made to
   * fit the request, would make every honest match look poor. `isSure`: the best of them is not just the best of a poor lot.
   */
  async #othersThan(
    crowding: ReadonlySet<string>,
    known: readonly Ranked[],
    ranking: Ranking,
  ): Promise<{ readonly matches: readonly Ranked[]; readonly isSure: boolean }> {
    // A searcher without a confidence scores each match by itself, so the others that are known will do.
    const others = known.filter(({ listing }) => !crowding.has(sourceKey(listing.source)))
    const isWhole = ranking.matches.length < SHARED_MATCHES || others.length >= FIRST_PLACES
    if (ranking.confidence === undefined && isWhole) return { matches: others, isSure: false }
    const servers = new Set(known.map(({ listing }) => crowdingServer(listing, crowding)))
    // Called for every listing with a word of the query, so it makes no source keys.
    const accepts = (listing: Listing) =>
      (listing.source.kind !== 'mcp' || !servers.has(listing.source.server)) && this.#options.accepts(listing)
    const { matches, confidence = 0 } =
      this.#options.index.rankAgain?.(ranking, { limit: SHARED_MATCHES, accepts }) ??
      (await this.#rank(SHARED_MATCHES, accepts, false))
    return {
      matches: this.#pick(matches, SHARED_MATCHES).kept,
      isSure: confidence >= SURE_FROM,
    }
  }

  /** The first `count` candidates that are ready and not clones, and how many others were skipped. */
  #pick(candidates: readonly Ranked[], count: number): { kept: Ranked[]; dropped: number } {
    const { exact, isReady, clones } = this.#options
    const ages = candidates.map(({ listing }) => clones.ageOf(listing))
    const kept: Ranked[] = []
    let dropped = 0
    for (let at = 0; at < candidates.length && kept.length < count; at++) {
      const candidate = candidates[at] as Ranked
      const isFolded = !exact.has(candidate.listing) && this.#hasSenior(ages, at)
      if (isFolded || !isReady(candidate.listing)) dropped++
      else kept.push(candidate)
    }
    return { kept, dropped }
  }

  #hasSenior(ages: readonly Aged[], at: number): boolean {
    const { clones, query, isReady } = this.#options
    const end = Math.min(ages.length, at + CLONE_DISTANCE)
    for (let near = Math.max(0, at - CLONE_DISTANCE); near < end; near++) {
      const other = ages[near] as Aged
      if (clones.isFolded(ages[at] as Aged, other, query) && isReady(other.listing)) return true
    }
    return false
  }

  /** Whether a term is part of an exact name that was found. */
  #isPartOfExact(term: string): boolean {
    const { exact } = this.#options
    if (exact.size === 0) return false
    const words = wordsOf(term)
    return [...exact].some(({ name }) => {
      const parts = wordsOf(name)
      return words.every((word) => parts.includes(word))
    })
  }

  /** Exact names first; then the tools that read, if that is what the query asks for. */
  #ordered(matches: readonly Ranked[], ranking: Ranking): readonly Ranked[] {
    const { order, query } = this.#options
    const inOrder = order === 'fixed' ? matches : readersFirst(matches, query, FIRST_PLACES)
    return this.#withExactFirst(inOrder, ranking)
  }

  #withExactFirst(matches: readonly Ranked[], { confidence }: Ranking): readonly Ranked[] {
    const { exact, order } = this.#options
    if (exact.size === 0) return matches
    // A name leaves no doubt. Scores without a scale only need to be as high as the best.
    const best = confidence === undefined ? (matches[0]?.score ?? 1) : 1
    const byListing = new Map(matches.map((match) => [match.listing, match]))
    const first = inRankedOrder(exact, matches).map((listing): Ranked => {
      const match = byListing.get(listing)
      return {
        listing,
        score: order === 'fixed' ? (match?.score ?? best) : best,
        reasons: ['exact name', ...(match?.reasons ?? [])],
      }
    })
    return [...first, ...matches.filter(({ listing }) => !exact.has(listing))]
  }
}

/** As the query names them; those that share a name as they are ranked. */
function inRankedOrder(named: ReadonlySet<Listing>, matches: readonly Ranked[]): readonly Listing[] {
  const names = [...new Set([...named].map(({ ownName }) => ownName))]
  const ranks = new Map(matches.map(({ listing }, at) => [listing, at]))
  const rankOf = (listing: Listing) => ranks.get(listing) ?? matches.length
  return [...named].sort(
    (a, b) => names.indexOf(a.ownName) - names.indexOf(b.ownName) || rankOf(a) - rankOf(b),
  )
}

/** The probability that the first of these is right: clones, unready tools and exact names may have changed which it is. */
function confidenceIn([first]: readonly Ranked[], { matches, confidence = 0 }: Ranking): number {
  return first === undefined || first === matches[0] ? confidence : first.score
}

/** Those of `others` that the ranking of all sources lacks; none of them is better than its last match. */
function unranked(others: readonly Ranked[], ranked: readonly Ranked[]): Ranked[] {
  const known = new Set(ranked.map(({ listing }) => listing))
  const last = ranked.at(-1)
  return others
    .filter(({ listing }) => !known.has(listing))
    .map((match) =>
      last === undefined
        ? match
        : {
            ...match,
            score: Math.min(match.score, last.score),
            fit: Math.min(matchFit(match), matchFit(last)),
          },
    )
}

/** The server of a listing, if it is one of these sources. Only servers are limited. */
function crowdingServer({ source }: Listing, crowding: ReadonlySet<string>): string | undefined {
  return source.kind === 'mcp' && crowding.has(sourceKey(source)) ? source.server : undefined
}

/** A listing, and when its source came. */
interface Aged {
  readonly listing: Listing
  readonly since: number
  /** Read when it is first compared. */
  fingerprint: Fingerprint | undefined
}

/**
 * Decides which of two clones is shown: the one from the more trusted source, then the one whose source came first.
 * Copying another source's tool gains no second position.
 */
export class CloneFolding {
  readonly #sources: SourceLedger
  readonly #fingerprints = new Fingerprints()

  constructor(sources: SourceLedger) {
    this.#sources = sources
  }

  /** A listing as `isFolded` takes it: each is compared with many others. */
  ageOf(listing: Listing): Aged {
    return { listing, since: this.#sources.since(listing.source), fingerprint: undefined }
  }

  /** Whether the listing of `other` replaces that of `one`. False if the query names the source of `one`. */
  isFolded(one: Aged, other: Aged, query: Query): boolean {
    const isSenior =
      other.listing.trust === one.listing.trust
        ? other.since < one.since
        : other.listing.trust > one.listing.trust
    if (!isSenior) return false
    one.fingerprint ??= this.#fingerprints.of(one.listing)
    other.fingerprint ??= this.#fingerprints.of(other.listing)
    return isClone(one.fingerprint, other.fingerprint) && !isNamed(one.listing, other.listing, query)
  }
}

/** Whether the query contains a word of the listing's source that the other's source lacks. */
function isNamed(listing: Listing, other: Listing, query: Query): boolean {
  const shared = new Set(wordsOf(sourceKey(other.source)))
  const distinctive = wordsOf(sourceKey(listing.source)).filter((word) => !shared.has(word))
  if (distinctive.length === 0) return false
  const asked = new Set(query.words.flatMap(wordsOf))
  return distinctive.some((word) => asked.has(word))
}
