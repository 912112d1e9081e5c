import { describeError, ToolcribError } from '../errors.ts'
import type { Emit } from '../events.ts'
import type { Availability } from '../registry/availability.ts'
import type { Catalogue } from '../registry/catalogue.ts'
import { closeNames } from '../registry/close-names.ts'
import type { Entry } from '../registry/entry.ts'
import type { ServerDirectory, ServerStatus } from '../registry/server-directory.ts'
import type { ListingGroups, Snapshot } from '../registry/snapshot.ts'
import type { View } from '../registry/view.ts'
import type { ViewBuilder } from '../registry/view-builder.ts'
import type { Slices } from '../slices.ts'
import { clamp } from '../text.ts'
import type { Listing } from '../tool.ts'
import { BestInstalled } from './best-installed.ts'
import type { CatalogueSearch } from './catalogue-search.ts'
import { NEEDS_EMBEDDER, SEARCHERS, type SearcherName } from './named-searchers.ts'
import { ExactNames } from './query/exact-names.ts'
import { adviceFor, type SearchMatch, type SearchOptions, type SearchResult } from './search-result.ts'
import {
  acceptEvery,
  type Ranked,
  type RankingVerdict,
  type Searcher,
  type SearchMemory,
} from './searcher.ts'

export interface ToolFinderOptions {
  readonly catalogue: Catalogue
  readonly availability: Availability
  readonly emit: Emit
  /** How long a search waits for servers that are connecting. */
  readonly serverWaitMs: number
  /** The default limit of a search. */
  readonly searchLimit: number
  readonly slices: Slices
  /** Maximum number of suggested names. */
  readonly suggestions: number
}

/** A search: the query, the searcher, and who asks. */
export interface FindRequest extends SearchOptions {
  readonly query: string
  readonly searcher: Searcher
  readonly audience: Audience
  readonly sessionId?: string
  /** What served similar requests of this caller before. */
  readonly memory?: SearchMemory | undefined
  /** Which listings are found that are no tools; none by default. */
  readonly besides?: (listing: Listing) => boolean
}

/** A result, and what its reader does not see: `vector` and `similarity` are for memory and hints. */
export interface FoundTools extends Pick<RankingVerdict, 'vector' | 'similarity'> {
  readonly result: SearchResult
  /** The first matches of all, if the result is a later page. */
  readonly leaders?: readonly SearchMatch[]
}

const MAX_TRIES = 5
/** The group of listings that are no tools. */
const BESIDE = 'beside'

/** Finds tools in the newest catalogue: by words, by a name in any spelling, or by a misspelt name. */
export class ToolFinder {
  /** The default searcher of a registry. */
  readonly standard: BestInstalled
  readonly #options: ToolFinderOptions
  readonly #names = new ExactNames()
  /** Loaded by the first search, as searchers by name are. */
  #search: CatalogueSearch | undefined
  readonly #searchers = new Map<string, Searcher>()
  /** The catalogue that the index of each searcher was brought up to date with. */
  readonly #prepared = new WeakMap<Searcher, Snapshot>()
  #servers: ServerDirectory | undefined
  /** Listings that are no tools, and the groups that they were added to. */
  #beside: ReadonlySet<Listing> = new Set()
  #joined: { readonly of: ListingGroups; readonly groups: ListingGroups } | undefined

  constructor(options: ToolFinderOptions) {
    this.#options = options
    this.standard = new BestInstalled((error) => {
      options.emit({ type: 'search-degraded', searcher: 'hybrid', error })
    })
  }

  get servers(): ServerDirectory | undefined {
    return this.#servers
  }

  /** Makes searches wait for servers. Returns a function that detaches them. */
  attachServers(directory: ServerDirectory): () => void {
    this.#servers = directory
    return () => {
      if (this.#servers === directory) this.#servers = undefined
    }
  }

  /**
   * Returns the searcher with this name, or the given searcher itself. Throws `config-invalid` for an unknown name.
   */
  searcher(given: SearcherName | Searcher): Searcher {
    if (typeof given !== 'string') {
      if (typeof given?.open === 'function') return given
      throw new ToolcribError('config-invalid', 'a searcher must have open(); see the Searcher type')
    }
    const opened = this.#searchers.get(given)
    if (opened) return opened
    if (Object.hasOwn(SEARCHERS, given)) {
      const searcher = SEARCHERS[given]()
      this.#searchers.set(given, searcher)
      return searcher
    }
    const known = Object.keys(SEARCHERS).join(', ')
    const hint = NEEDS_EMBEDDER.includes(given)
      ? `pass ${given}({ embedder: staticEmbedder() }), with staticEmbedder from toolcrib/embedders`
      : `use ${known}, or pass one`
    throw new ToolcribError('config-invalid', `unknown searcher name "${given}"; ${hint}`)
  }

  /** Waits briefly for servers that are connecting, then searches. */
  async find(request: FindRequest): Promise<FoundTools> {
    const { audience, server: wanted } = request
    const servers = await this.waitForServers(
      (server) => audience.permitsServer(server) && (wanted ?? server) === server,
    )
    const { result, ...found } = await this.rank(request)
    this.#emitSearched(request, result)
    return { ...found, result: { ...result, ...(servers.length > 0 ? { servers } : {}) } }
  }

  /** Searches without waiting and without the event `searched`. */
  async rank({ query, searcher, audience, memory, besides, ...options }: FindRequest): Promise<FoundTools> {
    const search = this.#search ?? (await this.#loadSearch())
    await this.#prepare(search, searcher)
    const snapshot = this.#options.catalogue.snapshot()
    search.sync(this.#groupsOf(snapshot))
    const accepts = audience.accepter()
    const { ranked, failure, vector, similarity, leaders, ...found } = await search.search(query, {
      ...(options.server === undefined ? {} : { server: options.server }),
      ...(memory === undefined ? {} : { memory: this.#steady(memory) }),
      limit: clamp(options.limit, { min: 1, max: 100, otherwise: this.#options.searchLimit }),
      // Searchers make room for as many matches as a page ends at.
      offset: clamp(options.offset, { min: 0, max: snapshot.size, otherwise: 0 }),
      searcher,
      accepts:
        this.#beside.size === 0
          ? accepts
          : (one) => (this.#beside.has(one) ? (besides?.(one) ?? false) : accepts(one)),
      isReady: (listing) => {
        const entry = snapshot.get(listing.name)
        if (entry === undefined) return this.#beside.has(listing)
        return this.#options.availability.isAvailable(entry.tool)
      },
    })
    if (failure !== undefined) {
      const { sessionId } = options
      const event = {
        type: 'search-degraded',
        searcher: searcher.name,
        error: describeError(failure),
      } as const
      this.#options.emit(sessionId === undefined ? event : { ...event, sessionId })
    }
    const matches = ranked.map(toMatch)
    const advice = adviceFor({ ...found, matches })
    const result = { ...found, matches, ...(advice === undefined ? {} : { advice }) }
    return {
      result,
      ...(vector && { vector }),
      ...(similarity !== undefined && { similarity }),
      ...(leaders && { leaders: leaders.map(toMatch) }),
    }
  }

  /** Waits briefly for servers that are connecting; returns those that still are, and those that failed. */
  async waitForServers(isWanted: (server: string) => boolean): Promise<readonly ServerStatus[]> {
    const directory = this.#servers
    if (!directory) return []
    const statuses = () => directory.statuses().filter(({ server }) => isWanted(server))
    const connecting = statuses().filter(({ state }) => state === 'connecting')
    if (connecting.length > 0) {
      const { serverWaitMs } = this.#options
      await directory.settled({ servers: connecting.map(({ server }) => server), timeoutMs: serverWaitMs })
    }
    return statuses().filter(({ state }) => state === 'connecting' || state === 'failed')
  }

  /** Returns the permitted tool with this name, in any spelling. */
  findByName(name: string, view: View): Entry | undefined {
    this.#names.sync(view.snapshot.groups)
    const [listing, other] = this.#names.find(name, (candidate) => view.permits(candidate))
    return listing && !other ? view.snapshot.get(listing.name) : undefined
  }

  /** Returns the names of the permitted tools that a name may mean, in any spelling. */
  namesakes(name: string, view: View): readonly string[] {
    const permitted = this.candidates(name).filter(({ listing }) => view.permits(listing))
    return permitted.map((entry) => entry.name).sort()
  }

  /** Returns the tools that a name may mean, in any spelling, permitted or not: several if it is ambiguous. */
  candidates(name: string): readonly Entry[] {
    const snapshot = this.#options.catalogue.snapshot()
    this.#names.sync(snapshot.groups)
    return this.#names.find(name, acceptEvery).flatMap((listing) => snapshot.get(listing.name) ?? [])
  }

  /** Returns a few permitted names similar to an unknown one. */
  suggest(name: string, isPermitted: (entry: Entry) => boolean): readonly string[] {
    const { catalogue, availability, suggestions } = this.#options
    const snapshot = catalogue.snapshot()
    const close = closeNames(name, snapshot.sorted, suggestions * 4)
    return close
      .flatMap((candidate) => snapshot.get(candidate) ?? [])
      .filter((entry) => isPermitted(entry) && availability.isAvailable(entry.tool))
      .slice(0, suggestions)
      .map((entry) => entry.name)
  }

  #emitSearched({ query, searcher, sessionId }: FindRequest, { total, matches }: SearchResult): void {
    const { emit } = this.#options
    const names = matches.map(({ name }) => name)
    const place = sessionId === undefined ? {} : { sessionId }
    emit({ type: 'searched', query, searcher: searcher.name, total, names, ...place })
    if (names.length === 0) emit({ type: 'missed', what: 'search', text: query, ...place })
  }

  /** Indexes what has changed, in slices. What changes again and again meanwhile is left to the search itself. */
  async #prepare(search: CatalogueSearch, searcher: Searcher): Promise<void> {
    const { catalogue, slices } = this.#options
    for (let tries = 0; tries < MAX_TRIES; tries++) {
      const snapshot = catalogue.snapshot()
      if (this.#prepared.get(searcher) === snapshot) return
      await search.prepare(this.#groupsOf(snapshot), slices, searcher)
      this.#prepared.set(searcher, snapshot)
    }
  }

  /** Has searches find these too, in one index with the tools: skills. */
  putBeside(listings: readonly Listing[]): void {
    this.#beside = new Set(listings)
    this.#joined = undefined
  }

  #groupsOf({ groups }: Snapshot): ListingGroups {
    if (this.#beside.size === 0) return groups
    if (this.#joined?.of !== groups)
      this.#joined = { of: groups, groups: new Map([...groups, [BESIDE, [...this.#beside]]]) }
    return this.#joined.groups
  }

  /** A memory that never breaks a search: one that fails is reported, and nothing is lifted. */
  #steady(memory: SearchMemory): SearchMemory {
    return {
      lifts: async (vector) => {
        try {
          return await memory.lifts(vector)
        } catch (error) {
          const reason = `the memory of past use: ${describeError(error)}`
          this.#options.emit({ type: 'load-failed', error: reason })
          return []
        }
      },
    }
  }

  async #loadSearch(): Promise<CatalogueSearch> {
    const { CatalogueSearch } = await import('./catalogue-search.ts')
    this.#search ??= new CatalogueSearch(undefined, this.#names)
    return this.#search
  }
}

function toMatch({ listing: { name, description }, score, fit, reasons }: Ranked): SearchMatch {
  return { name, score, description, reasons, ...(fit === undefined ? {} : { fit }) }
}

/** Who searches: which servers to wait for, and which listings of the newest catalogue may be found. */
export interface Audience {
  permitsServer(server: string): boolean
  /** Returns the filter for the current catalogue. Call it after waiting for servers. */
  accepter(): (listing: Listing) => boolean
}

/** Searches from a session's point of view: every tool it may use, only deferred ones, or only shown ones. */
export class SessionAudience implements Audience {
  readonly #views: Pick<ViewBuilder, 'policy' | 'current'>
  readonly #among: 'all' | 'deferred' | 'shown'

  constructor(views: Pick<ViewBuilder, 'policy' | 'current'>, among: 'all' | 'deferred' | 'shown') {
    this.#views = views
    this.#among = among
  }

  permitsServer(server: string): boolean {
    return this.#views.policy.permitsServer(server)
  }

  accepter(): (listing: Listing) => boolean {
    const view = this.#views.current()
    const { deferred } = view
    if (this.#among === 'deferred')
      return deferred.size === view.snapshot.size ? acceptEvery : ({ name }) => deferred.has(name)
    if (this.#among === 'shown') return (listing) => view.permits(listing) && !deferred.has(listing.name)
    return view.permitsAll ? acceptEvery : (listing) => view.permits(listing)
  }
}
